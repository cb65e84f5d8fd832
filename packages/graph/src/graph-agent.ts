import {
  BaseAgent,
  type BaseAgentConfig,
  contentText,
  type Event,
  type InvocationContext,
  InvalidRequestError,
  type JsonValue,
  type Session,
  closeAll,
} from '@eventloom/core';
import type { RunDescription } from '@eventloom/core/internal';
import { hasResponses, isBaseAgent, isBaseTool, jsonOrText, readOnlyError } from '@eventloom/core/internal';
import type { SchemaLike, ValueSchema } from '@eventloom/tools';
import { type ForkParams, forkRun } from './fork-run.ts';
import { graphHistories, type GraphHistory, type HistoryQuery } from './graph-history.ts';
import type { GraphPlan } from './graph-plan.ts';
import { GraphRun } from './graph-run.ts';
import { GRAPH_BRAND } from './is-graph-agent.ts';
import { toOutput } from './json-values.ts';
import { chartGraphOf, edgesOf, kindOf, toMermaid } from './to-mermaid.ts';

/** Options of a graph agent, created by `StateGraph.compile`. */
interface GraphAgentConfig extends BaseAgentConfig {
  readonly plan: GraphPlan;
  readonly inputSchema: SchemaLike | undefined;
  readonly checks: { readonly input: ValueSchema | undefined; readonly output: ValueSchema | undefined };
  readonly nodeLifecycleEvents: boolean;
}

/**
 * An agent that runs a graph. Create it with `StateGraph.compile`.
 *
 * Its input is the user's message: parsed as JSON if there is an `inputSchema`, otherwise the text. Its answer is the value that arrived at
 * `END`; if values of several nodes arrived, an object of them by node name. Each completed node is stored as an event, so a resumable run
 * continues after the last completed node. (trpc-agent-go, GraphAgent.)
 */
export class GraphAgent extends BaseAgent {
  readonly #config: GraphAgentConfig;

  /** @throws ConfigurationError as the constructor of every agent does */
  constructor(config: GraphAgentConfig) {
    super(config);
    this.#config = config;
  }

  override get inputSchema(): unknown {
    return this.#config.inputSchema;
  }

  override set inputSchema(_schema: never) {
    throw readOnlyError(`agent "${this.name}"`, 'inputSchema', 'write new StateGraph({ …, inputSchema })');
  }

  get [GRAPH_BRAND](): true {
    return true;
  }

  /** The nodes, edges and channels of the compiled graph. @internal */
  get plan(): GraphPlan {
    return this.#config.plan;
  }

  /**
   * Returns the runs of this graph in one invocation, in the order in which they began: their steps, the channel changes of each step (see
   * `stateAfter` for whole states), and open questions. Reads only the given events.
   */
  history(query: HistoryQuery): GraphHistory[] {
    return graphHistories(this.plan, query);
  }

  /** Returns the graph as a Mermaid flow chart. @param history a run whose path and current position are marked */
  toMermaid(history?: GraphHistory): string {
    return toMermaid(chartGraphOf(this.plan), history);
  }

  /**
   * Copies a session as it was after a step of this graph. Continue the copy with
   * `runAsync({ sessionId: fork.id, invocationId })`. The original session does not change.
   * @throws InvalidRequestError for a run or step that cannot be forked, and for an invalid update
   * @throws ConfigurationError if the session has artifacts and no `artifactService` is given
   * @throws SessionNotFoundError if the session does not exist
   * @throws SessionAlreadyExistsError if there is a session `newSessionId`
   */
  fork(params: ForkParams): Promise<Session> {
    return forkRun(this.plan, params);
  }

  /** @internal */
  override describeRun(query: HistoryQuery): RunDescription {
    const runs = this.history(query);
    const nodes = [...this.plan.nodes.values()].map((node) => ({ name: node.name, kind: kindOf(node) }));
    return { graph: { name: this.name, nodes, edges: edgesOf(this.plan) }, runs, mermaid: this.toMermaid(runs.at(-1)) };
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  /** @internal */
  override get takesLateAnswers(): boolean {
    return false;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { plan, checks, nodeLifecycleEvents } = this.#config;
    return new GraphRun({
      plan,
      context,
      outputSchema: checks.output,
      hasLifecycleEvents: nodeLifecycleEvents,
      readInput: () => this.#readInput(context),
    }).events();
  }

  /**
   * Reads the input of the graph.
   * @throws InvalidRequestError for a message that does not match the input schema, and for an answer to a completed
   * run
   */
  async #readInput({ userContent }: InvocationContext): Promise<JsonValue | undefined> {
    if (hasResponses(userContent)) {
      throw new InvalidRequestError(
        `graph "${this.name}": the run that requested this input has ended and cannot use the answer; send a message to start a new run`,
      );
    }
    const text = contentText(userContent);
    const { input: schema } = this.#config.checks;
    if (!schema) return text;
    const checked = await schema.check(jsonOrText(text));
    if ('value' in checked) return toOutput(this.name, checked.value);
    throw new InvalidRequestError(
      `graph "${this.name}": its input does not match inputSchema: ${checked.issues.join('; ')}`,
    );
  }

  /** @internal */
  override get calledAgents(): readonly BaseAgent[] {
    return [...this.plan.nodes.values()].flatMap(({ work }) =>
      isBaseAgent(work) ? [work] : isBaseTool(work) ? (work.calledAgent ?? []) : [],
    );
  }

  /** Closes the agents and tools of the graph's nodes, and its sub-agents. */
  override close(): Promise<void> {
    const works = Array.from(this.#config.plan.nodes.values(), ({ work }) => work);
    return closeAll([...works.filter((work) => isBaseAgent(work) || isBaseTool(work)), ...this.subAgents]);
  }
}
