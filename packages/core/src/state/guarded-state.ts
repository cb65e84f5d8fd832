import { ConfigurationError } from '../errors.ts';
import type { Session } from '../session/session.ts';

type StateRecord = Record<string, unknown>;

/** The views behind the guarded ones. */
const VIEWS = new WeakMap<object, StateRecord>();

/**
 * Returns the view of a session's state for agents, tools and callbacks. A write to it throws ConfigurationError, because it would be in no
 * event and so be lost. Reads show the view behind it, which the runtime changes.
 */
export function guardState(view: Readonly<StateRecord>): Readonly<StateRecord> {
  if (VIEWS.has(view)) return view;
  const guarded = new Proxy(view as StateRecord, GUARD);
  VIEWS.set(guarded, view as StateRecord);
  return guarded;
}

/** Returns the view behind a guarded one, to write to; an unguarded view is returned unchanged. */
export function unguardState(state: Readonly<StateRecord>): StateRecord {
  return VIEWS.get(state) ?? (state as StateRecord);
}

/** Guards the state of a session object that a run works on. */
export function guardSession(session: { state: Session['state'] }): void {
  session.state = guardState(session.state);
}

const GUARD: ProxyHandler<StateRecord> = {
  set: (_view, key) => refuse(key, 'set', ', value'),
  defineProperty: (_view, key) => refuse(key, 'set', ', value'),
  deleteProperty: (_view, key) => refuse(key, 'remove', ''),
};

function refuse(key: string | symbol, method: string, more: string): never {
  const name = JSON.stringify(String(key));
  throw new ConfigurationError(
    `session.state[${name}]: session.state can only be read; write context.state.${method}(${name}${more})`,
  );
}
