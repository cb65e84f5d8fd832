import type { BaseSessionService, Event, RunConfig, Session, SessionLease } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import { InstantModel } from '../models.ts';
import { APP, createRunner, turn } from '../setup.ts';
import { answerEvent, compactionEvent, sessionRecords } from './sample-session.ts';
import type { SessionTask, TurnStart } from './session-task.ts';

/** Number of events of the session that follows an opened one. */
const NEIGHBOUR_EVENTS = 10;

/** A session to which events are appended. */
interface OpenSession {
  readonly session: Session;
  readonly lease: SessionLease | undefined;
}

/** The services that tasks use. */
export interface TaskRunnerOptions {
  readonly sessions: BaseSessionService;
  /** Stores an event with minimal work: a row with its JSON, with one prepared statement. */
  readonly insert: (event: Event) => void | Promise<unknown>;
  /** Waits until all writes are durable, if calls return earlier. Called after every operation that writes. */
  readonly settle?: () => Promise<unknown>;
}

const MODEL = new InstantModel();
const WINDOW: RunConfig = { getSessionConfig: { numRecentEvents: 10 } };

/** Executes tasks. Uses only web standards, because it runs in workerd for Durable Objects. */
export class TaskRunner {
  readonly #sessions: BaseSessionService;
  readonly #insert: TaskRunnerOptions['insert'];
  readonly #settle: TaskRunnerOptions['settle'];
  readonly #warm: Runner;
  readonly #open = new Map<string, OpenSession>();
  readonly #cursors = new Map<string, string | undefined>();

  constructor({ sessions, insert, settle }: TaskRunnerOptions) {
    this.#sessions = sessions;
    this.#insert = insert;
    this.#settle = settle;
    this.#warm = createRunner(MODEL, sessions);
  }

  async perform(task: SessionTask): Promise<void> {
    switch (task.does) {
      case 'nothing':
        return;
      case 'open':
        return this.#openSession(task.sessionId, task.events, task.hasLease);
      case 'append':
        await Promise.all(task.sessionIds.map((id) => this.#append(this.#opened(id), task.count)));
        return;
      case 'insert':
        await Promise.all(Array.from({ length: task.writers }, () => this.#insertAll(task.count)));
        return;
      case 'compact': {
        const { session } = this.#opened(task.sessionId);
        await this.#sessions.appendEvent({ session, event: compactionEvent(session.lastSeq + 1) });
        return;
      }
      case 'read':
        return this.#repeat(task.count, () =>
          this.#sessions.getSession({ ...APP, sessionId: task.sessionId, config: { numRecentEvents: 10 } }),
        );
      case 'page':
        return this.#readPages(task.sessionId, task.count);
      case 'turn':
        return this.#repeat(task.count, () => this.#settled(this.#turn(task.sessionId, task.start)));
    }
  }

  async #openSession(sessionId: string, events: number, hasLease: boolean): Promise<void> {
    const key = { ...APP, sessionId };
    const earlier = this.#open.get(sessionId);
    if (earlier?.lease) await this.#sessions.releaseLease(earlier.lease);
    if (!earlier) {
      await this.#sessions.importSession({ records: sessionRecords(sessionId, events) });
      // A tree is cheapest to extend at its end, which only the newest session has.
      await this.#sessions.importSession({ records: sessionRecords(`${sessionId}, next`, NEIGHBOUR_EVENTS) });
    }
    const session = await this.#sessions.getSession({ ...key, config: { numRecentEvents: 0 } });
    if (!session) throw new Error(`the session ${sessionId} is gone`);
    const lease = hasLease ? await this.#sessions.acquireLease(key) : undefined;
    this.#open.set(sessionId, { session, lease });
  }

  #opened(sessionId: string): OpenSession {
    const open = this.#open.get(sessionId);
    if (!open) throw new Error(`the session ${sessionId} is not open`);
    return open;
  }

  #append({ session, lease }: OpenSession, count: number): Promise<void> {
    return this.#repeat(count, () => {
      session.events.length = 0;
      return this.#settled(this.#sessions.appendEvent({ session, event: answerEvent(), lease }));
    });
  }

  async #insertAll(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const pending = this.#insert(answerEvent());
      if (pending) await pending;
      if (this.#settle) await this.#settle();
    }
  }

  async #readPages(sessionId: string, count: number): Promise<void> {
    const key = { ...APP, sessionId };
    if (!this.#cursors.has(sessionId)) this.#cursors.set(sessionId, await this.#findMiddle(sessionId));
    const cursor = this.#cursors.get(sessionId);
    return this.#repeat(count, async () => {
      const { events } = await this.#sessions.listEvents({ ...key, limit: 4, cursor });
      if (events.length !== 4) throw new Error(`the page has ${events.length} events`);
    });
  }

  /** Returns a cursor after the first half of a session. */
  async #findMiddle(sessionId: string): Promise<string | undefined> {
    const key = { ...APP, sessionId };
    const session = await this.#sessions.getSession({ ...key, config: { numRecentEvents: 0 } });
    let cursor: string | undefined;
    for (let left = Math.floor((session?.lastSeq ?? 0) / 2); left > 0; left -= 1000) {
      const page = await this.#sessions.listEvents({ ...key, limit: Math.min(left, 1000), cursor });
      cursor = page.nextCursor;
    }
    return cursor;
  }

  #turn(sessionId: string, start: TurnStart): Promise<number> {
    if (start === 'warm') return turn(this.#warm, sessionId);
    const runner = createRunner(MODEL, this.#sessions);
    return turn(runner, sessionId, start === 'cold with a window' ? WINDOW : undefined);
  }

  #settled(written: unknown): unknown {
    const settle = this.#settle;
    return settle ? Promise.resolve(written).then(() => settle()) : written;
  }

  async #repeat(count: number, run: () => unknown): Promise<void> {
    for (let index = 0; index < count; index++) {
      const answer = run();
      if (answer instanceof Promise) await answer;
    }
  }
}
