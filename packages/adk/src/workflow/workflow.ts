import {
  ConfigurationError,
  type Content,
  type Event,
  type InvocationContext,
  type BaseAgent,
  type VendorValue,
} from '@eventloom/core';
import { checkOptions, isBaseAgent, type OptionRules, SCHEMA_RULE, wrongOption } from '@eventloom/core/internal';
import type { AbortGuard, RunDescription, RunQuery } from '@eventloom/core/internal';
import { BaseNode, type BaseNodeConfig, contentOf, describeNodeOrKind, isBaseNode, START } from './base-node.ts';
import { commonPrefixOf } from './branch-path.ts';
import { buildNode, isNodeLike } from './build-node.ts';
import { describeWorkflow } from './describe-workflow.ts';
import { createGraph, type EdgeItem, type Graph } from './graph.ts';
import { type AdkNodeContext, type NodeResult, type RunnableNode } from './node-context.ts';
import { NodeInterruptedError } from '../errors.ts';
import { openRequests } from './workflow-history.ts';
import { callContextOf } from './workflow-history.ts';
import { WorkflowRun } from './workflow-run.ts';

/** The function of a workflow without edges. It runs nodes with `context.runNode` and returns the output. */
export type DynamicEntry = (context: AdkNodeContext, input: unknown) => unknown;

/** Options of a workflow: those of a node, and either `edges` or `dynamicEntry`. */
export interface WorkflowConfig extends BaseNodeConfig {
  edges?: readonly EdgeItem[] | undefined;
  dynamicEntry?: DynamicEntry | undefined;
  /** Maximum number of nodes of the graph that run at the same time. Default: no limit. */
  maxConcurrency?: number | undefined;
}

const OPTIONS: OptionRules<WorkflowConfig> = {
  name: 'text',
  description: 'text',
  edges: 'list',
  dynamicEntry: 'function',
  maxConcurrency: 'number',
  rerunOnResume: 'flag',
  waitForOutput: 'flag',
  retryConfig: 'object',
  timeout: 'number',
  inputSchema: SCHEMA_RULE,
  outputSchema: SCHEMA_RULE,
  stateSchema: SCHEMA_RULE,
  isolationScope: 'text or flag',
};

/** A node that is to run. */
interface Trigger {
  readonly input: unknown;
  /** True to run it on a branch of its own, unless the node before it has one. */
  readonly useSubBranch: boolean;
  /** The branch of the node before it. */
  readonly branch: string | undefined;
}

/**
 * Nodes that run in the order of the edges between them. The output of a node is the input of those after it; a node
 * whose event has a `route` leads only along the edges with that route. A workflow is an agent: a runner runs it, and
 * so does anything else that runs agents.
 *
 * A node that asks a person pauses the workflow. Nodes that are done are not run again.
 *
 * @example
 * const trim = node((_context: NodeContext, text: string) => text.trim(), { name: 'trim' });
 * const rootAgent = new Workflow({ name: 'trimmed', edges: [['START', trim]] });
 */
export class Workflow extends BaseNode {
  readonly graph: Graph | undefined;
  readonly dynamicEntry: DynamicEntry | undefined;
  readonly maxConcurrency: number | undefined;

  /** @throws ConfigurationError for edges that cannot run, and for an option that is unknown or invalid */
  constructor(config: WorkflowConfig) {
    checkOptions('Workflow', OPTIONS, config);
    super({ ...config, rerunOnResume: config.rerunOnResume ?? true });
    const { edges = [], dynamicEntry, maxConcurrency } = config;
    const owner = `Workflow "${this.name}"`;
    if (edges.length > 0 === (dynamicEntry !== undefined))
      throw new ConfigurationError(
        `${owner}: ${edges.length > 0 ? 'has edges and dynamicEntry; remove one of them' : "edges are missing; write edges: [['START', first]]"}`,
      );
    if (maxConcurrency !== undefined && !(Number.isInteger(maxConcurrency) && maxConcurrency > 0))
      throw wrongOption(owner, 'maxConcurrency', 'a positive integer', maxConcurrency, '4');
    this.graph = edges.length > 0 ? createGraph(owner, edges) : undefined;
    this.dynamicEntry = dynamicEntry;
    this.maxConcurrency = maxConcurrency;
  }

