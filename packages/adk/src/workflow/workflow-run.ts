import { type InvocationContext, toError } from '@eventloom/core';
import { type AbortGuard, checkOptions, type OptionRules } from '@eventloom/core/internal';
import type { SchemaLike } from '@eventloom/tools';
import { DynamicNodeFailError, NodeInterruptedError } from '../errors.ts';
import type { BaseNode } from './base-node.ts';
import { createSubBranch } from './branch-path.ts';
import { buildNode } from './build-node.ts';
import { EarlierRuns } from './earlier-runs.ts';
import { NodeAttempts } from './node-attempts.ts';
import { askCallbacks, type NodeCallbacks } from './node-callbacks.ts';
import {
  AdkNodeContext,
  type AdkRunNodeOptions,
  type NodeResult,
  type NodeRuns,
  type RunnableNode,
} from './node-context.ts';
import { type WorkflowHistory, toNodeEnd } from './workflow-history.ts';
import { WorkflowStream } from './workflow-stream.ts';

const RUN_OPTIONS: OptionRules<AdkRunNodeOptions> = {
  nodeName: 'text',
  runId: 'text',
  useAsOutput: 'flag',
  useSubBranch: 'flag',
  overrideBranch: 'text',
  overrideIsolationScope: 'text',
};

/** The properties of an outer node that the nodes it runs depend on. */
interface Outer {
  readonly invocationContext: InvocationContext;
  readonly nodePath: string;
  readonly activation: string;
  readonly branch: string | undefined;
  readonly isolationScope: string | undefined;
  readonly stateSchema: SchemaLike | undefined;
  readonly guard: AbortGuard;
  readonly outputFor: readonly string[];
}

/** The place of a run below the node that runs it. */
interface RunPlace extends AdkRunNodeOptions {
  readonly runId: string;
  /**
   * Number of the run in the graph of the outer node: another attempt of that node does not repeat it once it is done.
   * Default: the next one.
   */
  readonly number?: number | undefined;
  /** Default: the path of the outer node and the name. */
  readonly nodePath?: string | undefined;
}

/** The runs of all nodes of one workflow, and of the workflows in it. */
export class WorkflowRun implements NodeRuns {
  readonly context: InvocationContext;
  readonly stream: WorkflowStream;
  readonly #earlier: EarlierRuns;
  readonly #attempts: NodeAttempts;
  readonly #outputs = new Map<string, unknown>();
  /** Numbers of the runs so far, by path and run of the outer node. */
  readonly #counts = new Map<string, number>();
  /** Results of runs in graphs that are done, by path and activation. */
  readonly #done = new Map<string, NodeResult>();

  constructor(context: InvocationContext) {
    this.context = context;
    this.stream = new WorkflowStream(context);
    this.#earlier = new EarlierRuns(context, this.stream);
    this.#attempts = new NodeAttempts(context, this.stream);
  }

  get history(): WorkflowHistory {
    return this.#earlier.history;
  }

  /** The output of the latest event with one. */
  get lastOutput(): { readonly value: unknown } | undefined {
    return this.#attempts.lastOutput;
  }

  /** Returns the position in the history at which the next run of a node in a graph ended or was answered: see `EarlierRuns`. */
  knownAt(nodePath: string, node: BaseNode): number | undefined {
    return this.#earlier.knownAt(nodePath, node);
  }

  /**
   * Runs a node of `context.runNode`. Rejects with NodeInterruptedError if the node waits for a person.
   * @throws ConfigurationError for a value that cannot run, and for an invalid `runId`
   */
  run(outer: AdkNodeContext, nodeLike: RunnableNode, input: unknown, options: AdkRunNodeOptions): Promise<NodeResult> {
    const node = buildNode(nodeLike);
    const name = options.nodeName ?? node.name;
    checkOptions(`runNode "${name}"`, RUN_OPTIONS, options);
    const runs = outer.dynamicRuns;
    const runId = runs.identify(name, options.runId);
    const nodePath = `${outer.nodePath}.${name}@${runId}`;
    const running =
      runs.started.get(nodePath) ??
      runs.start(nodePath, this.#runDynamic(outer, node, input, { ...options, runId, nodePath }));
    const result = this.#toResult(outer, running, options);
    // The end of an attempt stops the runs that it left behind. Nobody handles their rejections, which would end the process.
    result.catch(() => undefined);
    return result;
  }

  /** Applies the result of a run to the node that made it. @throws NodeInterruptedError if the run waits for a person */
  async #toResult(
    outer: AdkNodeContext,
    running: Promise<NodeResult>,
    options: AdkRunNodeOptions,
  ): Promise<NodeResult> {
    const result = await running;
    if (options.useAsOutput) {
      outer.output = result.output;
      outer.route = result.route;
      outer.outputDelegated = true;
    }
    if (result.interruptIds.length === 0) return result;
    for (const id of result.interruptIds) if (!outer.interruptIds.includes(id)) outer.interruptIds.push(id);
    throw new NodeInterruptedError(`node "${outer.nodePath}" runs a node that waits for an answer`);
  }

