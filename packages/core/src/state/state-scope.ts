import { describeKind, setOwn } from '../content/json.ts';
import { StateKeyError } from '../errors.ts';
import { nameFault } from '../session/check-name.ts';

/** Prefix of state keys that all users of an app share. */
export const APP_PREFIX = 'app:';
/** Prefix of state keys that all sessions of a user share. */
export const USER_PREFIX = 'user:';
/** Prefix of state keys that exist only during the invocation and are never stored. */
export const TEMP_PREFIX = 'temp:';

/** The scope of a state key. */
export type StateScope = 'app' | 'user' | 'session' | 'temp';

const MAX_KEY_BYTES = 256;

/** Returns the scope of a key by its prefix; `session` without a prefix. */
export function stateScopeOf(key: string): StateScope {
  if (key.startsWith(APP_PREFIX)) return 'app';
  if (key.startsWith(USER_PREFIX)) return 'user';
  if (key.startsWith(TEMP_PREFIX)) return 'temp';
  return 'session';
}

/**
 * Checks a state key, prefix included.
 * @throws StateKeyError for a key that is empty or only a prefix, is longer than 256 bytes of UTF-8, contains a NUL
 * character, or is not well-formed Unicode
 */
export function checkStateKey(key: string): void {
  if (typeof key !== 'string')
    throw new StateKeyError(
      `state key: expected a string, got ${describeKind(key)}; write state.set('city', value), or state.update({ city: value })`,
    );
  const scope = stateScopeOf(key);
  const isPrefix = scope !== 'session' && key.length === scope.length + 1;
  const fault = isPrefix ? 'is empty' : nameFault(key, MAX_KEY_BYTES);
  if (fault !== undefined)
    throw new StateKeyError(`state key ${JSON.stringify(key.slice(0, MAX_KEY_BYTES))}: ${fault}`);
}

/** A write to state in one scope, key without prefix: a value to set, or undefined to remove. */
export interface StateWrite {
  readonly scope: Exclude<StateScope, 'temp'>;
  readonly key: string;
  readonly value: unknown;
}

/** Returns the writes of a delta by scope, in the given order and with removals last. `temp:` keys are left out. */
export function toStateWrites(
  stateDelta: Readonly<Record<string, unknown>>,
  removedState: readonly string[] = [],
): StateWrite[] {
  const writes: StateWrite[] = [];
  for (const key in stateDelta) addWrite(writes, key, stateDelta[key]);
  for (const key of removedState) addWrite(writes, key, undefined);
  return writes;
}

function addWrite(writes: StateWrite[], key: string, value: unknown): void {
  const scope = stateScopeOf(key);
  if (scope === 'temp') return;
  writes.push({ scope, key: scope === 'session' ? key : key.slice(scope.length + 1), value });
}

/** Returns a stored key with the prefix of its scope, as users write it. */
export function prefixedKey(scope: StateScope, key: string): string {
  return scope === 'session' ? key : `${scope}:${key}`;
}

/** Applies a delta to a merged view of the state: first sets keys, then removes keys. */
export function applyStateDelta(
  state: Record<string, unknown>,
  stateDelta: Readonly<Record<string, unknown>>,
  removedState?: readonly string[],
): void {
  for (const key in stateDelta) setOwn(state, key, stateDelta[key]);
  if (removedState) for (const key of removedState) delete state[key];
}
