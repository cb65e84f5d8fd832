import { BaseAgent, type BaseAgentConfig, type Event, type InvocationContext } from '@eventloom/core';
import { BASE_AGENT_OPTIONS, checkOptions, isBaseAgent, type OptionRules } from '@eventloom/core/internal';
import type { Assignable } from './adk-types.ts';
import { type AgentNodeOptions, copyAgent, copySubAgent, keepConfig, withoutNodeOptions } from './agent-options.ts';
import { runFromProgram, runOverridden } from './overridden-runs.ts';
import { checkRouter, checkRouting, type RoutingErrorContext, runWithRouting } from './routing.ts';

/** Chooses the agent that runs, by its key. Called again, with what failed, if that agent failed before its first event. */
export type AgentRouter = (
  agents: Readonly<Record<string, BaseAgent>>,
  context: InvocationContext,
  errorContext?: RoutingErrorContext,
) => Promise<string | undefined> | string | undefined;

/** Options of a `RoutedAgent`. */
export interface RoutedAgentConfig extends Assignable<Omit<BaseAgentConfig, 'subAgents'>>, AgentNodeOptions {
  /** The agents to choose from, by key; a list has the agents' names as keys. */
  agents: Readonly<Record<string, BaseAgent>> | readonly BaseAgent[];
  router: AgentRouter;
}

const { subAgents: _, ...BASE } = BASE_AGENT_OPTIONS;
const OPTIONS: OptionRules<Omit<RoutedAgentConfig, keyof AgentNodeOptions>> = {
  ...BASE,
  agents: 'object or list',
  router: 'function',
};

/**
 * An agent that runs one of its sub-agents, chosen by a function for each run.
 *
 * @example
 * const quick = new LlmAgent({ name: 'quick', model: 'gemini-flash-latest' });
 * const thorough = new LlmAgent({ name: 'thorough', model: 'gemini-pro-latest' });
 * const router = () => (new Date().getHours() < 8 ? 'thorough' : 'quick');
 * const routed = new RoutedAgent({ name: 'routed', agents: { quick, thorough }, router });
 */
export class RoutedAgent extends BaseAgent {
  readonly agents: Readonly<Record<string, BaseAgent>>;
  readonly router: AgentRouter;

  /** @throws ConfigurationError for invalid options, as every agent */
  constructor(options: RoutedAgentConfig) {
    const own = withoutNodeOptions(options);
    checkOptions('RoutedAgent', OPTIONS, own);
    checkRouting('RoutedAgent', 'agents', own.agents, 'an agent', isBaseAgent);
    checkRouter('RoutedAgent', own.router);
    const { agents, router, ...config } = own;
    const byKey = isList(agents) ? Object.fromEntries(agents.map((agent) => [agent.name, agent])) : agents;
    super({ ...config, subAgents: Object.values(byKey) });
    this.agents = byKey;
    this.router = router;
    keepConfig(this, options);
  }

  /** Creates a copy with some options changed, as `clone` of `BaseAgent` does. Its agents are copied too, unless `changes` has `agents`. */
  clone(changes: Partial<RoutedAgentConfig> = {}): this {
    const copies = (): object =>
      Object.fromEntries(Object.entries(this.agents).map(([key, agent]) => [key, copySubAgent(this, agent)]));
    return copyAgent(this, 'agents' in changes ? changes : { ...changes, agents: copies() });
  }

  override runAsync(
    parentContext: InvocationContext,
    place?: Parameters<BaseAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    return runFromProgram(this, parentContext, place);
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runOverridden(this, RoutedAgent.prototype, context, () => super.runIn(context));
  }

  get '~eventloom.routed-agent'(): true {
    return true;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runWithRouting({
      owner: `agent "${this.name}"`,
      items: this.agents,
      choose: (errorContext) => this.router(this.agents, context, errorContext),
      run: (agent) => context.runAgent(agent),
      reportsFailure: (event) => event.errorCode !== undefined,
    });
  }

  protected override runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.runAsyncImpl(context);
  }
}

function isList<T>(agents: Readonly<Record<string, T>> | readonly T[]): agents is readonly T[] {
  return Array.isArray(agents);
}

/** Returns true for a `RoutedAgent`. */
export function isRoutedAgent(value: unknown): value is RoutedAgent {
  return typeof value === 'object' && value !== null && '~eventloom.routed-agent' in value;
}
