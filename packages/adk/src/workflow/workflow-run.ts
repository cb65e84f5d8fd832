import {
  type Event,
  createEvent,
  EventTag,
  getFunctionResponses,
  hasTag,
  type InvocationContext,
  LlmCallLimitError,
  REQUEST_INPUT,
  RunAbortedError,
  toError,
} from '@eventloom/core';
import {
  type AbortGuard,
  Calls,
  checkOptions,
  enclosingCallIds,
  isPersonRequest,
  lacksResult,
  mergeEventActions,
  type OptionRules,
} from '@eventloom/core/internal';
import { pause } from '@eventloom/graph/internal';
import type { SchemaLike } from '@eventloom/tools';
import { AdkNodeTimeoutError, DynamicNodeFailError, NodeInterruptedError, NodeReportedError } from '../errors.ts';
import { getLogger } from '../logger.ts';
import { isServiceError } from '../service-errors.ts';
import type { BaseNode } from './base-node.ts';
import { createSubBranch } from './branch-path.ts';
import { buildNode } from './build-node.ts';
import { DynamicRuns } from './dynamic-runs.ts';
import {
  AdkNodeContext,
  nodeOutputOf,
  type NodeResult,
  type NodeRuns,
  type RunnableNode,
  type AdkRunNodeOptions,
} from './node-context.ts';
import { isNodeErrorEvent } from './node-error-event.ts';
import { WorkflowStream } from './workflow-stream.ts';
import { askCallbacks, type NodeCallbacks } from './node-callbacks.ts';
import { AdkNodeHistory, type NodeRecord, toNodeEnd } from './node-history.ts';
import { delayMsAfter, isRetried } from './retry.ts';

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
  /** Number of the run in the graph of the outer node: another attempt of that node does not repeat it once it is done. Default: the next one. */
  readonly number?: number | undefined;
  /** Default: the path of the outer node and the name. */
  readonly nodePath?: string | undefined;
}

/** The runs of all nodes of one workflow, and of the workflows in it. */
export class WorkflowRun implements NodeRuns {
  readonly context: InvocationContext;
  readonly history: AdkNodeHistory;
  readonly stream: WorkflowStream;
  /** The output of the latest event with one. */
  lastOutput: { readonly value: unknown } | undefined;
  readonly #outputs = new Map<string, unknown>();
  /** Numbers of the runs so far, by path and run of the outer node, and of the attempts, by path and activation. */
  readonly #counts = new Map<string, number>();
  /** Results of runs in graphs that are done, by path and activation. */
  readonly #done = new Map<string, NodeResult>();
  /** Runs of `runNode`, by the node that made them. */
  readonly #dynamic = new WeakMap<AdkNodeContext, DynamicRuns>();

  constructor(context: InvocationContext) {
    this.context = context;
    this.history = new AdkNodeHistory(context);
    this.stream = new WorkflowStream(context);
  }

