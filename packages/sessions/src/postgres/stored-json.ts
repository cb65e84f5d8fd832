import { type Event, SizeLimitError, type StateWrite, type ToolLedgerEntry } from '@eventloom/core';
import { prefixedKey } from '@eventloom/core/internal';
import { eventToJson } from '../event-json.ts';
import { withinLimit } from '../sql/size-limit.ts';
import { storedOutcome } from '../tool-outcome.ts';

/** The most bytes of JSON that an event, a value of state or the response of a tool call may take. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** The longest values of state that one statement takes together: a client makes one text of them, at worst twice as long. */
const MAX_LIST_LENGTH = 192 * 1024 * 1024;

/** An event as it is stored. @throws InvalidEventError and SizeLimitError */
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
  return stored ? withinLimit(JSON.stringify(stored), MAX_JSON_BYTES, 'response of call', entry.callId) : null;
}

/** Returns the changes and signals of a call as they are stored. @throws SizeLimitError */
export function actionsJson({ callId, actions }: ToolLedgerEntry): string | null {
  return actions ? withinLimit(JSON.stringify(actions), MAX_JSON_BYTES, 'actions of call', callId) : null;
}

/** A value of state as it is stored. @throws SizeLimitError */
export function stateJson({ scope, key, value }: StateWrite): string {
  return withinLimit(JSON.stringify(value), MAX_JSON_BYTES, 'state key', prefixedKey(scope, key));
}

/** Writes to state as the lists that statements take: scopes, keys and values, null for one to remove. */
export type StateLists = readonly [scopes: string[], keys: string[], values: (string | null)[]];

/** The last write to a key wins. @throws SizeLimitError also when all values together are too large, which is said of kind and name */
export function toStateLists(writes: readonly StateWrite[], kind: string, name: string): StateLists {
  const lists: StateLists = [[], [], []];
  let size = 0;
  for (const write of lastWrites(writes)) {
    const json = write.value === undefined ? null : stateJson(write);
    size += json?.length ?? 0;
    if (size > MAX_LIST_LENGTH) {
      throw new SizeLimitError(
        `the state of ${kind} ${JSON.stringify(name)} is longer than ${MAX_LIST_LENGTH} characters as JSON, which is the maximum; save large values as artifacts`,
      );
    }
    lists[0].push(write.scope);
    lists[1].push(write.key);
    lists[2].push(json);
  }
  return lists;
}

/** One statement can write a row once. */
function lastWrites(writes: readonly StateWrite[]): Iterable<StateWrite> {
  if (writes.length < 2) return writes;
  return new Map(writes.map((write) => [prefixedKey(write.scope, write.key), write])).values();
}
