import {
  BaseAgent,
  type BaseAgentConfig,
  closeAll,
  contentText,
  type Event,
  type InvocationContext,
  InvalidRequestError,
  isBaseAgent,
  isBaseTool,
  type JsonValue,
  type RunDescription,
  type Session,
} from '@eventloom/core';
import type { SchemaLike, ValueSchema } from '@eventloom/tools';
import { type ForkParams, forkRun } from './fork-run.ts';
import { graphHistories, type GraphHistory, type HistoryQuery } from './graph-history.ts';
import type { NodeWork } from './graph-node.ts';
import type { GraphPlan } from './graph-plan.ts';
import { GraphRun } from './graph-run.ts';
import { GRAPH_BRAND, isGraphAgent } from './is-graph-agent.ts';
import { jsonOrText, toOutput } from './json-values.ts';
import { edgesOf, toMermaid } from './to-mermaid.ts';

/** Config of a graph agent, which `StateGraph` makes. */
export interface GraphAgentConfig extends BaseAgentConfig {
  readonly plan: GraphPlan;
  readonly inputSchema: SchemaLike | undefined;
  readonly checks: { readonly input: ValueSchema | undefined; readonly output: ValueSchema | undefined };
  readonly nodeLifecycleEvents: boolean;
}

/**
 * An agent whose work is a graph. Made by `StateGraph.compile`.
 *
 * It takes the message that it is told: as JSON by its `inputSchema`, otherwise as text. It answers with its output: what arrived
 * at `END`, and when that is from several nodes an object by their names. Each node that is done is an event, so a run that can be resumed
 * goes on behind it. (trpc-agent-go, GraphAgent.)
 */
export class GraphAgent extends BaseAgent {
  readonly #config: GraphAgentConfig;

  /** @throws ConfigurationError as every agent does */
  constructor(config: GraphAgentConfig) {
    super(config);
    this.#config = config;
  }

  override get inputSchema(): unknown {
    return this.#config.inputSchema;
  }

  get [GRAPH_BRAND](): true {
    return true;
  }

  /** The nodes, ways and channels. */
  get plan(): GraphPlan {
    return this.#config.plan;
  }

  /**
   * The runs of this graph in one run of a runner, in the order in which they began: their steps, what each changed of the channels
   * (`stateAfter` gives them whole), and what is asked. Read from the session's events alone.
   */
  history(query: HistoryQuery): GraphHistory[] {
    return graphHistories(this.plan, query);
  }

  /** A Mermaid flow chart. @param history marks the way that this run took, and where it is */
  toMermaid(history?: GraphHistory): string {
    return toMermaid(this.plan, history);
  }

  /**
   * Copies a session as it was after a step of this graph, to go on differently from there: with `runAsync({ sessionId: fork.id,
   * invocationId })`. The session itself is left as it is.
   * @throws InvalidRequestError ConfigurationError SessionNotFoundError SessionAlreadyExistsError
   */
  fork(params: ForkParams): Promise<Session> {
    return forkRun(this.plan, params);
  }

  override describeRun(query: HistoryQuery): RunDescription {
    const runs = this.history(query);
    const nodes = [...this.plan.nodes.values()].map(({ name, isJoin, work }) => ({
      name,
      kind: isJoin ? 'join' : kindOf(work),
    }));
    return { graph: { name: this.name, nodes, edges: edgesOf(this.plan) }, runs, mermaid: this.toMermaid(runs.at(-1)) };
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { plan, checks, nodeLifecycleEvents } = this.#config;
    return new GraphRun({
      plan,
      context,
      outputSchema: checks.output,
      tellsLifecycle: nodeLifecycleEvents,
      readInput: () => this.#readInput(context),
    }).events();
  }

  /** @throws InvalidRequestError for a message that is not what the graph takes, an answer to a run that is over among them */
  async #readInput({ userContent }: InvocationContext): Promise<JsonValue | undefined> {
    if (userContent?.parts?.some(({ functionResponse }) => functionResponse)) {
      throw new InvalidRequestError(
        `graph "${this.name}": the run that asked this is over, so nothing can go on with the answer; send a message to begin anew`,
      );
    }
    const text = contentText(userContent);
    const { input: schema } = this.#config.checks;
    if (!schema) return text;
    const checked = await schema.check(jsonOrText(text));
    if ('value' in checked) return toOutput(this.name, checked.value);
    throw new InvalidRequestError(`graph "${this.name}": its input does not fit: ${checked.issues.join('; ')}`);
  }

  override get calledAgents(): readonly BaseAgent[] {
    return [...this.plan.nodes.values()].flatMap(({ work }) =>
      isBaseAgent(work) ? [work] : isBaseTool(work) ? (work.calledAgent ?? []) : [],
    );
  }

  /** Closes the agents and tools of its nodes, and those below it. */
  override close(): Promise<void> {
    const works = Array.from(this.#config.plan.nodes.values(), ({ work }) => work);
    return closeAll([...works.filter((work) => isBaseAgent(work) || isBaseTool(work)), ...this.subAgents]);
  }
}

function kindOf(work: NodeWork): string {
  if (isBaseTool(work)) return 'tool';
  if (!isBaseAgent(work)) return 'function';
  return isGraphAgent(work) ? 'graph' : 'agent';
}
