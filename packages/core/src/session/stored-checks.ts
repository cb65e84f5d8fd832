import { checkArtifactName } from '../artifact/artifact-name.ts';
import { InvalidRequestError, toError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { EventActions } from '../event/event-actions.ts';
import { sealEvent } from '../event/seal-event.ts';
import { checkStateKey, stateScopeOf } from '../state/state-scope.ts';
import { checkName } from './check-name.ts';

/**
 * Prepares an imported event for storing. Refuses the values that an append refuses, and fields that a stored event
 * never has, such as `partial`.
 * @throws InvalidEventError and InvalidRequestError that name the field
 */
export function toStoredEvent(event: Event): Event {
  const stored = sealEvent(event, { checkBytes: true });
  checkName('event.id', stored.id);
  if (stored.partial === true)
    throw new InvalidRequestError('event.partial: is true, but partial events are not stored; leave them out');
  checkStoredActions('event.actions', stored.actions);
  return stored;
}

/** Checks the state keys and artifact names in actions that are stored. @throws InvalidRequestError that names the field */
export function checkStoredActions(path: string, { stateDelta, removedState = [], artifactDelta }: EventActions): void {
  checkStoredKeys(`${path}.stateDelta`, Object.keys(stateDelta));
  checkStoredKeys(`${path}.removedState`, removedState);
  for (const name of Object.keys(artifactDelta)) inField(`${path}.artifactDelta`, () => checkArtifactName(name));
}

/** Checks a state key. @throws InvalidRequestError for a key that cannot be stored, and for a `temp:` key, which is never stored */
export function checkStoredKeys(field: string, keys: readonly string[]): void {
  for (const key of keys) {
    if (stateScopeOf(key) === 'temp') {
      throw new InvalidRequestError(
        `${field}: ${JSON.stringify(key)} is a temp: key, and temp: keys are never stored; remove it`,
      );
    }
    inField(field, () => checkStateKey(key));
  }
}

/** Runs a check, and names the field in its error. @throws InvalidRequestError that names the field; its cause is the error of the check */
export function inField<T>(field: string, check: () => T): T {
  try {
    return check();
  } catch (cause) {
    throw new InvalidRequestError(`${field}: ${toError(cause).message}`, { cause });
  }
}
