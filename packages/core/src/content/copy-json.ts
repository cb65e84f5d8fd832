import { faultOf, type Field, TEXT } from '../event/field.ts';
import { isRecord, type JsonValue, setOwn } from './json.ts';

/** The position and the reason of a value that is not JSON. */
export interface JsonFault {
  /** Dotted path from the value's root, empty for the root itself. */
  readonly path: string;
  readonly reason: string;
}

/** A copy, or the first fault. */
export type CopiedJson = { readonly value: JsonValue } | { readonly fault: JsonFault };

/** Options of a copy. */
export interface CopyJsonOptions {
  /** Take an object with a `toJSON` method (Date, URL, …) for what that method gives. Default false: such an object is a fault. */
  readonly toJson?: boolean;
}

/** Maximum nesting of a value. Deeper values overflow the stack of code that walks them recursively, such as `JSON.stringify`. */
const MAX_DEPTH = 200;
/** Nesting level of a function response's data in an event. A sealed value must still fit there. */
const DEPTH_IN_EVENT = 5;

/**
 * A deep copy of a JSON value, or the first fault in it. Not JSON are: undefined, functions, symbols, bigints, NaN and the
 * infinities, cycles and nesting deeper than 200, and objects with a prototype of their own (Date, Map, class instances),
 * because their copy would be something else. A property that is undefined is left out and -0 is 0, as `JSON.stringify` does.
 */
export function copyJson(value: unknown, { toJson = false }: CopyJsonOptions = {}): CopiedJson {
  const walk = new JsonWalk({ freezes: false, toJson, checkBytes: false });
  const copy = copyValue(value, walk, 0) as JsonValue | undefined;
  return copy === undefined ? walk.failed() : { value: copy };
}

/**
 * The same as `copyJson`, deeply frozen. The copy is made once: `sealEvent`, the tool ledger and another `sealJson` share it
 * instead of copying it again.
 */
export function sealJson(value: unknown, { toJson = false }: CopyJsonOptions = {}): CopiedJson {
  const walk = new JsonWalk({ freezes: true, toJson, checkBytes: false });
  const copy = copyValue(value, walk, DEPTH_IN_EVENT) as JsonValue | undefined;
  if (copy === undefined) return walk.failed();
  if (typeof copy === 'object' && copy !== null) markSealed(copy);
  return { value: copy };
}

/** Options of one copy. */
export interface JsonWalkOptions {
  /** Freezes every object of the copy, and shares what is sealed already. */
  readonly freezes: boolean;
  /** Takes an object with a `toJSON` method for what that returns. */
  readonly toJson: boolean;
  /** Checks that bytes are base64. */
  readonly checkBytes: boolean;
}

/** One copy under way, and the fault that ended it. */
export class JsonWalk {
  readonly freezes: boolean;
  readonly toJson: boolean;
  readonly checkBytes: boolean;
  reason = '';
  /** The keys from the fault to the root, gathered on the way back; undefined for a fault at the root. */
  keys: (string | number)[] | undefined = undefined;

  constructor({ freezes, toJson, checkBytes }: JsonWalkOptions) {
    this.freezes = freezes;
    this.toJson = toJson;
    this.checkBytes = checkBytes;
  }

  /** Ends the copy, which is then undefined. */
  fail(reason: string): undefined {
    this.reason = reason;
    this.keys = undefined;
  }

  failAt(key: string | number): undefined {
    (this.keys ??= []).push(key);
  }

  failed(): { readonly fault: JsonFault } {
    return { fault: { path: (this.keys ?? []).toReversed().join('.'), reason: this.reason } };
  }
}

/** Returns the copy of a value that has to be what the field says; any JSON without a field. Undefined when it is not. */
export function copyValue(value: unknown, walk: JsonWalk, depth: number, field?: Field): unknown {
  const fault = field && faultOf(field.kind === 'base64' && !walk.checkBytes ? TEXT : field, value);
  if (fault !== undefined) return walk.fail(fault);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no -0: a sum with 0 makes it 0.
      return Number.isFinite(value) ? value + 0 : walk.fail(`is ${value}, which JSON cannot say`);
    case 'object':
      if (value === null) return null;
      if (walk.freezes && !walk.checkBytes && isSealedAs(field, value)) return value;
      if (depth >= MAX_DEPTH) return walk.fail(`is nested deeper than ${MAX_DEPTH} levels (is it a cycle?)`);
      if (Array.isArray(value)) return copyList(value, walk, depth + 1, field?.item);
      return isPlainObject(value)
        ? copyMembers(value, walk, depth + 1, field)
        : copyOther(value, walk, depth + 1, field);
    default:
      return walk.fail(`is ${value === undefined ? 'undefined' : `a ${typeof value}`}`);
  }
}

function copyList(list: readonly unknown[], walk: JsonWalk, depth: number, item: Field | undefined): unknown {
  // Not `slice`, which a subclass of Array may answer with its own kind.
  const copy = [...list];
  for (let index = 0; index < copy.length; index++) {
    const copied = copyValue(copy[index], walk, depth, item);
    if (copied === undefined) return walk.failAt(index);
    copy[index] = copied;
  }
  return walk.freezes ? Object.freeze(copy) : copy;
}

/** Copies the members of an object: of a shape those that are known by their fields, of a map all by the field of its items. */
function copyMembers(value: object, walk: JsonWalk, depth: number, field: Field | undefined): unknown {
  const source = value as Readonly<Record<string, unknown>>;
  const fields = field?.fields;
  const copy: Record<string, unknown> = {};
  let isEmpty = true;
  for (const key in source) {
    const item = source[key];
    if (item === undefined) continue;
    const known = fields ? fields[key] : field?.item;
    // A known member that is null is one that is not there.
    if (item === null && fields && known && known.kind !== 'any') continue;
    const copied = copyValue(item, walk, depth, known);
    if (copied === undefined) return walk.failAt(key);
    setOwn(copy, key, copied);
    isEmpty = false;
  }
  if (field) {
    for (const key of field.required) {
      if (copy[key] !== undefined) continue;
      walk.fail('is missing');
      return walk.failAt(key);
    }
  }
  if (!walk.freezes) return copy;
  return isEmpty ? NOTHING : Object.freeze(copy);
}

/** Copies an object that is not plain for the value that its `toJSON` returns, if the walk asks for it. */
function copyOther(value: object, walk: JsonWalk, depth: number, field: Field | undefined): unknown {
  if (walk.toJson && 'toJSON' in value && typeof value.toJSON === 'function') {
    // What it gives is not asked for its own `toJSON`: it may be the very object that gave it.
    const given: unknown = value.toJSON();
    return isRecord(given) ? copyMembers(given, walk, depth, field) : copyValue(given, walk, depth, field);
  }
  return walk.fail(`is a ${value.constructor?.name ?? 'class instance'}, not a plain object`);
}

/** Most events change no state and no artifact: they share this. */
export const NOTHING: Readonly<Record<string, never>> = Object.freeze({});

/** True for an object that `{}` could have made, also in another realm. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Number of sealed objects in one generation: at least this many are remembered, and at most twice as many. */
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
  const isAnyJson = field === undefined || field.kind === 'data' || field.kind === 'vendor' || field.kind === 'any';
  return isAnyJson || (field.kind === 'shape' && found.get(value)?.fields === field.fields);
}
