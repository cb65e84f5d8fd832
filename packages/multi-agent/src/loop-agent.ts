import {
  BaseAgent,
  type BaseAgentConfig,
  BaseTool,
  ConfigurationError,
  type Event,
  type FunctionDeclaration,
  type InvocationContext,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import {
  BASE_AGENT_OPTIONS,
  checkOptions,
  enclosureOf,
  type Execution,
  integer,
  type OptionRules,
} from '@eventloom/core/internal';
import { CURRENT_SUB_AGENT, currentSubAgent, requireSubAgents } from './sub-agents.ts';

/** Options of a `LoopAgent`. */
export interface LoopAgentConfig extends BaseAgentConfig {
  /** The agents of a round, in this order: at least one. */
  readonly subAgents: readonly BaseAgent[];
  /**
   * Maximum number of rounds, each of which runs all sub-agents once: an integer of at least 1. Default: no limit. Without a limit the loop
   * ends when one of its agents ends it; otherwise the run fails when it reaches `runConfig.maxLlmCalls` (500).
   */
  readonly maxIterations?: number;
}

const OPTIONS: OptionRules<LoopAgentConfig> = { ...BASE_AGENT_OPTIONS, maxIterations: integer(1) };

/** Key of the round in the loop's checkpoint. */
const LOOP_COUNT = 'timesLooped';

/**
 * Runs its sub-agents in order, again and again, without asking a model which comes next. The loop ends after `maxIterations` rounds, or as
 * soon as one of its agents ends it: the model of an `LlmAgent` calls the tool `exitLoop`, a custom agent yields an event with `actions: {
 * escalate: true }`. That agent runs to its end, and the agents after it are skipped. In nested loops the loops around it end too.
 *
 * Live runs (`runLive`) do not support loops.
 *
 * @example
 * const model = 'gemini-flash-latest';
 * const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write or improve the text.', outputKey: 'draft' });
 * const critic = new LlmAgent({
 *   name: 'critic',
 *   model,
 *   instruction: 'Criticise {draft}. If nothing is left to improve, end the loop.',
 *   tools: [exitLoop],
 * });
 * const refine = new LoopAgent({ name: 'refine', subAgents: [writer, critic], maxIterations: 5 });
 */
export class LoopAgent extends BaseAgent {
  /** Maximum number of rounds; undefined for no limit. */
  readonly maxIterations: number | undefined;

  /** @throws ConfigurationError without a sub-agent, and for an invalid or unknown option */
  constructor(config: LoopAgentConfig) {
    super(config);
    checkOptions(`agent "${config.name}"`, OPTIONS, config);
    requireSubAgents(config);
    if (this.subAgents.length === 0)
      throw new ConfigurationError(`agent "${this.name}": subAgents is empty; write subAgents: [writer, critic]`);
    this.maxIterations = config.maxIterations;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const enclosure = enclosureOf(context.branch);
    const { agentState, resumedFrom } = context;
    let isResumed = agentState !== undefined;
    let first = currentSubAgent(context, this.subAgents);
    for (let round = roundOf(agentState); round < (this.maxIterations ?? Infinity); round++) {
      for (const child of this.subAgents.slice(first)) {
        context.throwIfAborted();
        let isEscalated = isResumed && resumedFrom !== undefined && hasEscalated(context, resumedFrom);
        if (context.isResumable && !isResumed) {
          const checkpoint = { [CURRENT_SUB_AGENT]: child.name, [LOOP_COUNT]: round };
          yield context.createEvent({ actions: { agentState: checkpoint } });
        }
        isResumed = false;
        for await (const event of context.runAgent(child)) {
          isEscalated ||= escalates(event, enclosure);
          yield event;
        }
        if (isEscalated || context.endInvocation || context.isPaused) return;
      }
      first = 0;
    }
  }
}

/** Returns the round to run, from 0, by the loop's last checkpoint; 0 without a valid count. */
function roundOf(agentState: Readonly<Record<string, unknown>> | undefined): number {
  const round = agentState?.[LOOP_COUNT];
  return typeof round === 'number' && Number.isSafeInteger(round) && round > 0 ? round : 0;
}

/** True for an event that ends this loop. Ignores events of agents that are called as tools. */
function escalates({ actions, partial, branch }: Event, enclosure: string): boolean {
  return actions?.escalate === true && partial !== true && enclosureOf(branch) === enclosure;
}

/** True if an agent of the loop ended it before the run was resumed, after the loop's last checkpoint. */
function hasEscalated({ invocation: { resumedLog } }: InvocationContext, loop: Execution): boolean {
  const enclosure = enclosureOf(loop.branch);
  const isEnd = (event: Event, index: number): boolean =>
    index > loop.childrenAfter && escalates(event, enclosure) && resumedLog?.isWithin(event, loop) === true;
  return resumedLog?.events.some(isEnd) === true;
}

/** The class of `exitLoop`. */
export class ExitLoopTool extends BaseTool {
  constructor() {
    super({
      name: 'exit_loop',
      description: 'Ends the loop. Call it only when your instructions say that the loop is done.',
      idempotent: true,
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override runAsync({ toolContext: { actions } }: RunAsyncToolRequest): Promise<unknown> {
    actions.escalate = true;
    actions.skipSummarization = true;
    return Promise.resolve({ status: 'the loop ends' });
  }
}

/**
 * A tool, `exit_loop`, for the `tools` of an `LlmAgent` inside a `LoopAgent`. When the model calls it, the loop ends: the agent is
 * not asked for another answer, and no later agent of the loop runs. The agent's instruction has to say when to call it. The model
 * gets no arguments to fill in.
 *
 * `@eventloom/adk` exports it as `EXIT_LOOP`.
 *
 * @example
 * const critic = new LlmAgent({
 *   name: 'critic',
 *   model: 'gemini-flash-latest',
 *   instruction: 'Criticise {draft}. If nothing is left to improve, end the loop.',
 *   tools: [exitLoop],
 * });
 */
export const exitLoop: BaseTool = /* @__PURE__ */ new ExitLoopTool();
