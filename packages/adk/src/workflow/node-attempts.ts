import {
  createEvent,
  type Event,
  EventTag,
  getFunctionResponses,
  hasTag,
  type InvocationContext,
  LlmCallLimitError,
  RunAbortedError,
  toError,
} from '@eventloom/core';
import { mergeEventActions } from '@eventloom/core/internal';
import { pause } from '@eventloom/graph/internal';
import { AdkNodeTimeoutError, DynamicNodeFailError, NodeInterruptedError, NodeReportedError } from '../errors.ts';
import { getLogger } from '../logger.ts';
import { isServiceError } from '../service-errors.ts';
import type { BaseNode } from './base-node.ts';
import { type AdkNodeContext, nodeOutputOf } from './node-context.ts';
import { isNodeErrorEvent } from './node-error-event.ts';
import { delayMsAfter, isRetried } from './retry.ts';
import type { WorkflowStream } from './workflow-stream.ts';

/** The attempts of the nodes of a workflow: each runs a node, and applies its events. */
export class NodeAttempts {
  /** The output of the latest event with one. */
  lastOutput: { readonly value: unknown } | undefined;
  readonly #context: InvocationContext;
  readonly #stream: WorkflowStream;
  /** Numbers of the attempts so far, by the beginning of their ids. */
  readonly #counts = new Map<string, number>();

  constructor(context: InvocationContext, stream: WorkflowStream) {
    this.#context = context;
    this.#stream = stream;
  }

  /**
   * Gives the first attempt of a run the number after those in an earlier process.
   * @param run the beginning of the ids of its attempts
   */
  startAfter(run: string, count: number): void {
    if (!this.#counts.has(run)) this.#counts.set(run, count);
  }

  /** Runs a node until an attempt succeeds or waits for a person. @throws the error of the last attempt */
  async run(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { place } = context;
    const { preparedRetryConfig: retry } = node;
    const run = `${place.nodePath}#${place.activation}!`;
    for (let attempt = 1 + (retry ? await this.#failuresOf(run) : 0); ; attempt++) {
      const guard = place.guard.fork();
      const count = (this.#counts.get(run) ?? 0) + 1;
      this.#counts.set(run, count);
      context.beginAttempt(attempt, `${run}${count}`, guard);
      const { timeout } = node;
      const callOff =
        timeout === undefined
          ? undefined
          : this.#context.platform.schedule(timeout * 1000, () =>
              guard.abort(new AdkNodeTimeoutError({ nodeName: name, timeout })),
            );
      try {
        await this.#attempt(node, context, name, input);
        this.#warnOfStoppedRuns(context, name);
        return;
      } catch (error) {
        place.guard.check();
        if (!retry || DynamicNodeFailError.isInstance(error) || !isRetried(retry, attempt, error)) {
          // A value that cannot be marked as reported is thrown as an error, so that one event reports it.
          const failure: unknown = typeof error === 'object' && error !== null ? error : toError(error);
          this.#stream.noteAttempts(failure, attempt);
          throw failure;
        }
        guard.abort(error);
        if (this.#context.isResumable) {
          await this.#recordFailure(run, attempt, name);
          // Its open questions would be asked twice. It runs again after the answers.
          if (context.interruptIds.length > 0) return;
        }
        const { platform } = this.#context;
        await pause(platform, delayMsAfter(retry, attempt, platform), place.guard);
      } finally {
        callOff?.();
        guard.abort(new RunAbortedError(`node "${name}": this attempt has ended`));
        place.guard.drop(guard);
      }
    }
  }

  /** Records in the ledger that an attempt failed and another one follows, also in a later process. */
  async #recordFailure(run: string, attempt: number, name: string): Promise<void> {
    const { invocation, invocationId } = this.#context;
    const entryId = `${run}${attempt} failed`;
    await invocation.ledger.recordToolCall({ invocationId, entryId, name, status: 'finished', response: {} });
  }

  /** Returns the number of attempts of a node that failed before the workflow was continued. */
  async #failuresOf(run: string): Promise<number> {
    const { invocation, invocationId } = this.#context;
    if (!invocation.resumedLog) return 0;
    const entries = await invocation.ledger.listToolCalls(invocationId);
    return entries.filter(({ entryId }) => entryId.startsWith(run) && entryId.endsWith(' failed')).length;
  }

  /** Logs the runs of `runNode` that a node which is done leaves unfinished, and which are therefore stopped. */
  #warnOfStoppedRuns(context: AdkNodeContext, name: string): void {
    if (context.interruptIds.length > 0) return;
    for (const path of context.dynamicRuns.unfinished)
      getLogger().warn(
        `node "${name}" is done before its run of ${path}, which is stopped; write await context.runNode(…)`,
      );
  }

  /**
   * Runs one attempt, inside an operation if the run is observed. The node of a root workflow is the agent, which has
   * an operation already.
   */
  #attempt(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { invocationContext: own } = context;
    const { operations } = own.invocation;
    const operation = node === own.agent ? undefined : operations?.start({ kind: 'node', context: own, name });
    const work = (): Promise<void> => this.#runToEnd(node, context, name, input);
    return operation ? operation.around(work, () => context.output) : work();
  }

  /** Runs one attempt until it is done or waits for a person. @throws AdkNodeTimeoutError when its time is up */
  async #runToEnd(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
    const { guard } = context;
    try {
      await this.#readEvents(node, context, name, input);
    } catch (thrown) {
      if (NodeInterruptedError.isInstance(thrown)) {
        // Runs beside the one that waits come to their ends or to questions of their own, unless the time of the attempt is up.
        const started = context.dynamicRuns.started.values();
        await guard.until(Promise.allSettled(started)).catch(() => undefined);
        return;
      }
      const { reason } = guard.signal;
      throw AdkNodeTimeoutError.isInstance(reason) ? reason : thrown;
    }
  }

  async #readEvents(node: BaseNode, context: AdkNodeContext, name: string, input: unknown): Promise<void> {
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
    await this.#stream.postActions(context, name);
    const { reportedError, output, route, interruptIds } = context;
    if (!reportedError || output !== undefined || route !== undefined || interruptIds.length > 0) return;
    throw this.#toReported(name, reportedError);
  }

  /** Creates the error of a node that yielded an error event. */
  #toReported(nodeName: string, reported: NonNullable<AdkNodeContext['reportedError']>, cause?: unknown): Error {
    const error = new NodeReportedError({ nodeName, ...reported }, cause === undefined ? undefined : { cause });
    this.#stream.noteReported(error);
    return error;
  }

  /** Applies an event of a node to the node's context (output, route, error, questions), and posts the event to the stream. */
  async #take(context: AdkNodeContext, name: string, event: Event): Promise<void> {
    const { route, errorCode, errorMessage, longRunningToolIds } = event;
    const isNew = !this.#context.progress.isCommitted(event);
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
      await this.#stream.post(event);
      return;
    }
    const { output: _, content: __, ...rest } = event;
    const actions = event.partial === true ? undefined : context.takeActions();
    const said: Event = isRepeated ? rest : event;
    if (isRepeated && !actions && Object.keys(event.actions.stateDelta).length === 0) return;
    if (!isRepeated && output !== undefined) this.lastOutput = { value: output };
    await this.#stream.postOf(context.place, {
      ...said,
      author: event.author || name,
      actions: mergeEventActions([actions ?? {}, said.actions]),
    });
  }
}
