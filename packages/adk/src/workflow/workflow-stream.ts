import {
  AgentError,
  contentText,
  type Event,
  type EventParams,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { type AbortGuard, EventQueue } from '@eventloom/core/internal';
import { type AdkNodeContext, type NodePlace, withNode } from './node-context.ts';
import { createNodeErrorEvent } from './node-error-event.ts';

/** The place of the node around one that failed. */
type FailedIn = Pick<NodePlace, 'nodePath' | 'branch' | 'isolationScope' | 'guard'>;

/** The stream of the events of all nodes of a workflow. Each event waits until the reader of the run has committed the one before. */
export class WorkflowStream {
  readonly #context: InvocationContext;
  readonly #queue = new EventQueue();
  /** Numbers of the attempts after which errors were thrown. */
  readonly #attempts = new WeakMap<object, number>();
  /** Errors that an event of the stream already reports. */
  readonly #reported = new WeakSet<object>();
  /** The last event with text or media that a node yielded; undefined before the first. */
  lastSaid: Event | undefined;

  constructor(context: InvocationContext) {
    this.#context = context;
  }

  /** Does the work of the nodes, and yields the events that they post. Stops the work when the reader leaves. */
  async *during(work: (guard: AbortGuard) => Promise<void>): AsyncGenerator<Event, void, void> {
    const guard = this.#context.abortGuard.fork();
    const queue = this.#queue;
    const working = work(guard).finally(() => queue.end());
    // Awaited below, unless the reader has left.
    working.catch(() => undefined);
    let isRead = false;
    try {
      for (let event = await queue.next(); event; event = await queue.next()) yield event;
      isRead = true;
      await working;
    } finally {
      queue.close();
      if (!isRead) {
        guard.abort(new RunAbortedError('the workflow was stopped'));
        await working.catch(() => undefined);
      }
      this.#context.abortGuard.drop(guard);
    }
  }

  /** Adds an event of `context.emit`. Resolves to false if the stream has no reader any more. */
  emit(event: Event): Promise<boolean> {
    const isWhole = event.executionId !== undefined || this.#context.progress.isCommitted(event);
    if (isWhole) return this.#queue.post(event);
    const { id: _, timestamp: __, ...said } = event;
    return this.#queue.post(this.#context.createEvent(said satisfies EventParams));
  }

  /** Adds an event as it is, and resolves once it is committed. @throws RunAbortedError if the stream has no reader any more */
  async post(event: Event): Promise<void> {
    this.noteSaid(event);
    if (await this.#queue.post(event)) return;
    throw new RunAbortedError('the reader of the workflow stopped reading');
  }

  /** Notes an event that agents of later nodes read. */
  noteSaid(event: Event): void {
    if (event.partial !== true && saysSomething(event)) this.lastSaid = event;
  }

  /** Adds an event of the node at a place. */
  async postOf(place: NodePlace, said: EventParams): Promise<void> {
    const { branch, isolationScope } = place;
    // An agent made the whole event.
    if (said.executionId !== undefined) return this.post(withNode(place, said as Event));
    const { id: _, timestamp: __, ...params } = said;
    const event = this.#context.createEvent({
      ...params,
      ...(isolationScope === undefined || params.isolationScope !== undefined ? {} : { isolationScope }),
    });
    const own = params.branch ?? branch;
    // The context of a workflow that is called as a tool has a branch of its own, and the branch of the node is below it.
    return this.post(withNode(place, own === undefined ? event : { ...event, branch: own }));
  }

  /** Posts the changes of state of a node that no event holds yet. */
  async postActions(context: AdkNodeContext, author: string): Promise<void> {
    const actions = context.takeActions();
    if (actions) await this.postOf(context.place, { author, actions });
  }

  /** Notes the number of the attempt after which an error was thrown. */
  noteAttempts(error: unknown, attempt: number): void {
    if (typeof error === 'object' && error !== null) this.#attempts.set(error, attempt);
  }

  /** Notes an error that an event of its node reports. */
  noteReported(error: Error): void {
    this.#reported.add(error);
  }

  /** Adds the event that reports the failure of a node, once for each error. */
  async reportFailure(
    { nodePath, branch, isolationScope, guard }: FailedIn,
    name: string,
    thrown: unknown,
  ): Promise<void> {
    if (guard.signal.aborted) return;
    let attemptCount: number | undefined;
    if (typeof thrown === 'object' && thrown !== null) {
      attemptCount = this.#attempts.get(thrown);
      this.#context.progress.markReported(thrown);
      if (this.#reported.has(thrown)) return;
      this.#reported.add(thrown);
    }
    const path = nodePath ? `${nodePath}.${name}` : name;
    // The text of an error of the program may hold secrets.
    const errorMessage = AgentError.around(thrown, `node "${name}"`).publicMessage;
    const nodeInfo = { path };
    const failure = createNodeErrorEvent({ error: thrown, attemptCount, errorMessage, author: name, nodeInfo });
    const { id: _, timestamp: __, ...said } = failure;
    await this.post(
      this.#context.createEvent({
        ...said,
        ...(branch ? { branch } : {}),
        ...(isolationScope ? { isolationScope } : {}),
      }),
    );
  }
}

/** Returns true for an event with text or media. */
function saysSomething({ content }: Event): boolean {
  return (
    contentText(content) !== '' || content?.parts?.some(({ inlineData, fileData }) => inlineData ?? fileData) === true
  );
}
