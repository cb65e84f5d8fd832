import type { Event, SessionKey, StateWrite, ToolLedgerEntry } from '@eventloom/core';
import {
  checkStateSize,
  type SessionBackground,
  type SessionHold,
  type StateEntry,
  type StoredRun,
  type StoredSession,
  type WebhookHold,
} from '@eventloom/sessions';

/** An app as JSON. Its parts are lists instead of objects, because names like `__proto__` are data. */
export interface AppDocument {
  /** The number of the last session or lease. It never decreases, so a session that is created again gets a new number. */
  count: number;
  /** `owner` is empty for app keys; otherwise it is a user's id or a session's incarnation. */
  state: (StateEntry & { readonly owner: string })[];
  sessions: SessionDocument[];
}

export interface SessionDocument extends SessionKey, SessionHold, WebhookHold {
  readonly incarnation: string;
  readonly initialState: readonly StateEntry[];
  readonly events: Event[];
  readonly toolCalls: ToolLedgerEntry[];
  readonly runs: StoredRun[];
  updatedAtMs: number;
}

type StoredDocument = StoredSession & SessionBackground;

/** Returns a session in the form that drivers return, with some of its events. */
export function toStored(app: AppDocument, session: SessionDocument, events: Event[] = []): StoredDocument {
  return { ...session, lastSeq: session.events.length, state: stateOf(app, session), events };
}

/** Returns the merged state of a session. */
export function stateOf(app: AppDocument, session: SessionDocument): StateEntry[] {
  return app.state.filter(({ scope, owner }) => owner === ownerOf(session, scope));
}

/** @throws SizeLimitError for a state that is too large; the document is not written then */
export function writeState(app: AppDocument, session: SessionDocument, writes: readonly StateWrite[]): void {
  const before = stateOf(app, session);
  for (const { scope, key, value } of writes) {
    const owner = ownerOf(session, scope);
    app.state = app.state.filter((entry) => entry.scope !== scope || entry.key !== key || entry.owner !== owner);
    if (value !== undefined) app.state.push({ scope, key, value, owner });
  }
  checkStateSize(before, stateOf(app, session));
}

function ownerOf({ userId, incarnation }: SessionDocument, scope: StateWrite['scope']): string {
  return scope === 'app' ? '' : scope === 'user' ? userId : incarnation;
}
