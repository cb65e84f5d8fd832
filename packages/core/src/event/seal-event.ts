import { setOwn } from '../content/json.ts';
import { InvalidEventError } from '../errors/invalid-event-error.ts';
import { type Event, STRUCTURED_OUTPUT } from './event.ts';

/** How deep an event may nest. */
const MAX_DEPTH = 200;

/** One copy under way: what was wrong, and the keys from there up to the event, gathered on the way back. */
interface Walk {
  reason: string | undefined;
  readonly keys: string[];
}

/**
 * The event as it is stored: a copy that is JSON and that nobody can change, because every object in it is frozen. The event that
 * was given stays its owner's. The structured output, which is not JSON, is carried over as it is.
 *
 * @throws InvalidEventError that names the path of what is not JSON
 */
export function sealEvent(event: Event): Event {
  const walk: Walk = { reason: undefined, keys: [] };
  const copy = copyObject(event, walk, 0);
  if (!copy) {
    const path = walk.keys.reduce((at, key) => (/^\d+$/.test(key) ? `${at}[${key}]` : `${at}.${key}`), 'event');
    throw new InvalidEventError(`${path}: ${walk.reason}; events are JSON`, { path });
  }
  if (event[STRUCTURED_OUTPUT] !== undefined) {
    Object.defineProperty(copy, STRUCTURED_OUTPUT, { value: event[STRUCTURED_OUTPUT], enumerable: true });
  }
  return Object.freeze(copy) as unknown as Event;
}

/** The copy of a plain object, its values frozen and itself not yet; undefined with the fault in `walk`. */
function copyObject(value: object, walk: Walk, depth: number): Record<string, unknown> | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    walk.reason = `is a ${value.constructor?.name ?? 'class instance'}, not a plain object`;
    return undefined;
  }
  const source = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(source)) {
    const item = source[key];
    if (item === undefined) continue;
    if (typeof item === 'string') {
      setOwn(copy, key, item);
      continue;
    }
    const copied = copyValue(item, walk, depth);
    if (copied === undefined) {
      walk.keys.unshift(key);
      return undefined;
    }
    setOwn(copy, key, copied);
  }
  return copy;
}

function copyList(list: readonly unknown[], walk: Walk, depth: number): unknown[] | undefined {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index++) {
    const copied = copyValue(list[index], walk, depth);
    if (copied === undefined) {
      walk.keys.unshift(String(index));
      return undefined;
    }
    copy.push(copied);
  }
  return copy;
}

/** The frozen copy of a value; undefined with the reason in `walk`. */
function copyValue(value: unknown, walk: Walk, depth: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no -0: a sum with 0 makes it 0.
      if (Number.isFinite(value)) return value + 0;
      walk.reason = `is ${value}, which JSON cannot say`;
      return undefined;
    case 'object': {
      if (value === null) return null;
      if (depth >= MAX_DEPTH) {
        walk.reason = 'is nested too deep (is it a cycle?)';
        return undefined;
      }
      const copy = Array.isArray(value) ? copyList(value, walk, depth + 1) : copyObject(value, walk, depth + 1);
      return copy && Object.freeze(copy);
    }
    default:
      walk.reason = `is ${value === undefined ? 'undefined' : `a ${typeof value}`}`;
      return undefined;
  }
}
