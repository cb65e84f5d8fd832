import {
  type BaseAgent,
  type BaseTool,
  ConfigurationError,
  type Event,
  type InvocationContext,
  type JsonValue,
  ObjectType,
  RunAbortedError,
} from '@eventloom/core';
import { type AbortGuard, applyStateDelta, type InTurn, isBaseAgent, isBaseTool } from '@eventloom/core/internal';
import { type Attempt, AttemptTimer } from './attempt.ts';
import { innerRunId } from './checkpoint.ts';
import { NodeTimeoutError, toNodeError } from './errors.ts';
import { createNode, type GraphNode, isGraphNode, type NodeFunction } from './graph-node.ts';
import type { AskedQuestion } from './graph-record.ts';
import type { GraphStep } from './graph-step.ts';
import { validateValue } from './json-values.ts';
import { NodeLedger } from './node-ledger.ts';
import type { NodeOutcome } from './node-outcome.ts';
import { type LifecycleDetails, NodeEventStream } from './node-event-stream.ts';
import { delayAfter, isWorthRetry, pause } from './retry.ts';
import { runAgent } from './run-agent.ts';
import { runFunction } from './run-function.ts';
import { runTool } from './run-tool.ts';
import { CommitTurn } from './commit-turn.ts';
import type { Semaphore } from '@eventloom/core/internal';

/** The position of a run that another run started. */
interface InnerPlace {
  /** The context of the attempt that started the run. */
  readonly outer: InvocationContext;
  /** The session's state as that attempt saw it when it started the run. */
  readonly sessionState: Readonly<Record<string, unknown>>;
  /** The channels that the outer node may write. */
  readonly writes: ReadonlySet<string>;
  /** The digest of the input. */
  readonly given: string;
  /** The numbers of the attempts that the run is within, the outermost first. */
  readonly attempts: readonly number[];
}

/** One run of a node: its attempts, and the commit of its outcome. */
export class NodeRun {
  readonly node: GraphNode;
  /** Id that is unique in the run of the graph and stays the same when the graph is resumed. */
  readonly id: string;
  /** Names of the channels that the run may write. */
  readonly writes: ReadonlySet<string>;
  /** Digest of the input if another run started this one, otherwise undefined. */
  readonly given: string | undefined;
  readonly ledger: NodeLedger;
  readonly events: NodeEventStream;
  readonly #graph: GraphStep;
  readonly #commitTurn: CommitTurn;
  readonly #inner: InnerPlace | undefined;
  /** See `#runContext`. */
  #found: InvocationContext | undefined;

  constructor(graph: GraphStep, node: GraphNode, id: string, commitTurn: CommitTurn, inner?: InnerPlace) {
    this.#graph = graph;
    this.node = node;
    this.id = id;
    this.#commitTurn = commitTurn;
    this.given = inner?.given;
    this.#inner = inner;
    this.ledger = new NodeLedger(graph, node.name, this.given);
    this.events = new NodeEventStream(graph, node.name);
    this.writes = inner?.writes ?? new Set(node.writes);
  }

  get context(): InvocationContext {
    return this.#graph.context;
  }

  /**
   * Returns the call id of the agent in one attempt of the run, which stays the same when the graph is resumed: that of
   * the run for the first one. An attempt of a run within a later attempt of another run is another one.
   */
  agentCallId(attempt: number): string {
    const outer = this.#inner?.attempts ?? [];
    if (outer.some((number) => number > 1)) return `${this.id}!${[...outer, attempt].join('.')}`;
    return attempt === 1 ? this.id : `${this.id}!${attempt}`;
  }

  get step(): number {
    return this.#graph.step;
  }

  get state(): Readonly<Record<string, unknown>> {
    return this.#graph.state;
  }

  /** Maximum number of its inner nodes that run at the same time. */
  get maxConcurrency(): number {
    return this.#graph.maxConcurrency;
  }

