import { type Event, type StateWrite, type ToolLedgerEntry } from '@eventloom/core';
import { prefixedKey } from '@eventloom/core/internal';
import { eventToJson } from '../event-json.ts';
import { withinLimit } from '../sql/size-limit.ts';
import { storedOutcome } from '../tool-outcome.ts';

/** Maximum size of the JSON of an event, a state value or the response of a tool call, in bytes. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/**
 * Returns an event as it is stored.
 *
 * @throws InvalidEventError and SizeLimitError
 */
export function eventJson(event: Event): string {
  return withinLimit(eventToJson(event), MAX_JSON_BYTES, 'event', event.id);
}

/** Returns the end of the range that a compaction event covers, in seconds. */
export function compactionEnd({ actions }: Event): number | null {
  return actions.compaction?.endTimestamp ?? null;
}

/** Returns the response of a tool as it is stored. @throws SizeLimitError */
export function responseJson(entry: ToolLedgerEntry): string | null {
  const stored = storedOutcome(entry);
  return stored ? withinLimit(JSON.stringify(stored), MAX_JSON_BYTES, 'response of call', entry.entryId) : null;
}

/**
 * Returns the actions of a tool call as they are stored.
 *
 * @throws SizeLimitError
 */
export function actionsJson({ entryId, actions }: ToolLedgerEntry): string | null {
  return actions ? withinLimit(JSON.stringify(actions), MAX_JSON_BYTES, 'actions of call', entryId) : null;
}

/**
 * Returns a state value as it is stored.
 *
 * @throws SizeLimitError
 */
export function stateJson({ scope, key, value }: StateWrite): string {
  return withinLimit(JSON.stringify(value), MAX_JSON_BYTES, 'state key', prefixedKey(scope, key));
}

/** State changes as the parameters of statements: lists of scopes, keys and values, with null for a key to remove. */
type StateLists = readonly [scopes: string[], keys: string[], values: (string | null)[]];

/**
 * Converts writes to lists. Only the last write to each key counts.
 *
 * @throws SizeLimitError for a value that is too large
 */
export function toStateLists(writes: readonly StateWrite[]): StateLists {
  const lists: StateLists = [[], [], []];
  for (const write of lastWrites(writes)) {
    const { scope } = write;
    const json = write.value === undefined ? null : stateJson(write);
    lists[0].push(scope);
    lists[1].push(write.key);
    lists[2].push(json);
  }
  return lists;
}

/** Returns the last write to each key, because a statement can write a row only once. */
function lastWrites(writes: readonly StateWrite[]): Iterable<StateWrite> {
  if (writes.length < 2) return writes;
  return new Map(writes.map((write) => [prefixedKey(write.scope, write.key), write])).values();
}
