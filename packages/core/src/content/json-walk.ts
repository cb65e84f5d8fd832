import { faultOf, type Field, TEXT } from '../event/field.ts';
import { isRecord, setOwn } from './json.ts';

/** How deep a value may nest; deeper ones would overflow the stack of some reader on the way. */
const MAX_DEPTH = 200;

/** One copy under way. */
export interface JsonWalk {
  /** Freezes every object of the copy, and shares what is sealed already. */
  readonly freezes: boolean;
  /** Takes an object with a `toJSON` method for what that returns. */
  readonly toJson: boolean;
  /** Checks that bytes are base64. */
  readonly checkBytes: boolean;
  /** What was wrong. */
  reason: string | undefined;
  /** The keys from the root to what was wrong, gathered on the way back. */
  readonly keys: (string | number)[];
}

/** How many sealed objects are remembered at least, and twice as many at most. */
const REMEMBERED = 1024;

/**
 * Objects that this runtime copied and froze lately, each with the shape it was checked against; undefined for JSON of no shape. A seal
 * takes them as they are. What a caller froze is not among them: it may be frozen on the outside only.
 *
 * Two generations, of which the older one is dropped as a whole: a value is sealed again soon or never, and a map that keeps an entry for every
 * event in memory costs each garbage collection more than the copies it saves.
 */
let sealed = new WeakMap<object, Field | undefined>();
let sealedBefore = new WeakMap<object, Field | undefined>();
let sealedCount = 0;

/** Marks a deeply frozen copy as one that later seals share. */
export function markSealed(copy: object, shape?: Field): void {
  if (++sealedCount > REMEMBERED) {
    sealedBefore = sealed;
    sealed = new WeakMap();
    sealedCount = 1;
  }
  sealed.set(copy, shape);
}

/** True for an object that was sealed lately as a value of the field, so that a seal may share it. */
export function isSealedAs(field: Field | undefined, value: object): boolean {
  const found = sealed.has(value) ? sealed : sealedBefore.has(value) ? sealedBefore : undefined;
  if (!found) return false;
  return isUnstructured(field) || (field?.kind === 'shape' && found.get(value)?.fields === field.fields);
}

/** True for a value that may be any JSON of its kind. */
function isUnstructured(field: Field | undefined): boolean {
  return field === undefined || field.kind === 'data' || field.kind === 'vendor' || field.kind === 'any';
}

/** The copy of a value that has to be what the field says; undefined with the reason in `walk`. */
export function copyField(value: unknown, walk: JsonWalk, depth: number, field: Field): unknown {
  const fault = faultOf(field.kind === 'base64' && !walk.checkBytes ? TEXT : field, value);
  if (fault === undefined) return copyValue(value, walk, depth, field);
  walk.reason = fault;
  return undefined;
}

/** The copy of a value; undefined with the reason in `walk`. */
export function copyValue(value: unknown, walk: JsonWalk, depth: number, field?: Field): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no -0: a sum with 0 makes it 0.
      if (Number.isFinite(value)) return value + 0;
      walk.reason = `is ${value}, which JSON cannot say`;
      return undefined;
    case 'object':
      if (value === null) return null;
      if (walk.freezes && !walk.checkBytes && isSealedAs(field, value)) return value;
      return depth < MAX_DEPTH ? copyObject(value, walk, depth + 1, field) : tooDeep(walk);
    default:
      walk.reason = `is ${value === undefined ? 'undefined' : `a ${typeof value}`}`;
      return undefined;
  }
}
function tooDeep(walk: JsonWalk): undefined {
  walk.reason = `is nested deeper than ${MAX_DEPTH} levels (is it a cycle?)`;
}

function copyObject(value: object, walk: JsonWalk, depth: number, field: Field | undefined): unknown {
  if (Array.isArray(value)) return copyList(value, walk, depth, field?.item);
  const prototype: unknown = Object.getPrototypeOf(value);
  // The last is a plain object of another realm.
  if (prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null)
    return copyMembers(value, walk, depth, field);
  if (walk.toJson && 'toJSON' in value && typeof value.toJSON === 'function') {
    // What it gives is not asked for its own `toJSON`: it may be the very object that gave it.
    const given: unknown = value.toJSON();
    return isRecord(given) ? copyMembers(given, walk, depth, field) : copyValue(given, walk, depth, field);
  }
  walk.reason = `is a ${value.constructor?.name ?? 'class instance'}, not a plain object`;
  return undefined;
}

function copyMembers(value: object, walk: JsonWalk, depth: number, field: Field | undefined): unknown {
  const source = value as Readonly<Record<string, unknown>>;
  const required = field?.required ?? NONE;
  if (walk.freezes && required.length === 0 && isEmptyObject(source)) return NOTHING;
  const copy: Record<string, unknown> = {};
  const fields = field?.fields;
  for (const key in source) {
    const item = source[key];
    if (item === undefined) continue;
    const known = fields ? fields[key] : field?.item;
    if (typeof item === 'string' && (known === undefined || known.kind === 'text')) {
      setOwn(copy, key, item);
      continue;
    }
    if (item === null && fields && known && known.kind !== 'any') continue;
    const copied = known ? copyField(item, walk, depth, known) : copyValue(item, walk, depth);
    if (copied === undefined) return faultAt(key, walk);
    setOwn(copy, key, copied);
  }
  for (const key of required) {
    if (copy[key] !== undefined) continue;
    walk.reason = 'is missing';
    return faultAt(key, walk);
  }
  return walk.freezes ? Object.freeze(copy) : copy;
}

const NONE: readonly string[] = [];
/** Most events change no state and no artifact: they share this. */
export const NOTHING: Readonly<Record<string, never>> = Object.freeze({});

/** True for an object that `{}` could have made, of this realm. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** True for a plain object without members. */
export function isEmptyObject(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  for (const _ in value as object) return false;
  return true;
}

function copyList(list: readonly unknown[], walk: JsonWalk, depth: number, item: Field | undefined): unknown {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index++) {
    const copied = item ? copyField(list[index], walk, depth, item) : copyValue(list[index], walk, depth);
    if (copied === undefined) return faultAt(index, walk);
    copy.push(copied);
  }
  return walk.freezes ? Object.freeze(copy) : copy;
}

function faultAt(key: string | number, walk: JsonWalk): undefined {
  walk.keys.unshift(key);
}