  async #runDynamic(outer: AdkNodeContext, node: BaseNode, input: unknown, place: RunPlace): Promise<NodeResult> {
    try {
      return await this.runNode(
        { ...outer.place, stateSchema: outer.stateSchema, guard: outer.guard },
        node,
        input,
        place,
      );
    } catch (thrown) {
      if (NodeInterruptedError.isInstance(thrown) || DynamicNodeFailError.isInstance(thrown)) throw thrown;
      if (outer.guard.signal.aborted) throw thrown;
      const { nodePath = '' } = place;
      throw new DynamicNodeFailError(node.name, toError(thrown), nodePath);
    }
  }

  /**
   * Runs a node, or returns the result of a run that completed before the workflow was continued. A result with
   * `interruptIds` waits for a person.
   * @throws the error of the last attempt
   */
  async runNode(outer: Outer, node: BaseNode, input: unknown, options: RunPlace): Promise<NodeResult> {
    const name = options.nodeName ?? node.name;
    const nodePath = options.nodePath ?? (outer.nodePath ? `${outer.nodePath}.${name}` : name);
    const number = options.number ?? this.#countUp(`${nodePath}#${outer.activation}`);
    const activation = outer.activation === '' ? `${number}` : `${outer.activation}.${number}`;
    const place = `${nodePath}#${activation}`;
    const done = this.#done.get(place);
    if (done) return done;
    const prior = this.#earlier.take(nodePath, node);
    const known = prior && this.#earlier.resultOf(prior, node, outer.branch);
    const branch =
      options.overrideBranch ??
      (options.useSubBranch ? createSubBranch(outer.branch, { name, runId: options.runId }) : outer.branch);
    if (known) {
      await this.#earlier.settle(prior, known, { name, nodePath });
      if (prior.output !== undefined && !prior.isReplaced) this.#attempts.lastOutput = { value: prior.output };
      this.#outputs.set(name, known.output);
      if (options.number !== undefined) this.#keep(place, node, known);
      return known;
    }
    const declared = node.isolationScope === true ? `${nodePath}@${options.runId}` : node.isolationScope;
    const { invocationContext } = outer;
    const context = new AdkNodeContext({
      // A context of its own, which holds the operation that observes the node.
      invocationContext: invocationContext.withInvocation(invocationContext.invocation),
      runs: this,
      nodePath,
      runId: options.runId,
      activation,
      branch,
      isolationScope: options.overrideIsolationScope ?? declared ?? outer.isolationScope,
      resumeInputs: {
        ...(isFirst(activation) ? this.history.answers : {}),
        ...Object.fromEntries(prior?.answers ?? []),
      },
      questions: [...(prior?.questions.values() ?? [])].filter((call) => call !== undefined),
      earlier: prior,
      // The end of an agent may be stored behind the result of its node.
      hasBegun: prior?.events.some(({ actions }) => actions.endOfAgent !== true) === true,
      outputs: this.#outputs,
      stateSchema: node.stateSchema ?? outer.stateSchema,
      guard: outer.guard,
      outputFor: options.useAsOutput ? [outer.nodePath, ...outer.outputFor].filter((path) => path !== '') : [],
    });
    if (prior) this.#attempts.startAfter(`${place}!`, this.#earlier.leaveFailedAttempts(prior.events, `${place}!`));
    await this.#runWithCallbacks(node, context, name, input);
    if (context.interruptIds.length === 0) this.#outputs.set(name, context.output);
    if (options.number !== undefined) this.#keep(place, node, context);
    return context;
  }

  /** Keeps the result of a node that is done. */
  #keep(place: string, { waitForOutput }: BaseNode, { output, route, branch, interruptIds }: NodeResult): void {
    const isDone = interruptIds.length === 0 && (!waitForOutput || output !== undefined || route !== undefined);
    if (isDone) this.#done.set(place, { output, route, branch, interruptIds });
  }

  #countUp(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    return count;
  }

  /** Runs a node between the callbacks of the plugins, and stores that it is done if no event of the node has its result. */
  async #runWithCallbacks(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { guard } = context.place;
    const given = { node, nodeContext: context };
    const skipped = await this.#ask(guard, 'beforeNodeCallback', { ...given, input });
    await this.stream.postActions(context, name);
    if (!skipped) await this.#attempts.run(node, context, name, input);
    const { output } = context;
    const replaced = skipped ?? (await this.#ask(guard, 'afterNodeCallback', { ...given, output }));
    if (replaced) context.output = replaced.value;
    const { route, storedRoute } = context;
    const isStored =
      !replaced && node.endsWithOutput && route === storedRoute && (output !== undefined || route !== undefined);
    const isDone = context.interruptIds.length === 0;
    if (isStored || !isDone || !this.context.isResumable) return this.stream.postActions(context, name);
    const agentState = toNodeEnd(context.hasResultEvent, replaced, route);
    await this.stream.postOf(context.place, { author: name, actions: { ...context.takeActions(), agentState } });
  }

  /** Calls a callback of the plugins of the run. @throws the reason of the guard if it fires first */
  #ask<K extends keyof NodeCallbacks>(
    guard: AbortGuard,
    callback: K,
    params: NodeCallbacks[K],
  ): Promise<{ readonly value: unknown } | undefined> {
    return guard.until(askCallbacks(this.context.plugins.plugins, callback, params));
  }
}

/** Returns true for the first run of a node in the first runs of all nodes around it. */
function isFirst(activation: string): boolean {
  return activation.split('.').every((count) => count === '1');
}
