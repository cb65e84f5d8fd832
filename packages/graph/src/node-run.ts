import {
  type AbortGuard,
  type BaseAgent,
  type BaseTool,
  type Event,
  type EventActions,
  EventloomError,
  type InTurn,
  type InvocationContext,
  isBaseAgent,
  isBaseTool,
  type JsonObject,
  type JsonValue,
  type NodeEvent,
  ObjectType,
  RunAbortedError,
  toError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { ValueSchema } from '@eventloom/tools';
import { AttemptTimer } from './attempt-timer.ts';
import { NodeError } from './errors/node-error.ts';
import { NodeTimeoutError } from './errors/node-timeout-error.ts';
import { createNode, type GraphNode, isGraphNode, type NodeFunction } from './graph-node.ts';
import type { GraphStep } from './graph-step.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { AskedQuestion } from './graph-record.ts';
import { delayAfter, isWorthRetry, wait } from './retry.ts';
import { runAgent } from './run-agent.ts';
import { runFunction, toOutput } from './run-function.ts';
import { runTool } from './run-tool.ts';
import { Seat } from './seat.ts';
import { Slots } from './slots.ts';
import { Turns } from './turns.ts';

/** One run of a node: its attempts, and the event that it comes to. */
export class NodeRun {
  readonly node: GraphNode;
  /** Unique in the run of the graph, and the same when that is resumed. */
  readonly id: string;
  /** The channels that it may write. */
  readonly writes: ReadonlySet<string>;
  readonly #graph: GraphStep;
  readonly #seat: Seat;
  #innerTurns: Turns | undefined;
  #innerSlots: Slots | undefined;
  /** What may be an agent's last words, and bookkeeping behind it. */
  #held: Event[] = [];

  /** @param writes those of the node that runs this one */
  constructor(graph: GraphStep, node: GraphNode, id: string, seat: Seat, writes?: ReadonlySet<string>) {
    this.#graph = graph;
    this.node = node;
    this.id = id;
    this.#seat = seat;
    this.writes = writes ?? new Set(node.writes);
  }

  get context(): InvocationContext {
    return this.#graph.context;
  }

  get step(): number {
    return this.#graph.step;
  }

  get state(): Readonly<Record<string, unknown>> {
    return this.#graph.state;
  }

  /** What it asked before. */
  get questions(): readonly AskedQuestion[] {
    return this.#graph.record.questionsOf(this.id);
  }

  questionOf(key: string): AskedQuestion | undefined {
    return this.questions.findLast((question) => question.key === key);
  }

  /** Commits an event of the node's agent. */
  readonly inTurn: InTurn = (commit) => {
    const { inTurn } = this.context.invocation;
    return this.#seat.commit(inTurn ? () => inTurn(commit) : commit);
  };

  /**
   * Runs the node and commits what came of it, in turn. Rejects, in turn too, when it failed for good.
   * @param slots who works at the same time
   */
  async run(input: JsonValue | undefined, slots: Slots): Promise<NodeOutcome> {
    await this.#graph.guard.until(slots.take());
    let outcome: NodeOutcome;
    try {
      outcome = await this.#work(input);
    } catch (error) {
      if (!this.#graph.guard.signal.aborted) await this.#seat.leave();
      throw error;
    } finally {
      slots.giveBack();
    }
    // What is done is not done again, should the process die before it can be committed.
    if (!outcome.isWaiting && typeof this.node.work === 'function' && !this.#seat.isNext)
      await this.#recordOutcome(outcome);
    await this.#seat.leave(() => this.#graph.commit(this, outcome));
    if (!outcome.isWaiting) this.#tell(ObjectType.graphNodeComplete, 'complete');
    return outcome;
  }

  async #work(given: JsonValue | undefined): Promise<NodeOutcome> {
    const { node } = this;
    const recorded = typeof node.work === 'function' ? await this.recorded(this.id) : undefined;
    if (recorded?.status === 'finished') return this.outcomeOf(recorded);
    this.#tell(ObjectType.graphNodeStart, 'start');
    const input = await fitting(node.name, 'input', node.inputSchema, given);
    for (let attempt = 1; ; attempt++) {
      try {
        const outcome = await this.#attempt(input, attempt);
        if (outcome.isWaiting) return outcome;
        return { ...outcome, output: await fitting(node.name, 'output', node.outputSchema, outcome.output) };
      } catch (thrown) {
        if (this.#graph.guard.signal.aborted) throw thrown;
        const error = toNodeError(node.name, thrown);
        this.#tell(ObjectType.graphNodeError, 'error', { message: error.message, payload: { attempt } });
        if (!node.retry || !isWorthRetry(node.retry, attempt, thrown)) throw error;
        await this.#pause(delayAfter(node.retry, attempt));
      }
    }
  }

  /** Before another attempt. */
  async #pause(delayMs: number): Promise<void> {
    let callOff: (() => void) | undefined;
    try {
      await this.#graph.guard.until(wait(this.context.platform, delayMs, (given) => (callOff = given)));
    } finally {
      callOff?.();
    }
  }

  async #attempt(input: JsonValue | undefined, attempt: number): Promise<NodeOutcome> {
    const { timeoutMs, name } = this.node;
    if (timeoutMs === undefined) return this.#once(input, attempt, this.#graph.guard);
    const { context } = this;
    const guard = this.#graph.guard.fork();
    const timedOut = new NodeTimeoutError(name, timeoutMs);
    const timer = new AttemptTimer(context.platform, timeoutMs, () => guard.abort(timedOut));
    this.#seat.onWait = (isWaiting) => (isWaiting ? timer.pause() : timer.resume());
    try {
      const outcome = await this.#once(input, attempt, guard);
      // An agent that was told to stop may end as if it were done.
      if (guard.signal.aborted) throw timedOut;
      return outcome;
    } catch (error) {
      throw guard.signal.reason === timedOut ? timedOut : error;
    } finally {
      this.#seat.onWait = undefined;
      timer.pause();
      this.#graph.guard.drop(guard);
    }
  }

  #once(input: JsonValue | undefined, attempt: number, guard: AbortGuard): Promise<NodeOutcome> {
    const { work } = this.node;
    if (isBaseAgent(work)) return runAgent(this, work, input, attempt, guard);
    if (isBaseTool(work)) return runTool(this, work, input, guard);
    // The builder's types say what it is called with.
    return runFunction(this, work as NodeFunction, input, attempt, guard);
  }

  /** Runs another node as a part of this one; what is stored of it is not run again. */
  async runInner(given: GraphNode | BaseAgent | BaseTool, input: JsonValue, key: string): Promise<NodeOutcome> {
    const node = isGraphNode(given) ? given : createNode(given.name, given);
    const id = `${this.id}~${node.name}-${key}`;
    const { record, guard, maxConcurrency } = this.#graph;
    if (record.inner.has(id)) return { isWaiting: false, output: record.inner.get(id) };
    const { platform } = this.context;
    this.#innerTurns ??= new Turns(maxConcurrency, (begin) => void platform.schedule(0, begin));
    this.#innerSlots ??= new Slots(maxConcurrency);
    const seat = new Seat(this.#innerTurns, guard, this.#seat);
    return new NodeRun(this.#graph, node, id, seat, this.writes).run(input, this.#innerSlots);
  }

  /** Hands an event into the stream of the graph. @throws RunAbortedError when nobody reads it any more */
  async post(event: Event): Promise<true> {
    if (await this.#graph.outbox.post(event)) return true;
    throw new RunAbortedError(`node "${this.node.name}": nobody reads its events any more`);
  }

  /** Passes on an event of the node's agent; what may be its last words is held back until it says something else. */
  async pass(event: Event, mayBeLast: boolean): Promise<void> {
    if (this.#held.length > 0 && !event.nodeEvent) {
      if (event.content === undefined && event.errorCode === undefined) {
        this.#held.push(event);
        return;
      }
      await this.release();
    }
    if (mayBeLast) this.#held = [event];
    else await this.post(event);
  }

  /** Passes on what is held back. @param shown makes of the last words what is passed on in their place */
  async release(shown?: (event: Event) => Event): Promise<void> {
    const [last, ...behind] = this.#held;
    this.#held = [];
    if (last) await this.post(shown ? shown(last) : last);
    for (const event of behind) await this.post(event);
  }

  /** A node event of the node, streamed at once. */
  emit(object: string, said: Omit<NodeEvent, 'nodeId' | 'stepNumber'>): Promise<boolean> {
    const { name } = this.node;
    const nodeEvent: NodeEvent = { ...said, nodeId: name, stepNumber: this.step };
    return this.#graph.outbox.post(this.context.createEvent({ author: name, object, nodeEvent }));
  }

  /** How the node's tool gets on. */
  emitToolProgress(name: string, output: JsonValue): Promise<boolean> {
    const response = { functionResponse: { id: this.id, name, response: { output } } };
    const content = { role: 'user', parts: [response] };
    const event = { author: this.node.name, object: ObjectType.toolResponse, partial: true, content };
    return this.#graph.outbox.post(this.context.createEvent(event));
  }

  #tell(object: string, eventType: string, said: Partial<NodeEvent> = {}): void {
    if (this.#graph.tellsLifecycle) void this.emit(object, { ...said, eventType, category: 'custom' });
  }

  /** What the ledger has of a call of this run, when the graph goes on. */
  recorded(call: string): Promise<ToolLedgerEntry | undefined> {
    return this.#graph.recorded(call);
  }

  /** Writes to the ledger that a call begins, or, with a response, that it is finished. */
  record(call: string, response?: JsonObject, actions?: Partial<EventActions>): Promise<void> {
    return this.#graph.context.invocation.recordToolCall({
      invocationId: this.context.invocationId,
      callId: this.#graph.ledgerId(call),
      name: this.node.name,
      status: response ? 'finished' : 'started',
      ...(response ? { response } : {}),
      ...(actions ? { actions } : {}),
    });
  }

  #recordOutcome({ output, updates = [], route, actions }: NodeOutcome): Promise<void> {
    const response: JsonObject = { updates: updates.map(([name, value]) => [name, value]) };
    if (output !== undefined) response['output'] = output;
    if (route !== undefined) response['route'] = route;
    return this.record(this.id, response, actions);
  }

  /** What the ledger has of a run that finished. */
  outcomeOf({ response = {}, actions }: ToolLedgerEntry): NodeOutcome {
    const { route } = response;
    // It was written here.
    const updates = (response['updates'] ?? []) as [string, JsonValue][];
    return {
      isWaiting: false,
      output: toOutput(this.node.name, response['output']),
      updates,
      route: typeof route === 'string' ? route : undefined,
      actions,
    };
  }
}

/** @throws NodeError for a value that the schema does not let through */
export async function fitting(
  nodeName: string,
  what: string,
  schema: ValueSchema | undefined,
  value: JsonValue | undefined,
): Promise<JsonValue | undefined> {
  if (!schema) return value;
  const checked = await schema.check(value);
  if ('issues' in checked) throw new NodeError(nodeName, `its ${what} does not fit: ${checked.issues.join('; ')}`);
  return toOutput(nodeName, checked.value);
}

function toNodeError(nodeName: string, thrown: unknown): EventloomError {
  if (EventloomError.isInstance(thrown)) return thrown;
  const error = toError(thrown);
  return new NodeError(nodeName, error.message || error.name, { cause: thrown });
}
