import type { Event, ToolLedgerEntry } from '@eventloom/core';
import type { ListedSession, StateEntry, StoredEventWindow, StoredSession } from '../session-driver.ts';
import { readOutcome } from '../tool-outcome.ts';
import type { RunClaimRow } from './lease-statements.ts';
import { CUT, type StoredRow } from './read-statements.ts';

/** Sorts the rows of a read by kind. */
export class StoredRows {
  readonly #appName: string;
  readonly #claims: StoredRow[] = [];
  readonly #sessions: StoredRow[] = [];
  readonly #app: StoredRow[] = [];
  readonly #users = new Map<string, StoredRow[]>();
  readonly #own = new Map<string, StoredRow[]>();
  readonly #initial: StoredRow[] = [];
  readonly #events: StoredRow[] = [];
  readonly #calls: StoredRow[] = [];
  readonly #actions: StoredRow[] = [];

  constructor(appName: string, rows: readonly unknown[]) {
    this.#appName = appName;
    for (const row of rows as readonly StoredRow[]) this.#listFor(row).push(row);
    for (const list of [this.#sessions, this.#events, this.#calls]) list.sort(comparePlaces);
  }

  /** The claim of a run. */
  get claim(): RunClaimRow | undefined {
    const [row] = this.#claims;
    return row && (JSON.parse(String(row.value)) as RunClaimRow);
  }

  /** Sessions in the order of a listing, without events. */
  get sessions(): ListedSession[] {
    return this.#sessions.map((row) => ({ ...this.#toSession(row, []), isCut: row.value === CUT }));
  }

  /** The only session, with its events. */
  get session(): StoredSession | undefined {
    const [row] = this.#sessions;
    return row && this.#toSession(row, this.#events.map(toEvent));
  }

  /** The events of the only session. */
  get window(): StoredEventWindow | undefined {
    const [row] = this.#sessions;
    return row && { incarnation: String(row.owner), lastSeq: Number(row.last_seq), events: this.#events.map(toEvent) };
  }

  get initialState(): StateEntry[] {
    return this.#initial.map((row) => toEntry('session', row));
  }

  get toolCalls(): ToolLedgerEntry[] {
    const actions = new Map(this.#actions.map((row) => [`${row.owner}\0${row.key}`, row.value]));
    return this.#calls.map((row) => toToolCall(row, actions.get(`${row.owner}\0${row.key}`)));
  }

  #listFor(row: StoredRow): StoredRow[] {
    switch (row.kind) {
      case 'claim':
        return this.#claims;
      case 'session':
        return this.#sessions;
      case 'app':
        return this.#app;
      case 'user':
        return listOf(this.#users, String(row.name));
      case 'own':
        return listOf(this.#own, String(row.owner));
      case 'initial':
        return this.#initial;
      case 'event':
        return this.#events;
      case 'started':
      case 'finished':
        return this.#calls;
      case 'actions':
        return this.#actions;
    }
  }

  /** Converts a row to a session. Values are parsed for each session, so that its reader may modify them. */
  #toSession(row: StoredRow, events: Event[]): StoredSession {
    const userId = String(row.name);
    const incarnation = String(row.owner);
    return {
      appName: this.#appName,
      userId,
      sessionId: String(row.key),
      incarnation,
      lastSeq: Number(row.last_seq),
      updatedAtMs: Number(row.updated_at),
      state: [
        ...this.#app.map((entry) => toEntry('app', entry)),
        ...(this.#users.get(userId) ?? []).map((entry) => toEntry('user', entry)),
        ...(this.#own.get(incarnation) ?? []).map((entry) => toEntry('session', entry)),
      ],
      events,
    };
  }
}

function listOf(lists: Map<string, StoredRow[]>, name: string): StoredRow[] {
  let list = lists.get(name);
  if (!list) lists.set(name, (list = []));
  return list;
}

function comparePlaces(one: StoredRow, other: StoredRow): number {
  return Number(one.place) - Number(other.place);
}

function toEntry(scope: StateEntry['scope'], { key, value }: StoredRow): StateEntry {
  return { scope, key: String(key), value: JSON.parse(String(value)) as unknown };
}

function toEvent({ value }: StoredRow): Event {
  return readStoredEvent(String(value));
}

function toToolCall({ kind, owner, name, key, value }: StoredRow, actions: string | null | undefined): ToolLedgerEntry {
  return {
    invocationId: String(owner),
    entryId: String(key),
    name: String(name),
    status: kind === 'finished' ? 'finished' : 'started',
    ...(value === null ? {} : readOutcome(JSON.parse(value))),
    ...(actions ? { actions: JSON.parse(actions) as ToolLedgerEntry['actions'] & {} } : {}),
  };
}

/** Parses the stored text of an event. */
export function readStoredEvent(json: string): Event {
  return JSON.parse(json) as Event;
}