  get '~eventloom.adk-workflow'(): true {
    return true;
  }

  override get calledAgents(): readonly BaseAgent[] {
    return this.graph?.nodes.flatMap(agentsIn) ?? [];
  }

  /** @internal */
  override describeRun(query: RunQuery): RunDescription | undefined {
    const { name, graph } = this;
    return graph && describeWorkflow({ name, graph }, query);
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  /** Runs the workflow as the agent of a run. Its input is the text of the message, or the message. */
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* beginNodeRun(context);
    const run = new WorkflowRun(context);
    const { isContinued, firstMessage } = run.history;
    const open = isContinued ? [] : openRequests(context);
    if (open.length > 0) {
      // The run that asked continues with the answers, so its requests are not stored once more.
      for (const event of open) context.progress.noteCommitted(event);
      yield* open;
      // Agents after the workflow wait as well.
      context.endInvocation = true;
      return;
    }
    yield* runNodeAsInvocation(this, run, inputOf(isContinued ? firstMessage : context.userContent));
  }

  // Its nodes put their events into the stream of the run.
  // eslint-disable-next-line require-yield
  protected override async *runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<VendorValue, void, void> {
    if (this.graph) {
      await new GraphTurn(this, this.graph, context).run(input);
      return;
    }
    const output = await this.dynamicEntry?.(context, input);
    if (output !== undefined) context.output = output;
  }
}

/** One run of the graph of a workflow. */
class GraphTurn {
  readonly #workflow: Workflow;
  readonly #graph: Graph;
  readonly #context: AdkNodeContext;
  readonly #run: WorkflowRun;
  readonly #guard: AbortGuard;
  /** Nodes that are to run, in the order in which they were reached. */
  readonly #waiting = new Map<string, Trigger[]>();
  readonly #running = new Map<string, Promise<void>>();
  /** Results of the nodes that are done and were not reached again since. */
  readonly #done = new Map<string, NodeResult>();
  /** Numbers of the runs so far, by node. */
  readonly #counts = new Map<string, number>();
  readonly #interruptIds = new Set<string>();
  /** The node whose earlier result is taken now. */
  #known: string | undefined;
  #failure: { readonly name: string; readonly error: unknown } | undefined;

  constructor(workflow: Workflow, graph: Graph, context: AdkNodeContext) {
    const { runs } = context.place;
    if (!(runs instanceof WorkflowRun)) throw new ConfigurationError('Workflow: its nodes run in a workflow only');
    this.#workflow = workflow;
    this.#graph = graph;
    this.#context = context;
    this.#run = runs;
    this.#guard = context.guard.fork();
  }

