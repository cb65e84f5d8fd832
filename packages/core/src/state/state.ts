import { copyJson } from '../content/copy-json.ts';
import { setOwn } from '../content/json.ts';
import { StateValueError } from '../errors.ts';
import type { EventActions } from '../event/event-actions.ts';
import { APP_PREFIX, checkStateKey, TEMP_PREFIX, USER_PREFIX } from './state-scope.ts';

/** Reads state, and cannot write it. What is got is a copy. */
export class StateReader {
  readonly #view: Readonly<Record<string, unknown>>;

  /** @param view the merged state of the session as this invocation sees it */
  constructor(view: Readonly<Record<string, unknown>>) {
    this.#view = view;
  }

  /** The value of a key, or `defaultValue` when it is not there. Null is a value. */
  get<T = unknown>(key: string): T | undefined;
  get<T>(key: string, defaultValue: T): T;
  get(key: string, defaultValue?: unknown): unknown {
    if (!Object.hasOwn(this.#view, key)) return defaultValue;
    const value = this.#view[key];
    return typeof value === 'object' && value !== null ? structuredClone(value) : value;
  }

  /** True when the key is there, also when its value is null. */
  has(key: string): boolean {
    return Object.hasOwn(this.#view, key);
  }

  /** A copy of everything that can be read, keys with their prefixes. */
  toRecord(): Record<string, unknown> {
    return structuredClone({ ...this.#view });
  }
}

/**
 * Reads and writes state on behalf of one event to come. A write shows at once to everything that runs in the same invocation
 * (a dirty read) and is stored when the event that carries it is committed. Keys are written with their scope prefix.
 *
 * Values are JSON and are copied on the way in and out: changing an object that was set, or that was got, changes nothing until
 * it is set again. (ADK runtime documents, "state commit timing" and "dirty reads".)
 */
export class State extends StateReader {
  static readonly APP_PREFIX = APP_PREFIX;
  static readonly USER_PREFIX = USER_PREFIX;
  static readonly TEMP_PREFIX = TEMP_PREFIX;
  readonly #view: Record<string, unknown>;
  readonly #actions: EventActions;

  /**
   * @param view the merged state of the session as this invocation sees it; writes show in it at once
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
   * @throws StateValueError for a value that is not JSON, undefined included (`remove` removes)
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

  /** Removes a key. Removing one that is not there is no error. */
  remove(key: string): void {
    checkStateKey(key);
    delete this.#view[key];
    delete this.#actions.stateDelta[key];
    if (!this.#actions.removedState?.includes(key)) (this.#actions.removedState ??= []).push(key);
  }

  /** Sets every key of a record, or none of them when one is at fault. */
  update(delta: Readonly<Record<string, unknown>>): void {
    checkStateDelta(delta);
    for (const [key, value] of Object.entries(delta)) this.set(key, value);
  }
}

/** The JSON copy of a state value. @throws StateValueError */
function toStateValue(key: string, value: unknown): unknown {
  const copied = copyJson(value);
  if ('value' in copied) return copied.value;
  const { path, reason } = copied.fault;
  throw new StateValueError(
    `state key ${JSON.stringify(key)}: the value${path === '' ? '' : ` at ${path}`} ${reason}; state holds JSON`,
  );
}

/** A delta with its keys checked and its values copied. @throws StateKeyError @throws StateValueError */
export function checkStateDelta(delta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const checked: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(delta)) {
    checkStateKey(key);
    setOwn(checked, key, toStateValue(key, value));
  }
  return checked;
}
