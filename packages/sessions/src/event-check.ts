import { checkName, type Event, InvalidRequestError, stateScopeOf } from '@eventloom/core';
import { isRecord } from './is-record.ts';

/** Checks the times that windows compare: the event's own, and those of what it compacts. @throws InvalidRequestError */
export function checkEventTimes({ timestamp, actions: { compaction } }: Event): void {
  if (!Number.isFinite(timestamp)) throw new InvalidRequestError('event.timestamp: must be a number of seconds');
  if (!compaction || (Number.isFinite(compaction.startTimestamp) && Number.isFinite(compaction.endTimestamp))) return;
  throw new InvalidRequestError('event.actions.compaction: startTimestamp and endTimestamp must be numbers of seconds');
}

/**
 * Checks of an event from elsewhere what every reader of a stored event relies on. The rest is stored as it is.
 * @throws InvalidRequestError
 */
export function checkStoredEvent(event: Event): void {
  if (!isRecord(event)) throw new InvalidRequestError('event: must be an object');
  checkName('event.id', event.id);
  if (typeof event.invocationId !== 'string') throw new InvalidRequestError('event.invocationId: must be text');
  if (typeof event.author !== 'string') throw new InvalidRequestError('event.author: must be text');
  if (event.partial === true) throw new InvalidRequestError('event: is partial, and chunks are not stored');
  const { actions, content } = event;
  if (!isRecord(actions) || !isRecord(actions.stateDelta) || !isRecord(actions.artifactDelta)) {
    throw new InvalidRequestError('event.actions: must be an object with stateDelta and artifactDelta');
  }
  checkEventTimes(event);
  const removed: unknown = actions.removedState ?? [];
  if (!Array.isArray(removed) || !removed.every((key) => typeof key === 'string')) {
    throw new InvalidRequestError('event.actions.removedState: must be a list of keys');
  }
  checkNotTemporary('event.actions', [...Object.keys(actions.stateDelta), ...removed]);
  if (content !== undefined && !(isRecord(content) && Array.isArray(content.parts ?? []))) {
    throw new InvalidRequestError('event.content: must be an object with a list of parts');
  }
}

/** @throws InvalidRequestError when there is a `temp:` key among them, which is stored nowhere */
export function checkNotTemporary(field: string, keys: readonly string[]): void {
  const temporary = keys.find((key) => stateScopeOf(key) === 'temp');
  if (temporary === undefined) return;
  throw new InvalidRequestError(`${field}: ${JSON.stringify(temporary)} is a key that is stored nowhere`);
}
