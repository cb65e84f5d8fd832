import { EventloomError, StorageError } from '../errors.ts';

/** Errors of JavaScript itself: programming errors, not failures of the storage. */
const PROGRAM_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError];
/**
 * SQLite's result codes of temporary failures: busy, locked, no memory, interrupted, I/O error, disk full, cannot open,
 * locking protocol.
 */
const PASSING: readonly unknown[] = [5, 6, 7, 9, 10, 13, 14, 15];

/**
 * Wraps an error that a driver threw in a StorageError. Returns Eventloom errors and programming errors unchanged.
 * @param storage the storage that failed, e.g. `the artifact storage`
 */
export function storageFailure(storage: string, thrown: unknown): unknown {
  if (EventloomError.isInstance(thrown) || isProgramError(thrown)) return thrown;
  const result = sqliteResult(thrown);
  return StorageError.of(storage, thrown, result === undefined || PASSING.includes(result));
}

/** The primary result code of an error of SQLite in Node; undefined for another error. */
export function sqliteResult(thrown: unknown): number | undefined {
  // The low byte is the primary code; the rest is the extended code.
  return thrown instanceof Error && 'errcode' in thrown ? Number(thrown.errcode) & 0xff : undefined;
}

/** True for errors of the program, including Node's errors for invalid calls, such as one on a closed database. */
function isProgramError(thrown: unknown): boolean {
  if (PROGRAM_ERRORS.some((type) => thrown instanceof type)) return true;
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  return code.startsWith('ERR_') && code !== 'ERR_SQLITE_ERROR';
}