  /**
   * Creates the context of a new attempt. It has its own view of the session's state: the state at the start of the run, the stored changes
   * of the run, and the changes of the attempt. A failed attempt therefore leaves only its stored changes.
   */
  beginAttempt(): InvocationContext {
    return withState(this.#runContext, this.#runContext.session.state);
  }

  /** The context with the session's state at the beginning of the run and the stored changes since. Created on first use. */
  get #runContext(): InvocationContext {
    const { context, sessionState } = this.#graph;
    return (this.#found ??= withState(
      this.#inner?.outer ?? context,
      this.#inner?.sessionState ?? sessionState ?? context.session.state,
    ));
  }

  /** The questions that earlier attempts of the run asked. */
  get questions(): readonly AskedQuestion[] {
    return this.#graph.record.questionsOf(this.id);
  }

  questionOf(key: string): AskedQuestion | undefined {
    return this.questions.findLast((question) => question.key === key);
  }

  /** Commits an event of the node's agent. */
  readonly inTurn: InTurn = (commit) => {
    const { inTurn } = this.context.invocation;
    return this.#commitTurn.commit(inTurn ? () => inTurn(commit) : commit);
  };

  /**
   * Runs the node, and commits its outcome in its turn. Rejects, also in its turn, if the last attempt failed.
   * @param semaphore limits the number of nodes that work concurrently
   * @param onFailure called with the error of the last attempt, before another node has its turn
   */
  async run(
    input: JsonValue | undefined,
    semaphore: Semaphore,
    onFailure?: (error: unknown) => void,
  ): Promise<NodeOutcome> {
    await this.#graph.guard.until(semaphore.take());
    let outcome: NodeOutcome;
    try {
      outcome = await this.#work(input);
    } catch (error) {
      if (!this.#graph.guard.signal.aborted) await this.#commitTurn.leave(onFailure && (async () => onFailure(error)));
      throw error;
    } finally {
      semaphore.give();
    }
    // Record the outcome before the commit, so that the function is not repeated if the process dies before its turn.
    if (!outcome.isWaiting && typeof this.node.work === 'function' && !this.#commitTurn.isNext)
      await this.ledger.recordOutcome(this.id, outcome);
    await this.#commitTurn.leave(() => this.#commit(outcome, onFailure));
    if (!outcome.isWaiting) await this.#emitLifecycle(ObjectType.graphNodeComplete, 'complete');
    return outcome;
  }

  /** Commits the outcome. Errors of reducers and routers are failures of the node. */
  async #commit(outcome: NodeOutcome, onFailure?: (error: unknown) => void): Promise<void> {
    try {
      const event = await this.#graph.commit(this, outcome);
      if (event) this.#inner?.outer.invocation.onStored?.(event);
    } catch (thrown) {
      const error = toNodeError(this.node.name, thrown);
      if (!this.#graph.guard.signal.aborted)
        await this.#emitLifecycle(ObjectType.graphNodeError, 'error', { message: error.publicMessage });
      onFailure?.(error);
      throw error;
    }
  }

  async #work(given: JsonValue | undefined): Promise<NodeOutcome> {
    const { node } = this;
    const finished = typeof node.work === 'function' ? await this.ledger.outcome(this.id) : undefined;
    if (finished) return finished;
    await this.#emitLifecycle(ObjectType.graphNodeStart, 'start');
    const input = await validateValue(node.name, 'input', node.inputSchema, given);
    const failures = node.retry ? await this.ledger.failures(this.id) : 0;
    for (let attempt = failures + 1; ; attempt++) {
      try {
        const outcome = await this.#attempt(input, attempt);
        if (outcome.isWaiting) return outcome;
        return { ...outcome, output: await validateValue(node.name, 'output', node.outputSchema, outcome.output) };
      } catch (thrown) {
        if (this.#graph.guard.signal.aborted) throw thrown;
        const error = toNodeError(node.name, thrown);
        await this.#emitLifecycle(ObjectType.graphNodeError, 'error', {
          message: error.publicMessage,
          payload: { attempt },
        });
        if (!node.retry || !(await isWorthRetry(node.name, node.retry, attempt, thrown))) throw error;
        await this.ledger.recordFailure(this.id, attempt, error.publicMessage);
        await pause(this.context.platform, delayAfter(node.retry, attempt), this.#graph.guard);
      }
    }
  }

  #attempt(input: JsonValue | undefined, attempt: number): Promise<NodeOutcome> {
    const { name } = this.node;
    const operation = this.context.invocation.operations?.start({ kind: 'node', context: this.#runContext, name });
    const work = (): Promise<NodeOutcome> => this.#inTime(input, attempt);
    return operation ? operation.around(work, ({ output }) => output) : work();
  }

  async #inTime(input: JsonValue | undefined, attempt: number): Promise<NodeOutcome> {
    const { timeoutMs, name } = this.node;
    if (timeoutMs === undefined) return this.#once(input, attempt, this.#graph.guard);
    const { context } = this;
    const guard = this.#graph.guard.fork();
    const timedOut = new NodeTimeoutError(name, timeoutMs);
    const timer = new AttemptTimer(context.platform, timeoutMs, () => guard.abort(timedOut));
    this.#commitTurn.onWait = (isWaiting) => (isWaiting ? timer.pause() : timer.resume());
    try {
      return await this.#once(input, attempt, guard);
    } catch (error) {
      throw guard.signal.reason === timedOut ? timedOut : error;
    } finally {
      this.#commitTurn.onWait = undefined;
      timer.pause();
      this.#graph.guard.drop(guard);
    }
  }

  #once(input: JsonValue | undefined, attempt: number, guard: AbortGuard): Promise<NodeOutcome> {
    const { work } = this.node;
    if (isBaseAgent(work)) return runAgent(this, work, input, attempt, guard);
    if (isBaseTool(work)) return runTool(this, work, input, guard);
    // The builder's types guarantee that the function accepts this input and context.
    return runFunction(this, work as NodeFunction, input, attempt, guard);
  }

  /** Runs another node as part of an attempt of this one. Returns the stored output if that run completed earlier. */
  async runInner(
    work: GraphNode | BaseAgent | BaseTool,
    input: JsonValue,
    key: string,
    { context: outer, number, guard, commitQueue, semaphore }: Attempt,
  ): Promise<NodeOutcome> {
    const node = isGraphNode(work) ? work : createNode(work.name, work);
    const unsaid = node.writes.find((name) => !this.writes.has(name));
    if (unsaid !== undefined)
      throw new ConfigurationError(
        `node "${this.node.name}": runs "${node.name}", which writes "${unsaid}"; add the channel to the \`writes\` of both`,
      );
    const graph = { ...this.#graph, guard };
    const id = innerRunId(this.id, node.name, key);
    const sessionState = { ...outer.session.state };
    const attempts = [...(this.#inner?.attempts ?? []), number];
    const place = { outer, sessionState, writes: this.writes, given: inputDigest(input), attempts };
    const done = this.#graph.record.inner.get(id);
    if (!done)
      return new NodeRun(graph, node, id, new CommitTurn(commitQueue, guard, this.#commitTurn), place).run(
        input,
        semaphore,
      );
    new NodeLedger(graph, node.name, place.given).checkGiven(done.given);
    return { isWaiting: false, output: done.output };
  }

  /** Adds an event to the stream of the graph. @throws RunAbortedError if the stream has no reader */
  async post(event: Event): Promise<true> {
    if (await this.#graph.events.post(event)) return true;
    throw new RunAbortedError(`node "${this.node.name}": the reader of its events stopped reading`);
  }

  async #emitLifecycle(object: string, eventType: string, details?: LifecycleDetails): Promise<void> {
    const event = this.events.createLifecycleEvent(object, eventType, details);
    if (event) await this.post(event);
  }
}

/** Returns a 64-bit digest (FNV-1a from both ends) of the JSON. The order of keys does not matter, because storage may change it. */
export function inputDigest(input: JsonValue): string {
  const text = JSON.stringify(input, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
  let forth = 0x811c9dc5;
  let back = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    forth = Math.imul(forth ^ text.charCodeAt(at), 0x01000193);
    back = Math.imul(back ^ text.charCodeAt(text.length - 1 - at), 0x01000193);
  }
  return [forth, back].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}

/**
 * Returns the context with a copy of the session's state. Writes in this context and in inner contexts are visible in
 * the copy immediately, and nowhere else. Stored changes of inner agents are also visible in the outer contexts;
 * changes of others are not visible in the copy.
 */
function withState(context: InvocationContext, state: Readonly<Record<string, unknown>>): InvocationContext {
  const { invocation } = context;
  // Without a prototype, like a session's state.
  const own: Record<string, unknown> = Object.assign(Object.create(null), state);
  const onStored = (event: Event): void => {
    applyStateDelta(own, event.actions.stateDelta, event.actions.removedState);
    invocation.onStored?.(event);
  };
  return context.withInvocation({ ...invocation, session: { ...invocation.session, state: own }, onStored });
}
