import { copyJson } from '../content/copy-json.ts';
import { setOwn } from '../content/json.ts';
import { StateValueError } from '../errors.ts';
import type { EventActions } from '../event/event-actions.ts';
import { APP_PREFIX, checkStateKey, TEMP_PREFIX, USER_PREFIX } from './state-scope.ts';

/** Read access to state. Returned values are copies. */
export class StateReader {
  readonly #view: Readonly<Record<string, unknown>>;

  /** @param view the merged state of the session as this invocation sees it */
  constructor(view: Readonly<Record<string, unknown>>) {
    this.#view = view;
  }

  /** Returns a copy of the value of a key, or `defaultValue` if the key is absent. A stored null is returned as null. */
  get<T = unknown>(key: string): T | undefined;
  get<T>(key: string, defaultValue: T): T;
  get(key: string, defaultValue?: unknown): unknown {
    if (!Object.hasOwn(this.#view, key)) return defaultValue;
    const value = this.#view[key];
    return typeof value === 'object' && value !== null ? structuredClone(value) : value;
  }

  /** True if the key is present, even if its value is null. */
  has(key: string): boolean {
    return Object.hasOwn(this.#view, key);
  }

  /** Returns a copy of the whole state, keys with their scope prefixes. */
  toRecord(): Record<string, unknown> {
    return structuredClone({ ...this.#view });
  }
}

/**
 * Reads and writes state. A write is visible at once to everything that runs in the same invocation (a dirty read), and is
 * stored when the next event of the writer is committed. The prefix of a key is its scope: `app:` for all users of the app,
 * `user:` for all sessions of the user, `temp:` for this invocation only (never stored), none for the session.
 *
 * Values are JSON, and are copied by `set` and `get`: changing such an object changes no state until it is set again. (ADK
 * runtime documents, "state commit timing" and "dirty reads".)
 *
 * @example
 * const visits = context.state.get('user:visits', 0);
 * context.state.set('user:visits', visits + 1);
 */
export class State extends StateReader {
  static readonly APP_PREFIX = APP_PREFIX;
  static readonly USER_PREFIX = USER_PREFIX;
  static readonly TEMP_PREFIX = TEMP_PREFIX;
  readonly #view: Record<string, unknown>;
  readonly #actions: EventActions;

  /**
   * @param view the merged state of the session as this invocation sees it; changed by each write
   * @param actions the actions of the next event; writes are recorded in its `stateDelta` and `removedState`
   */
  constructor(view: Record<string, unknown>, actions: EventActions) {
    super(view);
    this.#view = view;
    this.#actions = actions;
  }

  /**
   * Sets a key to a JSON value.
   * @throws StateKeyError for a key that cannot be stored
   * @throws StateValueError for a value that is not JSON; undefined is not JSON, use `remove`
   */
  set(key: string, value: unknown): void {
    checkStateKey(key);
    const copied = toStateValue(key, value);
    setOwn(this.#view, key, copied);
    setOwn(this.#actions.stateDelta, key, copied);
    const removed = this.#actions.removedState?.filter((other) => other !== key);
    if (removed?.length) this.#actions.removedState = removed;
    else delete this.#actions.removedState;
  }

  /** Removes a key. A no-op if the key is absent. @throws StateKeyError for a key that cannot be stored */
  remove(key: string): void {
    checkStateKey(key);
    delete this.#view[key];
    delete this.#actions.stateDelta[key];
    if (!this.#actions.removedState?.includes(key)) (this.#actions.removedState ??= []).push(key);
  }

  /** Sets all keys of a record, or none of them if one is invalid. @throws StateKeyError @throws StateValueError */
  update(delta: Readonly<Record<string, unknown>>): void {
    checkStateDelta(delta);
    for (const [key, value] of Object.entries(delta)) this.set(key, value);
  }
}

/** Returns a JSON copy of a state value. @throws StateValueError */
function toStateValue(key: string, value: unknown): unknown {
  const copied = copyJson(value);
  if ('value' in copied) return copied.value;
  const { path, reason } = copied.fault;
  throw new StateValueError(
    `state key ${JSON.stringify(key)}: the value${path === '' ? '' : ` at ${path}`} ${reason}; state holds JSON`,
  );
}

/** Checks the keys of a state delta and copies its values. @throws StateKeyError @throws StateValueError */
export function checkStateDelta(delta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const checked: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(delta)) {
    checkStateKey(key);
    setOwn(checked, key, toStateValue(key, value));
  }
  return checked;
}
