import { setOwn } from '../content/json.ts';
import { InvalidEventError } from '../errors/invalid-event-error.ts';
import { type Event, STRUCTURED_OUTPUT } from './event.ts';
import { STORED_EVENT } from './event-shape.ts';
import { faultOf, type Field, TEXT } from './field.ts';

/** How deep an event may nest. */
const MAX_DEPTH = 200;

/** How to seal. */
export interface SealEventOptions {
  /** Also see to it that bytes are base64. Default false: they come from whoever encoded them, and may be many. */
  readonly checkBytes?: boolean;
}

/** One copy under way: what was wrong, and the keys from there up to the event, gathered on the way back. */
interface Walk {
  reason: string | undefined;
  readonly keys: (string | number)[];
  readonly checkBytes: boolean;
}

/**
 * The event as it is stored: a copy that is JSON, whose every known field is what the type says, and that nobody can change,
 * because every object in it is frozen. A known field that is null is left out, as it is in `parseEvent`; fields that are not known are
 * kept. The event that was given stays its owner's. The structured output, which is not JSON, is carried over as it is.
 *
 * @throws InvalidEventError that names the path of what is not JSON, of another type than it must be, or missing
 */
export function sealEvent(event: Event, options: SealEventOptions = {}): Event {
  const walk: Walk = { reason: undefined, keys: [], checkBytes: options.checkBytes ?? false };
  const fault = faultOf(STORED_EVENT, event);
  if (fault !== undefined) throw new InvalidEventError(`event: ${fault}`, { path: 'event' });
  const copy = copyObject(event, walk, 0, STORED_EVENT);
  if (!copy) {
    const path = walk.keys.reduce(
      (at: string, key) => (typeof key === 'number' ? `${at}[${key}]` : `${at}.${key}`),
      'event',
    );
    throw new InvalidEventError(`${path}: ${walk.reason}`, { path });
  }
  if (event[STRUCTURED_OUTPUT] !== undefined) {
    Object.defineProperty(copy, STRUCTURED_OUTPUT, { value: event[STRUCTURED_OUTPUT], enumerable: true });
  }
  return Object.freeze(copy) as unknown as Event;
}

/** The copy of a plain object, its values frozen and itself not yet; undefined with the fault in `walk`. */
function copyObject(
  value: object,
  walk: Walk,
  depth: number,
  field: Field | undefined,
): Record<string, unknown> | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    walk.reason = `is a ${value.constructor?.name ?? 'class instance'}, not a plain object; events are JSON`;
    return undefined;
  }
  const source = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  const fields = field?.fields;
  for (const key of Object.keys(source)) {
    const item = source[key];
    if (item === undefined) continue;
    const known = fields ? fields[key] : field?.item;
    if (typeof item === 'string' && (known === undefined || known === TEXT)) {
      setOwn(copy, key, item);
      continue;
    }
    if (item === null && fields && known && known.kind !== 'any') continue;
    const copied = known ? copyField(item, walk, depth, known) : copyValue(item, walk, depth);
    if (copied === undefined) {
      walk.keys.unshift(key);
      return undefined;
    }
    setOwn(copy, key, copied);
  }
  return field && lacksField(copy, walk, field) ? undefined : copy;
}

function lacksField(copy: Readonly<Record<string, unknown>>, walk: Walk, { required }: Field): boolean {
  for (const key of required) {
    if (copy[key] !== undefined) continue;
    walk.reason = 'is missing';
    walk.keys.unshift(key);
    return true;
  }
  return false;
}

function copyList(list: readonly unknown[], walk: Walk, depth: number, item: Field | undefined): unknown[] | undefined {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index++) {
    const copied = item ? copyField(list[index], walk, depth, item) : copyValue(list[index], walk, depth);
    if (copied === undefined) {
      walk.keys.unshift(index);
      return undefined;
    }
    copy.push(copied);
  }
  return copy;
}

/** The frozen copy of a value that has to be what the field says; undefined with the reason in `walk`. */
function copyField(value: unknown, walk: Walk, depth: number, field: Field): unknown {
  const fault = faultOf(field.kind === 'base64' && !walk.checkBytes ? TEXT : field, value);
  if (fault === undefined) return copyValue(value, walk, depth, field);
  walk.reason = fault;
  return undefined;
}

/** The frozen copy of a value; undefined with the reason in `walk`. */
function copyValue(value: unknown, walk: Walk, depth: number, field?: Field): unknown {
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
      const copy = Array.isArray(value)
        ? copyList(value, walk, depth + 1, field?.item)
        : copyObject(value, walk, depth + 1, field);
      return copy && Object.freeze(copy);
    }
    default:
      walk.reason = `is ${value === undefined ? 'undefined' : `a ${typeof value}`}; events are JSON`;
      return undefined;
  }
}