  /**
   * Runs a node of `context.runNode`. Rejects with NodeInterruptedError if the node waits for a person.
   * @throws ConfigurationError for a value that cannot run, and for an invalid `runId`
   */
  run(outer: AdkNodeContext, nodeLike: RunnableNode, input: unknown, options: AdkRunNodeOptions): Promise<NodeResult> {
    const node = buildNode(nodeLike);
    const name = options.nodeName ?? node.name;
    checkOptions(`runNode "${name}"`, RUN_OPTIONS, options);
    let runs = this.#dynamic.get(outer);
    if (!runs || runs.attempt !== outer.attemptCount)
      this.#dynamic.set(outer, (runs = new DynamicRuns(outer.attemptCount)));
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
   * Returns the position in the history at which the next run of a node in a graph ended or was answered; undefined if the node is to work.
   * @param nodePath the path of the node around the graph
   */
  knownAt(nodePath: string, node: BaseNode): number | undefined {
    const prior = this.history.peek(`${nodePath}.${node.name}`, node);
    if (!prior || isUnfinishedTask(node, prior) || !this.#knownResult(prior, node, undefined)) return undefined;
    return prior.isDone ? prior.end : Math.max(prior.end, prior.answeredAt);
  }

  /**
   * Runs a node, or returns the result of a run that completed before the workflow was continued. A result with `interruptIds` waits for a person.
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
    const prior = this.#takePrior(nodePath, node);
    const known = prior && this.#knownResult(prior, node, outer.branch);
    const branch =
      options.overrideBranch ??
      (options.useSubBranch ? createSubBranch(outer.branch, { name, runId: options.runId }) : outer.branch);
    if (known) {
      const skipped = this.history.dropWithin(nodePath, prior);
      if (known.interruptIds.length === 0) this.#skip([...skipped, ...prior.events]);
      else if (this.history.isPrompted) await this.#askAgain(prior.events, known.interruptIds);
      const isAnswered = known.interruptIds.length === 0 && !prior.isDone;
      if (isAnswered && this.context.isResumable) await this.#storeAnswer(name, nodePath, known);
      if (prior.output !== undefined && !prior.isReplaced) this.lastOutput = { value: prior.output };
      this.#outputs.set(name, known.output);
      if (options.number !== undefined) this.#keep(place, node, known);
      return known;
    }
    const declared = node.isolationScope === true ? `${nodePath}@${options.runId}` : node.isolationScope;
    const context = new AdkNodeContext({
      invocationContext: this.context,
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
      asked: [...(prior?.asked.values() ?? [])].filter((call) => call !== undefined),
      earlier: prior,
      // The end of an agent may be stored behind the result of its node.
      hasBegun: prior?.events.some(({ actions }) => actions.endOfAgent !== true) === true,
      outputs: this.#outputs,
      stateSchema: node.stateSchema ?? outer.stateSchema,
      guard: outer.guard,
      outputFor: options.useAsOutput ? [outer.nodePath, ...outer.outputFor].filter((path) => path !== '') : [],
    });
    if (prior) this.#skipFailedAttempts(prior.events, `${place}!`);
    await this.#runWithCallbacks(node, context, name, input);
    if (context.interruptIds.length === 0) this.#outputs.set(name, context.output);
    if (options.number !== undefined) this.#keep(place, node, context);
    return context;
  }

  /** Takes the next earlier run of a node from the history. A task agent that spoke without finishing its task speaks again after a message: its run is the newest of these. */
  #takePrior(nodePath: string, node: BaseNode): NodeRecord | undefined {
    let prior = this.history.take(nodePath, node);
    while (prior && isUnfinishedTask(node, prior)) {
      const next = this.history.take(nodePath, node);
      if (!next && !this.history.isPrompted) break;
      this.#skip(prior.events);
      prior = next;
    }
    return prior;
  }

  /** Returns the result of an earlier run that need not be repeated, or that still waits. A question that was cancelled counts as none. */
  #knownResult(prior: NodeRecord, node: BaseNode, outerBranch: string | undefined): NodeResult | undefined {
    const { output, route, branch = outerBranch, asked, answers } = prior;
    const done = { output, route, branch, interruptIds: [] };
    if (prior.isDone) return done;
    if (asked.size === 0) return undefined;
    const { session, derived } = this.context.invocation;
    const calls = Calls.of(session, derived);
    const made = prior.events.flatMap((event) => calls.madeIn(event));
    const settled = new Set(made.filter((call) => !lacksResult(call)).map(({ id }) => id));
    const open = [...asked.keys()].filter((id) => !answers.has(id) && !settled.has(id));
    const isAsked = open.some((id) => isPersonRequest(asked.get(id) ?? {}) || this.history.waitingCallIds.has(id));
    // An agent whose process was lost may have calls to run, and otherwise finds out that it still waits.
    const isLeft = !node.continuesCalls || (isAsked && this.history.isPrompted);
    if (open.length > 0 && answers.size === 0 && isLeft) return { ...done, interruptIds: open };
    if (node.rerunOnResume || answers.size === 0) return undefined;
    if (open.length > 0) return { ...done, interruptIds: open };
    const values = [...asked.keys()].map((id) => answers.get(id));
    return { ...done, output: values.length === 1 ? values[0] : values };
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

  /** Stores that a node is done whose output is an answer, so that another answer to its question is refused. */
  async #storeAnswer(author: string, path: string, { output, route, branch }: NodeResult): Promise<void> {
    const agentState = toNodeEnd(false, { value: output }, route);
    const event = this.context.createEvent({ author, nodeInfo: { path }, actions: { agentState } });
    await this.stream.post(branch === undefined ? event : { ...event, branch });
  }