  async run(input: unknown): Promise<void> {
    const context = this.#context;
    this.#follow(START.name, { output: input, branch: undefined, interruptIds: [] });
    try {
      for (this.#start(); this.#running.size > 0; this.#start()) {
        await Promise.race(this.#running.values());
        if (this.#failure) await this.#fail(this.#failure.name, this.#failure.error);
      }
    } finally {
      context.guard.drop(this.#guard);
    }
    if (this.#interruptIds.size > 0) {
      context.interruptIds = [...this.#interruptIds];
      throw new NodeInterruptedError(`workflow "${this.#workflow.name}" waits for an answer`);
    }
    const ends = [...this.#graph.terminalNodeNames].flatMap((name) => this.#done.get(name) ?? []);
    const outputs = ends.filter(({ output }) => output !== undefined);
    if (outputs.length > 1)
      throw new ConfigurationError(
        `Workflow "${this.#workflow.name}": multiple terminal nodes produced output (${outputs.length}); let all but one return nothing, or join them with a JoinNode`,
      );
    context.output = outputs[0]?.output;
  }

  /**
   * Starts the nodes that are to run and do not run already. Nodes that ran before the workflow was continued come
   * first, one after another in the order in which they ended, so that each run of a node behind them is that of the
   * same trigger again.
   */
  #start(): void {
    if (this.#known !== undefined && this.#running.has(this.#known)) return;
    this.#known = this.#nextKnown();
    if (this.#known !== undefined) {
      this.#startNode(this.#known);
      return;
    }
    for (const name of this.#waiting.keys()) {
      if (this.#running.size >= (this.#workflow.maxConcurrency ?? Infinity)) return;
      if (!this.#running.has(name)) this.#startNode(name);
    }
  }

  /** Returns the node that ended first of those which ran before; undefined if none of those that are to run did. */
  #nextKnown(): string | undefined {
    if (!this.#run.history.isContinued) return undefined;
    let next: { readonly name: string; readonly at: number } | undefined;
    for (const name of this.#waiting.keys()) {
      const at = this.#running.has(name) ? undefined : this.#run.knownAt(this.#context.nodePath, this.#nodeOf(name));
      if (at !== undefined && at < (next?.at ?? Infinity)) next = { name, at };
    }
    return next?.name;
  }

  #startNode(name: string): void {
    const triggers = this.#waiting.get(name) ?? [];
    const trigger = triggers.shift();
    if (triggers.length === 0) this.#waiting.delete(name);
    if (!trigger) return;
    this.#running.set(
      name,
      this.#runNode(name, trigger).finally(() => this.#running.delete(name)),
    );
  }

  async #runNode(name: string, { input, useSubBranch, branch }: Trigger): Promise<void> {
    const node = this.#nodeOf(name);
    const { place } = this.#context;
    const outer = { ...place, stateSchema: this.#context.stateSchema, guard: this.#guard };
    try {
      const number = (this.#counts.get(name) ?? 0) + 1;
      this.#counts.set(name, number);
      const runId = `${number}`;
      const result = await this.#run.runNode(outer, node, input, {
        runId,
        number,
        useSubBranch,
        overrideBranch: branch,
      });
      if (result.interruptIds.length > 0) for (const id of result.interruptIds) this.#interruptIds.add(id);
      else if (!node.waitForOutput || result.output !== undefined || result.route !== undefined) {
        this.#done.set(name, result);
        this.#follow(name, result);
      }
    } catch (error) {
      this.#failure ??= { name, error };
    }
  }

  /**
   * Schedules the nodes that follow a node. A node that requires all its predecessors is scheduled when the last of
   * them has completed, or by START at once.
   */
  #follow(name: string, { output, route, branch }: NodeResult): void {
    const next = this.#graph.getNextPendingNodes(name, route);
    for (const target of next) {
      if (name === START.name || !this.#nodeOf(target).requiresAllPredecessors) {
        this.#trigger(target, { input: output, useSubBranch: next.length > 1, branch });
        continue;
      }
      const before = new Set(
        this.#graph.edges.filter(({ toNode }) => toNode.name === target).map(({ fromNode }) => fromNode.name),
      );
      if (![...before].every((each) => this.#done.has(each))) continue;
      const results = [...before].map((each) => [each, this.#done.get(each)] as const);
      this.#trigger(target, {
        input: Object.fromEntries(results.map(([each, result]) => [each, result?.output])),
        useSubBranch: false,
        branch: commonPrefixOf(results.map(([, result]) => result?.branch ?? '')) || undefined,
      });
    }
  }

  #trigger(name: string, trigger: Trigger): void {
    this.#done.delete(name);
    const triggers = this.#waiting.get(name);
    if (triggers) triggers.push(trigger);
    else this.#waiting.set(name, [trigger]);
  }

  /** Reports the failure of a node, stops the others, and throws it. */
  async #fail(name: string, error: unknown): Promise<never> {
    const context = this.#context;
    const { place } = context;
    await this.#run.stream.reportFailure({ ...place, guard: this.#guard }, name, error);
    this.#guard.abort(error);
    await Promise.allSettled(this.#running.values());
    context.interruptIds = [...this.#interruptIds];
    throw error;
  }

  #nodeOf(name: string): BaseNode {
    const found = this.#graph.nodes.find((each) => each.name === name);
    if (!found)
      throw new ConfigurationError(
        `Workflow "${this.#workflow.name}": has no node "${name}"; did the workflow change since the run began?`,
      );
    return found;
  }
}

/** Yields the event that names the agent of the context as the one that runs the nodes; all other events have the names of nodes. */
export function* beginNodeRun(context: InvocationContext): Generator<Event, void, void> {
  if (context.isResumable && !context.resumedFrom)
    yield context.createEvent({ actions: { agentState: { begun: true } } });
}

/** Runs a node as the work of an agent: yields the events of all nodes, and pauses the run while one waits for a person. */
export async function* runNodeAsInvocation(
  node: BaseNode,
  run: WorkflowRun,
  input: unknown,
  onOutput?: (output: unknown) => void,
): AsyncGenerator<Event, void, void> {
  const { context } = run;
  let result: NodeResult | undefined;
  yield* run.stream.during(async (guard) => {
    const outer = {
      invocationContext: context,
      nodePath: '',
      // Agents and tools of each execution have ids of their own.
      activation: run.history.isRepeated ? context.executionId : '',
      // The run of a later answer, which no agent called, has the branch of the question.
      branch: callContextOf(context) && context.branch,
      isolationScope: context.isolationScope,
      stateSchema: undefined,
    };
    result = await run.runNode({ ...outer, guard, outputFor: [] }, node, input, { runId: '1' });
  });
  if (!result || result.interruptIds.length > 0) {
    context.pause();
    return;
  }
  const { output } = result;
  onOutput?.(output);
  if (output === undefined || Object.is(run.lastOutput?.value, output)) return;
  const nodeInfo = { path: node.name, outputFor: [node.name] };
  yield context.createEvent({ author: node.name, content: contentOf(output), output, nodeInfo });
}

/** Returns the agents that a node runs: of a workflow, itself. */
function agentsIn(agent: BaseAgent): readonly BaseAgent[] {
  return isBaseNode(agent) && !isWorkflow(agent) ? agent.calledAgents.flatMap(agentsIn) : [agent];
}

/** The input of a workflow: the text of the message, or the message itself if it has none. */
function inputOf(content: Content | undefined): unknown {
  const texts = content?.parts?.flatMap(({ text }) => text ?? []) ?? [];
  return texts.length > 0 ? texts.join('') : content;
}

/** Returns true for a workflow, including one of another loaded copy of this package. */
export function isWorkflow(value: unknown): value is Workflow {
  return isBaseNode(value) && '~eventloom.adk-workflow' in value;
}

/** An agent or a workflow: a runner can run it. */
export type RunnableRoot = BaseAgent;

/** Returns true for an agent or a workflow. */
export function isRunnableRoot(value: unknown): value is RunnableRoot {
  return isBaseNode(value) ? isWorkflow(value) : isBaseAgent(value);
}

/**
 * Returns an agent that a runner can run: an agent as it is, any other node in a workflow of its own.
 * @param option The class and its option that got the value, for the error
 * @throws ConfigurationError for a value of another kind
 */
export function asRunnableRoot(root: RunnableNode, option = 'Runner: agent'): RunnableRoot {
  if (isRunnableRoot(root)) return root;
  // Programs in JavaScript may pass other values.
  const value: unknown = root;
  if (!isNodeLike(value) || value === 'START')
    throw new ConfigurationError(
      `${option}: expected an agent, a workflow, a node, a tool or a function, got ${describeNodeOrKind(value)}; write ${option.slice(option.indexOf(' ') + 1)}: new LlmAgent({ … })`,
    );
  const built = buildNode(value);
  return new Workflow({ name: built.name, description: built.description, edges: [['START', built]] });
}
