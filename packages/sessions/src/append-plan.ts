import {
  checkStateDelta,
  checkStateKey,
  type Event,
  type Platform,
  sealEvent,
  setOwn,
  stateScopeOf,
  type StateWrite,
  toStateWrites,
} from '@eventloom/core';
import { checkEventTimes } from './event-check.ts';

/** What an append stores and what it changes in the caller's session. */
export interface AppendPlan {
  /** The event as it is stored. */
  readonly event: Event;
  readonly writes: readonly StateWrite[];
  /** Checked and copied, `temp:` keys included; undefined when the event sets nothing. */
  readonly stateDelta: Readonly<Record<string, unknown>> | undefined;
  readonly removedState: readonly string[] | undefined;
}

export const NO_WRITES: readonly StateWrite[] = [];

/**
 * Checks an event's state and says what is to be stored. An event that came without an id or a time gets them here.
 * The event is sealed: what is stored is JSON, and nobody changes it any more.
 * @throws StateKeyError and StateValueError
 * @throws InvalidEventError for an event that is not JSON
 * @throws InvalidRequestError for a time that is no number
 */
export function planAppend(event: Event, nowMs: number, platform: Platform): AppendPlan {
  checkEventTimes(event);
  let stored = event;
  if (event.id === '' || event.timestamp === 0) {
    stored = { ...event, id: event.id || platform.newEventId(), timestamp: event.timestamp || nowMs / 1000 };
  }
  const stateDelta = hasKeys(event.actions.stateDelta) ? checkStateDelta(event.actions.stateDelta) : undefined;
  const removedState = event.actions.removedState?.length ? event.actions.removedState : undefined;
  if (removedState) for (const key of removedState) checkStateKey(key);
  if (!stateDelta && !removedState) return { event: sealEvent(stored), writes: NO_WRITES, stateDelta, removedState };
  return {
    event: sealEvent(withoutTemp(stored, stateDelta, removedState)),
    writes: toStateWrites(stateDelta ?? {}, removedState),
    stateDelta,
    removedState,
  };
}

function hasKeys(record: object): boolean {
  for (const _ in record) return true;
  return false;
}

/** The event without its `temp:` keys; the same event when it has none. */
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
