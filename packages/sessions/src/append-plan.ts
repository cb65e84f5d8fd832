import {
  checkArtifactName,
  checkStateDelta,
  checkStateKey,
  type Event,
  type Platform,
  sealEvent,
  setOwn,
  stateScopeOf,
  type StateWrite,
  toStateWrites,
  isRecord,
} from '@eventloom/core';

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
 * The event is sealed: what is stored is an event by its type and JSON, and nobody changes it any more.
 * @throws StateKeyError, StateValueError and InvalidArtifactNameError
 * @throws InvalidEventError for what is no event, or not JSON
 */
export function planAppend(event: Event, nowMs: number, platform: Platform): AppendPlan {
  let stored = event;
  if (event.id === '' || event.timestamp === 0) {
    const id = event.id === '' ? platform.newEventId() : event.id;
    stored = { ...event, id, timestamp: event.timestamp === 0 ? nowMs / 1000 : event.timestamp };
  }
  const { stateDelta, removedState } = checkedState(event);
  if (!stateDelta && !removedState) return { event: sealEvent(stored), writes: NO_WRITES, stateDelta, removedState };
  return {
    event: sealEvent(withoutTemp(stored, stateDelta, removedState)),
    writes: toStateWrites(stateDelta ?? {}, removedState),
    stateDelta,
    removedState,
  };
}

/** What of an event's state is there, once it and the names of artifacts are such as can be stored. What is of another type than it must be is left to the seal to refuse. */
function checkedState({ actions }: Event): Pick<AppendPlan, 'stateDelta' | 'removedState'> {
  if (!isRecord(actions)) return { stateDelta: undefined, removedState: undefined };
  const { stateDelta, removedState, artifactDelta } = actions;
  for (const name in artifactDelta) checkArtifactName(name);
  const isRemoving = Array.isArray(removedState) && removedState.length > 0 && removedState.every(isText);
  if (isRemoving) for (const key of removedState) checkStateKey(key);
  return {
    stateDelta: hasKeys(stateDelta) ? checkStateDelta(stateDelta) : undefined,
    removedState: isRemoving ? removedState : undefined,
  };
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
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
