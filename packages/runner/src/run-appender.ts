import {
  type Event,
  type InvocationContext,
  type MaybePromise,
  RunAbortedError,
  type RunOutcome,
} from '@eventloom/core';
import { afterCovered } from '@eventloom/core/internal';
import { ChildChanges } from './child-changes.ts';
import type { EventSink } from './event-committer.ts';
import { coveredUntil } from './session-loader.ts';
import type { SessionLock } from './session-lock.ts';

/**
 * Appends the events of one run to its session: those of its agents and of the runtime, and those of agents that run as tools, which store
 * theirs at any time.
 */
export class RunAppender implements EventSink {
  readonly context: InvocationContext;
  readonly lock: SessionLock;
  /** The end of the time range that compactions cover. No event is stored with an earlier timestamp, even if the clock is behind. */
  readonly #coveredUntil: number;
  /** True once an agent was run as a tool. Read-only for others. */
  hasSubInvocations = false;
  /** State changes of sub-invocations that no event of their caller repeats yet; undefined until there is a sub-invocation. */
  #childChanges: ChildChanges | undefined;
  /** Events of sub-invocations that are being stored. */
  #underWay: Set<Promise<Event>> | undefined;
  /** The contexts of sub-invocations that ended, and that of the run before its end; undefined before the first. */
  #closed: Set<InvocationContext> | undefined;
  /** The last work of `inRespondingTurn`. */
  #responding: Promise<void> | undefined;
  /** The last append of the run. */
  #newest: MaybePromise<Event> | undefined;

  constructor(context: InvocationContext, lock: SessionLock) {
    const { session, resumedLog } = context.invocation;
    this.context = context;
    this.lock = lock;
    this.#coveredUntil = coveredUntil(context.invocation);
    if (resumedLog) this.#childChanges = ChildChanges.inRun(context.invocationId, session.events);
  }

  /**
   * Stores a complete event.
   * @param enclosure the branch of the call that the event is in. Default: none, readers of the run see the event
   */
  append(given: Event, enclosure = ''): MaybePromise<Event> {
    const event = given.timestamp > this.#coveredUntil ? given : datedAfter(this.#coveredUntil, given);
    const changes = this.#childChanges;
    const { session } = this.context.invocation;
    // The append renews the lease. The event's timestamp is the earliest time of that renewal.
    this.lock.renewedMs = event.timestamp * 1000;
    this.#newest = changes
      ? this.#appendRepeating(event, changes, enclosure, this.#newest)
      : this.lock.append(session, event);
    return this.#newest;
  }

  /** Stores the last event of the run together with its end, and unlocks the session. */
  end(given: Event, outcome: RunOutcome): MaybePromise<Event> {
    const event = given.timestamp > this.#coveredUntil ? given : datedAfter(this.#coveredUntil, given);
    const ended = this.lock.end(this.context.invocation.session, outcome, event);
    return ended instanceof Promise ? ended.then((stored) => stored ?? event) : (ended ?? event);
  }

  /** Stores several complete events in one transaction. */
  async appendAll(events: readonly Event[]): Promise<void> {
    const appends = events.map((each) => {
      const event = datedAfter(this.#coveredUntil, each);
      return { event, ...this.#childChanges?.repeatIn(event) };
    });
    const { session } = this.context.invocation;
    for (const { actions } of await this.lock.appendAll({ session, appends })) this.#childChanges?.note('', actions);
  }

  /**
   * Appends an event, which repeats the changes of the calls that it responds to. Waits for the previous append, so that a change is
   * repeated only while it is the newest.
   */
  async #appendRepeating(
    given: Event,
    changes: ChildChanges,
    enclosure: string,
    before: MaybePromise<Event> | undefined,
  ): Promise<Event> {
    // The caller of that append handles its failure.
    await Promise.allSettled([before]);
    const { event, repeatedState } = changes.repeatIn(given) ?? { event: given };
    const stored = await this.lock.append(this.context.invocation.session, event, repeatedState);
    changes.note(enclosure, stored.actions);
    return stored;
  }

  /** Notes that an agent runs as a tool: it may store events from now on. */
  openSubInvocation(): void {
    this.hasSubInvocations = true;
    this.#childChanges ??= new ChildChanges();
  }

  /**
   * Stores an event of a sub-invocation.
   * @throws RunAbortedError after `closeWithin`, for this sub-invocation or for one around it
   */
  appendOfSubInvocation(event: Event, enclosure: string | undefined, context: InvocationContext): MaybePromise<Event> {
    for (let around: InvocationContext | undefined = context; this.#closed && around; around = around.parent)
      if (this.#closed.has(around))
        throw new RunAbortedError('the run, or an agent around this one, has ended, so no further event is stored');
    const appending = this.append(event, enclosure);
    if (appending instanceof Promise) {
      const underWay = (this.#underWay ??= new Set());
      underWay.add(appending);
      const isDone = (): void => void underWay.delete(appending);
      appending.then(isDone, isDone);
    }
    return appending;
  }

  /**
   * Stops storing events of a sub-invocation and of those within it, which may continue after an abort. Resolves when
   * pending appends have settled.
   * @param context the context of the sub-invocation. Default: that of the run, which closes all of them
   */
  async closeWithin(context: InvocationContext = this.context): Promise<void> {
    (this.#closed ??= new Set()).add(context);
    if (this.#underWay) await Promise.allSettled(this.#underWay);
  }

  /** Does work that responds to open calls after earlier such work, so that no call gets two responses. */
  inRespondingTurn(work: () => Promise<void>): Promise<void> {
    this.#responding = Promise.allSettled([this.#responding]).then(work);
    return this.#responding;
  }
}

/** Returns the event with a timestamp after the time that compactions cover. */
function datedAfter(endTimestamp: number, event: Event): Event {
  if (event.timestamp > endTimestamp) return event;
  return { ...event, timestamp: afterCovered(event.timestamp, endTimestamp) };
}
