import { SizeLimitError, type StateWrite } from '@eventloom/core';
import { weigh } from '@eventloom/core/internal';
import type { StateEntry } from './session-driver.ts';

/**
 * Maximum size of the state of an app, of a user and of a session, in bytes. Each run reads all three as a whole, and a
 * user has many runs at once; an object of Cloudflare has 128 MB of memory. The session's own state has room for one
 * value of 16 MiB and a little more.
 */
export const MAX_STATE_BYTES: Readonly<Record<StateWrite['scope'], number>> = {
  app: 4_000_000,
  user: 4_000_000,
  session: 17_000_000,
};

/** Number of bytes that a key counts in addition to its name and its value. */
export const KEY_BYTES = 100;

/** @throws SizeLimitError if a write would make a state too large, and larger than before. Sizes are in bytes */
export function checkScopeSize(scope: StateWrite['scope'], before: number, after: number): void {
  if (after > MAX_STATE_BYTES[scope] && after > before) throw stateTooLarge(scope, after);
}

/** Returns the error for a write after which a state would take `bytes`. */
export function stateTooLarge(scope: string, bytes: number): SizeLimitError {
  const most = MAX_STATE_BYTES[scope as StateWrite['scope']];
  return new SizeLimitError(
    `the state of the ${scope} takes ${bytes} bytes in all, and at most ${most} can be stored; save large values as artifacts`,
  );
}

/**
 * Checks the state of a session after a write, for drivers that have it in memory. Counts characters, not bytes,
 * without quotes and escapes.
 *
 * @param before the merged state before the write
 * @param after the merged state after it
 * @throws SizeLimitError if the state of the app, the user or the session is too large and larger than before
 */
export function checkStateSize(before: readonly StateEntry[], after: readonly StateEntry[]): void {
  for (const scope of ['app', 'user', 'session'] as const)
    checkScopeSize(scope, sizeOfScope(before, scope), sizeOfScope(after, scope));
}

function sizeOfScope(entries: readonly StateEntry[], scope: StateEntry['scope']): number {
  let size = 0;
  for (const entry of entries) if (entry.scope === scope) size += entry.key.length + KEY_BYTES + weigh(entry.value);
  return size;
}