  /** Posts the requests of a node that are still open, so that the reader of this run sees what it waits for. */
  async #askAgain(events: readonly Event[], open: readonly string[]): Promise<void> {
    const asked = new Set<string>();
    for (const event of events) {
      const { author, branch, isolationScope, nodeInfo, content } = event;
      const parts = (content?.parts ?? []).filter(
        ({ functionCall }) =>
          functionCall &&
          isPersonRequest(functionCall) &&
          open.includes(functionCall.id ?? '') &&
          !asked.has(functionCall.id ?? ''),
      );
      const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
      if (parts.length === 0) continue;
      for (const id of longRunningToolIds) asked.add(id);
      const isOfRun = event.invocationId === this.context.invocationId;
      if (isOfRun || parts.some(({ functionCall }) => functionCall?.name !== REQUEST_INPUT)) {
        // A request about a tool call comes before the response that says that the call waits, so it is not stored once more.
        this.context.progress.noteCommitted(event);
        await this.stream.post(event);
        continue;
      }
      await this.stream.post(
        this.context.createEvent({
          author,
          content: { role: 'model', parts },
          longRunningToolIds,
          ...(branch === undefined ? {} : { branch }),
          ...(isolationScope === undefined ? {} : { isolationScope }),
          ...(nodeInfo && { nodeInfo }),
        }),
      );
    }
  }

  /**
   * Restores what a node that is done left behind: its agents are not continued, and the next agents have read what it said.
   * @param events its events, and those of the nodes that it ran
   */
  #skip(events: readonly Event[]): void {
    for (const event of events) {
      if (event.executionId !== undefined) this.context.invocation.resumedLog?.skip(event.executionId);
      this.stream.noteSaid(event);
    }
  }

  /**
   * Lets the next attempt of a node continue the last one that was stored.
   * @param run the beginning of the ids of the attempts
   */
  #skipFailedAttempts(events: readonly Event[], run: string): void {
    const { executionId: parent } = this.context;
    const ids = events.flatMap(({ branch }) => enclosingCallIds(branch).filter((id) => id.startsWith(run)));
    const last = Math.max(1, ...ids.map((id) => Number(id.slice(run.length))));
    if (!this.#counts.has(run)) this.#counts.set(run, last - 1);
    const own = events.filter(({ parentExecutionId }) => parentExecutionId === parent);
    const continued = own.at(-1)?.executionId;
    for (const { executionId } of own)
      if (executionId !== undefined && executionId !== continued) this.context.invocation.resumedLog?.skip(executionId);
  }

  /** Runs a node between the callbacks of the plugins, and stores that it is done if no event of the node has its result. */
  async #runWithCallbacks(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { guard } = context.place;
    const given = { node, nodeContext: context };
    const skipped = await this.#ask(guard, 'beforeNodeCallback', { ...given, input });
    await this.#postActions(context, name);
    if (!skipped) await this.#attempts(node, context, name, input);
    const { output } = context;
    const replaced = skipped ?? (await this.#ask(guard, 'afterNodeCallback', { ...given, output }));
    if (replaced) context.output = replaced.value;
    const { route, storedRoute } = context;
    const isStored =
      !replaced && node.endsWithOutput && route === storedRoute && (output !== undefined || route !== undefined);
    const isDone = context.interruptIds.length === 0;
    if (isStored || !isDone || !this.context.isResumable) return this.#postActions(context, name);
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

  /** Posts the changes of state that no event holds yet. */
  async #postActions(context: AdkNodeContext, author: string): Promise<void> {
    const actions = context.takeActions();
    if (actions) await this.stream.postOf(context.place, { author, actions });
  }

  async #attempts(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { place } = context;
    const { preparedRetryConfig: retry } = node;
    const run = `${place.nodePath}#${place.activation}!`;
    for (let attempt = 1 + (retry ? await this.#failuresOf(run) : 0); ; attempt++) {
      const guard = place.guard.fork();
      context.beginAttempt(attempt, `${run}${this.#countUp(run)}`, guard);
      const { timeout } = node;
      const callOff =
        timeout === undefined
          ? undefined
          : this.context.platform.schedule(timeout * 1000, () =>
              guard.abort(new AdkNodeTimeoutError({ nodeName: name, timeout })),
            );
      try {
        await this.#attempt(node, context, name, input);
        this.#warnOfStoppedRuns(context, name);
        return;
      } catch (thrown) {
        if (NodeInterruptedError.isInstance(thrown)) {
          // Runs beside the one that waits come to their ends or to questions of their own, unless the time of the attempt is up.
          const started = [...(this.#dynamic.get(context)?.started.values() ?? [])];
          await guard.until(Promise.allSettled(started)).catch(() => undefined);
          return;
        }
        place.guard.check();
        const { reason } = guard.signal;
        const error: unknown = AdkNodeTimeoutError.isInstance(reason) ? reason : thrown;
        if (!retry || DynamicNodeFailError.isInstance(error) || !isRetried(retry, attempt, error)) {
          // A value that cannot be marked as reported is thrown as an error, so that one event reports it.
          const failure: unknown = typeof error === 'object' && error !== null ? error : toError(error);
          this.stream.noteAttempts(failure, attempt);
          throw failure;
        }
        guard.abort(error);
        if (this.context.isResumable) {
          await this.#recordFailure(run, attempt, name);
          // Its open questions would be asked twice. It runs again after the answers.
          if (context.interruptIds.length > 0) return;
        }
        await pause(this.context.platform, delayMsAfter(retry, attempt), place.guard);
      } finally {
        callOff?.();
        guard.abort(new RunAbortedError(`node "${name}": this attempt has ended`));
        place.guard.drop(guard);
      }
    }
  }

  /** Records in the ledger that an attempt failed and another one follows, also in a later process. */
  async #recordFailure(run: string, attempt: number, name: string): Promise<void> {
    const { invocation, invocationId } = this.context;
    const callId = `${run}${attempt} failed`;
    await invocation.ledger.recordToolCall({ invocationId, callId, name, status: 'finished', response: {} });
  }

  /** Returns the number of attempts of a node that failed before the workflow was continued. */
  async #failuresOf(run: string): Promise<number> {
    const { invocation, invocationId } = this.context;
    if (!invocation.resumedLog) return 0;
    const entries = await invocation.ledger.listToolCalls(invocationId);
    return entries.filter(({ callId }) => callId.startsWith(run) && callId.endsWith(' failed')).length;
  }

  /** Logs the runs of `runNode` that a node which is done leaves unfinished, and which are therefore stopped. */
  #warnOfStoppedRuns(context: AdkNodeContext, name: string): void {
    const runs = this.#dynamic.get(context);
    if (!runs || runs.attempt !== context.attemptCount || context.interruptIds.length > 0) return;
    for (const path of runs.unfinished)
      getLogger().warn(
        `node "${name}" is done before its run of ${path}, which is stopped; write await context.runNode(…)`,
      );
  }

  async #attempt(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { guard } = context;
    const events = node.run(context, input);
    try {
      for (let next = await guard.until(events.next()); !next.done; next = await guard.until(events.next()))
        await this.#take(context, name, next.value);
    } catch (thrown) {
      const isLimit = LlmCallLimitError.isInstance(thrown);
      if (isLimit)
        await this.#take(context, name, createEvent({ errorCode: thrown.code, errorMessage: thrown.message }));
      const isInEvent = isServiceError(thrown) || isLimit;
      if (!context.reportedError || !isInEvent) throw thrown;
      throw this.#toReported(name, context.reportedError, thrown);
    } finally {
      const closing = events.return();
      // A node that ignores its abort is not waited for.
      if (guard.signal.aborted) closing.catch(() => undefined);
      else await closing;
    }
    await this.#postActions(context, name);
    const { reportedError, output, route, interruptIds } = context;
    if (!reportedError || output !== undefined || route !== undefined || interruptIds.length > 0) return;
    throw this.#toReported(name, reportedError);
  }

  /** Creates the error of a node that yielded an error event. */
  #toReported(nodeName: string, reported: NonNullable<AdkNodeContext['reportedError']>, cause?: unknown): Error {
    const error = new NodeReportedError({ nodeName, ...reported }, cause === undefined ? undefined : { cause });
    this.stream.noteReported(error);
    return error;
  }

  /** Applies an event of a node to the node's context (output, route, error, questions), and posts the event to the stream. */
  async #take(context: AdkNodeContext, name: string, event: Event): Promise<void> {
    const { route, errorCode, errorMessage, longRunningToolIds } = event;
    const isNew = !this.context.progress.isCommitted(event);
    // An agent passes on the events of nodes and agents that it calls as tools.
    const { path = isNew ? context.nodePath : undefined } = event.nodeInfo ?? {};
    const isOwn = path === context.nodePath;
    const output = isOwn ? nodeOutputOf(event) : undefined;
    const isRepeated = isNew && output !== undefined && context.outputDelegated;
    if (isNew) context.checkState(event.actions);
    if (event.partial !== true) {
      if (output !== undefined) context.output = output;
      if (isOwn && route !== undefined) context.route = context.storedRoute = route;
      if (output !== undefined || (isOwn && route !== undefined)) context.hasResultEvent = true;
      if (errorCode !== undefined && !isNodeErrorEvent(event)) context.reportedError = { errorCode, errorMessage };
      for (const id of longRunningToolIds ?? []) if (!context.interruptIds.includes(id)) context.interruptIds.push(id);
      if (hasTag(event, EventTag.cancelled)) {
        const cancelled = getFunctionResponses(event).map(({ id }) => id);
        context.interruptIds = context.interruptIds.filter((id) => !cancelled.includes(id));
      }
    }
    if (!isNew) {
      if (output !== undefined) this.lastOutput = { value: output };
      await this.stream.post(event);
      return;
    }
    const { output: _, content: __, ...rest } = event;
    const actions = event.partial === true ? undefined : context.takeActions();
    const said: Event = isRepeated ? rest : event;
    if (isRepeated && !actions && Object.keys(event.actions.stateDelta).length === 0) return;
    if (!isRepeated && output !== undefined) this.lastOutput = { value: output };
    await this.stream.postOf(context.place, {
      ...said,
      author: event.author || name,
      actions: mergeEventActions([actions ?? {}, said.actions]),
    });
  }
}

/** Returns true for the first run of a node in the first runs of all nodes around it. */
function isFirst(activation: string): boolean {
  return activation.split('.').every((count) => count === '1');
}

/** Returns true for a run of a task agent that ended without finishing the task. */
function isUnfinishedTask({ continuesCalls, waitForOutput }: BaseNode, { isDone, output, route }: NodeRecord): boolean {
  return continuesCalls && waitForOutput && isDone && output === undefined && route === undefined;
}
