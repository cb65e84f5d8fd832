import { ConfigurationError, InvalidEventError } from '@eventloom/core';
import { describeKind, isRecord, notAnEvent } from '@eventloom/core/internal';

/**
 * Refuses an argument of another kind, in programs without types.
 * @param wanted the valid values, e.g. `the path of a folder`
 * @param write code of a call
 * @throws ConfigurationError
 */
export function requireArgument(isValid: boolean, caller: string, wanted: string, given: unknown, write: string): void {
  if (!isValid)
    throw new ConfigurationError(`${caller}: expected ${wanted}, got ${describeKind(given)}; write ${write}`);
}

/** @throws ConfigurationError for an argument that is not an object of options */
export function requireOptions(caller: string, given: unknown, write: string): void {
  requireArgument(isRecord(given), caller, 'an object of options', given, write);
}

/** @throws ConfigurationError for a path that is not a string */
export function requirePath(caller: string, given: unknown, example: string): void {
  requireArgument(typeof given === 'string', caller, 'a path', given, `${caller}('${example}')`);
}

/** @throws InvalidEventError for a value that is not an event */
export function requireEvent(caller: string, given: unknown): void {
  if (!isRecord(given)) throw notAnEvent(caller, given);
}

/** @throws InvalidEventError for a value that is not a list of events */
export function requireEvents(caller: string, given: unknown): void {
  if (!Array.isArray(given))
    throw new InvalidEventError(
      `${caller}: expected events, got ${describeKind(given)}; write ${caller}(session.events)`,
    );
}

/** Returns the value if it is an object, otherwise an empty one. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
