import type { Event, EventActions, Platform, StateWrite } from '@eventloom/core';
import {
  afterCovered,
  checkArtifactName,
  checkName,
  checkStateDelta,
  checkStateKey,
  isRecord,
  sealEvent,
  setOwn,
  stateScopeOf,
  toStateWrites,
} from '@eventloom/core/internal';

/** The event to store, and the changes to the caller's session object. */
export interface AppendPlan {
  /** The event in the form in which it is stored. */
  readonly event: Event;
  readonly writes: readonly StateWrite[];
  /** The state changes, checked and copied, including `temp:` keys; undefined if the event sets nothing. */
  readonly stateDelta: Readonly<Record<string, unknown>> | undefined;
  readonly removedState: readonly string[] | undefined;
}

export const NO_WRITES: readonly StateWrite[] = [];

/**
 * Checks an event's id, state and artifact names, and returns the event and the state to store. Adds a missing id or timestamp. Freezes the
 * event, so that the stored event stays valid by its type and as JSON.
 *
 * @param coveredUntil end of the range that compactions cover, in seconds; the event gets a later timestamp
 * @param repeated see `AppendEventRequest.repeatedState`
 * @throws InvalidRequestError, StateKeyError, StateValueError and InvalidArtifactNameError
 * @throws InvalidEventError for a value that is not an event, or not JSON
 */
export function planAppend(
  event: Event,
  nowMs: number,
  platform: Platform,
  coveredUntil = -Infinity,
  repeated?: ReadonlySet<string>,
): AppendPlan {
  const id = event.id === '' ? platform.newEventId() : event.id;
  let timestamp = event.timestamp === 0 ? nowMs / 1000 : event.timestamp;
  // NaN is kept here, because `sealEvent` refuses it.
  if (timestamp <= coveredUntil) timestamp = afterCovered(timestamp, coveredUntil);
  let stored = id === event.id && timestamp === event.timestamp ? event : { ...event, id, timestamp };
  // Values of a wrong type are refused when the event is sealed.
  const actions: Partial<EventActions> = isRecord(event.actions) ? event.actions : NO_ACTIONS;
  for (const name in actions.artifactDelta) checkArtifactName(name);
  let stateDelta = hasKeys(actions.stateDelta) ? checkStateDelta(actions.stateDelta) : undefined;
  let removedState = Array.isArray(actions.removedState) ? removedKeys(actions.removedState) : undefined;
  let writes = NO_WRITES;
  if (stateDelta || removedState) {
    stored = withoutTemp(stored, stateDelta, removedState);
    if (repeated) {
      stateDelta = stateDelta && withoutKeys(stateDelta, repeated);
      removedState = removedState?.filter((key) => !repeated.has(key));
    }
    writes = toStateWrites(stateDelta ?? {}, removedState);
  }
  const sealed = sealEvent(stored);
  checkName('event.id', sealed.id);
  return { event: sealed, writes, stateDelta, removedState };
}

const NO_ACTIONS: Partial<EventActions> = {};

function hasKeys(record: object | undefined): record is object {
  for (const _ in record) return true;
  return false;
}

/** Returns the removed keys; undefined for an empty list, and for a list with other values, which are refused when the event is sealed. */
function removedKeys(keys: readonly unknown[]): readonly string[] | undefined {
  const isRemoving = keys.length > 0 && keys.every((key): key is string => typeof key === 'string');
  if (!isRemoving) return undefined;
  for (const key of keys) checkStateKey(key);
  return keys;
}

function withoutKeys(record: Readonly<Record<string, unknown>>, keys: ReadonlySet<string>): Record<string, unknown> {
  const others: Record<string, unknown> = {};
  for (const key in record) if (!keys.has(key)) setOwn(others, key, record[key]);
  return others;
}

/** Returns the event without its `temp:` keys; the same object if it has none. */
function withoutTemp(
  event: Event,
  stateDelta: Readonly<Record<string, unknown>> = {},
  removedState: readonly string[] = [],
): Event {
  const tempSet = Object.keys(stateDelta).some(isTemp);
  const tempRemoved = removedState.some(isTemp);
  if (!tempSet && !tempRemoved) return event;
  const actions = { ...event.actions };
  if (tempSet) {
    actions.stateDelta = {};
    for (const key in stateDelta) if (!isTemp(key)) setOwn(actions.stateDelta, key, event.actions.stateDelta[key]);
  }
  if (tempRemoved) {
    const kept = removedState.filter((key) => !isTemp(key));
    if (kept.length > 0) actions.removedState = kept;
    else delete actions.removedState;
  }
  return { ...event, actions };
}

function isTemp(key: string): boolean {
  return stateScopeOf(key) === 'temp';
}
