import { copyJson } from '../content/copy-json.ts';
import { setOwn } from '../content/json.ts';
import { InvalidRequestError, StateValueError } from '../errors.ts';
import type { EventActions } from '../event/event-actions.ts';
import { APP_PREFIX, checkStateKey, TEMP_PREFIX, USER_PREFIX } from './state-scope.ts';
import type { Session } from '../session/session.ts';

/** A class whose objects refuse `state.key = value`, which would otherwise set a property that nothing reads. */
const NoAssignment = /* @__PURE__ */ (() => {
  class Base {}
  const traps: ProxyHandler<object> = {
    set: (_target, key) => {
      const name = String(key);
      throw new InvalidRequestError(
        `state.${name} = … does not write state; write state.set(${JSON.stringify(name)}, value)`,
      );
    },
  };
  Object.setPrototypeOf(Base.prototype, new Proxy(Object.prototype, traps));
  return Base;
})();
/** The name of the method that Node's `console.log` calls; other runtimes ignore it. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Read access to state. Returned values are copies. */
export class StateReader extends NoAssignment {
  readonly #view: Readonly<Record<string, unknown>>;
  readonly #delta: Readonly<Record<string, unknown>>;

  /**
   * @param view the merged state of the session as this invocation sees it
   * @param delta the `stateDelta` of the next event, which is read first: programs may write it themselves. Default: none
   */
  constructor(view: Readonly<Record<string, unknown>>, delta: Readonly<Record<string, unknown>> = view) {
    super();
    this.#view = view;
    this.#delta = delta;
  }

  /** Returns a copy of the value of a key, or `defaultValue` if the key is absent. A stored null is returned as null. */
  get<T = unknown>(key: string): T | undefined;
  get<T>(key: string, defaultValue: T): T;
  get(key: string, defaultValue?: unknown): unknown {
    const source = Object.hasOwn(this.#delta, key) ? this.#delta : this.#view;
    if (!Object.hasOwn(source, key)) return defaultValue;
    const value = source[key];
    return typeof value === 'object' && value !== null ? structuredClone(value) : value;
  }

  /** True if the key is present, even if its value is null. */
  has(key: string): boolean {
    return Object.hasOwn(this.#view, key) || Object.hasOwn(this.#delta, key);
  }

  /** Returns a copy of the whole state, keys with their scope prefixes. */
  toRecord(): Record<string, unknown> {
    return structuredClone({ ...this.#view, ...this.#delta });
  }

  /** Returns the same as `toRecord`, for `JSON.stringify`. */
  toJSON(): Record<string, unknown> {
    return this.toRecord();
  }

  /** Returns the values, so that `console.log` shows them on Node. @internal */
  [INSPECT](): Record<string, unknown> {
    return this.toRecord();
  }
}

/**
 * The state that tools and callbacks read and write, as `context.state`: JSON values under keys. The prefix of a key says who shares
 * the value and how long it is kept:
 *
 * - no prefix (`lastCity`): this session, as long as the session exists
 * - `user:` (`user:language`): all sessions of this user in this app
 * - `app:` (`app:visits`): all users of the app
 * - `temp:` (`temp:token`): this run only; it is never stored
 *
 * A write is visible at once to all tools, callbacks and agents of the same run. It is stored together with the next event of the
 * agent; if the run fails before that event, the write is lost. `get` returns a copy: to change an object, `set` it again.
 *
 * @example
 * const countVisits: SingleAgentCallback = ({ state }) => {
 *   state.set('user:visits', state.get('user:visits', 0) + 1);
 * };
 */
export class State extends StateReader {
  /** Prefix of keys that all users of the app share: `app:`. */
  static readonly APP_PREFIX = APP_PREFIX;
  /** Prefix of keys that all sessions of a user share: `user:`. */
  static readonly USER_PREFIX = USER_PREFIX;
  /** Prefix of keys that last for one run: `temp:`. */
  static readonly TEMP_PREFIX = TEMP_PREFIX;
  readonly #view: Record<string, unknown>;
  readonly #actions: EventActions;

  /**
   * @param view the merged state of the session as this invocation sees it; changed by each write
   * @param actions the actions of the next event; writes are recorded in its `stateDelta` and `removedState`
   */
  constructor(view: Record<string, unknown>, actions: EventActions) {
    super(view, actions.stateDelta);
    this.#view = view;
    this.#actions = actions;
  }

  /**
   * Sets a key to a JSON copy of the value: a Date becomes a text, and an instance of a class an object with its
   * properties. For undefined it removes the key.
   * @throws StateKeyError for a key that cannot be stored
   * @throws StateValueError for a value that JSON would lose, such as a function or a Map
   */
  set(key: string, value: unknown): void {
    if (value === undefined) return this.remove(key);
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

  /** True if a change of state is not in an event yet. */
  hasDelta(): boolean {
    const { stateDelta, removedState = [] } = this.#actions;
    return removedState.length > 0 || Object.keys(stateDelta).length > 0;
  }

  /** Sets all keys of a record as `set` does, or none of them if one is invalid. @throws StateKeyError @throws StateValueError */
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

/**
 * Checks the keys of a state delta and copies its values. Keys with the value undefined are left out, as in JSON.
 * @throws StateKeyError
 * @throws StateValueError
 */
export function checkStateDelta(delta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const checked: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(delta)) {
    checkStateKey(key);
    if (value !== undefined) setOwn(checked, key, toStateValue(key, value));
  }
  return checked;
}

/** The view of each session in which its state cannot be written. */
const VIEWS: WeakMap<Session, Session> = new WeakMap();

const READ_ONLY: ProxyHandler<object> = {
  set: refuseWrite,
  deleteProperty: refuseWrite,
  defineProperty: refuseWrite,
};

function refuseWrite(_state: object, key: string | symbol): never {
  const name = JSON.stringify(String(key));
  throw new InvalidRequestError(
    `session.state is read-only, key ${name}: in a tool or a callback write context.state.set(${name}, value); in an agent yield context.createEvent({ actions: { stateDelta: { ${name}: value } } })`,
  );
}

/** A view of a session that shows all its changes, and whose state throws when it is written. */
export function withReadOnlyState(session: Session): Session {
  const known = VIEWS.get(session);
  if (known) return known;
  const state = new Proxy(session.state, READ_ONLY);
  const view = new Proxy(session, {
    get: (target, key) => (key === 'state' ? state : Reflect.get(target, key)),
  });
  VIEWS.set(session, view);
  VIEWS.set(view, view);
  return view;
}
