import { faultOf, type Field, TEXT } from '../event/field.ts';
import { describeKind, isRecord, type JsonValue, setOwn } from './json.ts';

/** The position and the reason of a value that is not JSON. */
export interface JsonFault {
  /** Dotted path from the value's root, empty for the root itself. */
  readonly path: string;
  readonly reason: string;
}

/** A copy, or the first fault. */
type CopiedJson = { readonly value: JsonValue } | { readonly fault: JsonFault };

/** Maximum nesting of a value. Deeper values overflow the stack of code that walks them recursively, such as `JSON.stringify`. */
const MAX_DEPTH = 200;
/** Maximum number of keys of a path that an error message shows. */
const MAX_SHOWN_KEYS = 12;
/** Maximum length of a key in such a path, in characters. */
const MAX_SHOWN_KEY = 64;
/** Nesting level of a function response's data in an event. A sealed value must still fit there. */
const DEPTH_IN_EVENT = 5;

/**
 * Returns a deep copy of a value as JSON, or the first fault in it. Like `JSON.stringify`, it leaves out properties
 * that are undefined, turns undefined in a list into null and -0 into 0, copies the result of `toJSON` in place of an
 * object with that method (Date, URL, …), and copies the own properties of an instance of a class.
 *
 * Faults are values that JSON would lose: undefined as the whole value, functions, symbols, bigints, NaN and the
 * infinities, and objects whose content is not in properties (a Map, a Set, an Error, bytes, …). Cycles and nesting
 * deeper than 200 levels are faults too.
 */
export function copyJson(value: unknown): CopiedJson {
  const copy = copyValue(value, COPY, 0) as JsonValue | undefined;
  return copy === undefined ? COPY.failed() : { value: copy };
}

/**
 * The same as `copyJson`, deeply frozen. The copy is made once: `sealEvent`, the tool ledger and another `sealJson` share it
 * instead of copying it again.
 *
 * @param leavesOutCode true for the result of a tool: members that are functions or symbols are left out, as `JSON.stringify` does. Such a
 * member is code, and the result loses nothing without it. Default false: they are faults.
 */
export function sealJson(value: unknown, leavesOutCode = false): CopiedJson {
  const walk = leavesOutCode ? SEAL_RESULT : SEAL;
  const copy = copyValue(value, walk, DEPTH_IN_EVENT) as JsonValue | undefined;
  return copy === undefined ? walk.failed() : { value: copy };
}

/** Options of one copy. */
export interface JsonWalkOptions {
  /** Freezes every object of the copy, and does not copy sealed objects again. */
  readonly freezes: boolean;
  /** Marks every frozen object as one that later seals use without a copy. */
  readonly marks: boolean;
  /** Checks that bytes are base64. */
  readonly checkBytes: boolean;
  /** Leaves out members of objects that are functions or symbols. Default: they are faults. */
  readonly leavesOutCode?: boolean;
}

/** A copy in progress, and its first fault. */
export class JsonWalk {
  readonly freezes: boolean;
  readonly marks: boolean;
  readonly checkBytes: boolean;
  readonly leavesOutCode: boolean;
  reason = '';
  /** The keys from the fault to the root, gathered on the way back; undefined for a fault at the root. */
  keys: (string | number)[] | undefined = undefined;

  constructor({ freezes, marks, checkBytes, leavesOutCode = false }: JsonWalkOptions) {
    this.freezes = freezes;
    this.marks = marks;
    this.checkBytes = checkBytes;
    this.leavesOutCode = leavesOutCode;
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
    return { fault: { path: this.keysFromRoot().join('.'), reason: this.reason } };
  }

  /** Returns the keys that lead to the fault, cut where they are too long or too many to be read: a cycle has 200 of them. */
  keysFromRoot(): (string | number)[] {
    const keys = (this.keys ?? []).map(shownKey).toReversed();
    return keys.length > MAX_SHOWN_KEYS ? [...keys.slice(0, MAX_SHOWN_KEYS), '…'] : keys;
  }
}

function shownKey(key: string | number): string | number {
  return typeof key === 'string' && key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY)}…` : key;
}

// A walk keeps only its last fault, which is read right after the copy, so all copies of a kind share one walk.
const COPY = new JsonWalk({ freezes: false, marks: false, checkBytes: false });
const SEAL = new JsonWalk({ freezes: true, marks: true, checkBytes: false });
const SEAL_RESULT = new JsonWalk({ freezes: true, marks: true, checkBytes: false, leavesOutCode: true });

/** Copies a value of the field's type; any JSON without a field. Returns undefined after a fault. */
export function copyValue(value: unknown, walk: JsonWalk, depth: number, field?: Field): unknown {
  const fault = field && faultOf(field.kind === 'base64' && !walk.checkBytes ? TEXT : field, value);
  if (fault !== undefined) return walk.fail(fault);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no -0; adding 0 makes it 0.
      return Number.isFinite(value) ? value + 0 : walk.fail(`is ${value}, which JSON cannot represent`);
    case 'object':
      if (value === null) return null;
      if (walk.freezes && !walk.checkBytes && SealMark.isOn(value, field)) return value;
      if (depth >= MAX_DEPTH) return walk.fail(`is nested deeper than ${MAX_DEPTH} levels (is it a cycle?)`);
      if (Array.isArray(value)) return copyList(value, walk, depth + 1, field?.item);
      if ('toJSON' in value && typeof value.toJSON === 'function') {
        // `toJSON` is not called on its own result, which may be the same object.
        const given: unknown = value.toJSON();
        return isRecord(given)
          ? copyProperties(given, walk, depth + 1, field)
          : copyValue(given, walk, depth + 1, field);
      }
      return isPlainObject(value)
        ? copyMembers(value, walk, depth + 1, field)
        : copyProperties(value, walk, depth + 1, field);
    default:
      return walk.fail(`is ${value === undefined ? 'undefined' : `a ${typeof value}`}`);
  }
}

function copyList(list: readonly unknown[], walk: JsonWalk, depth: number, item: Field | undefined): unknown {
  // Not `slice`, because a subclass of Array may return its own class from it.
  const copy = [...list];
  for (let index = 0; index < copy.length; index++) {
    const copied = copyValue(item ? copy[index] : (copy[index] ?? null), walk, depth, item);
    if (copied === undefined) return walk.failAt(index);
    copy[index] = copied;
  }
  if (walk.marks) new SealMark(copy);
  return walk.freezes ? Object.freeze(copy) : copy;
}

/** Copies the members of an object: known members of a shape by their fields, members of a map by the field of its items. */
function copyMembers(value: object, walk: JsonWalk, depth: number, field: Field | undefined): unknown {
  const source = value as Readonly<Record<string, unknown>>;
  const fields = field?.fields;
  const copy: Record<string, unknown> = {};
  let isEmpty = true;
  for (const key in source) {
    const item = source[key];
    if (item === undefined) continue;
    const known = fields ? fields[key] : field?.item;
    // A known member that is null counts as absent.
    if (item === null && fields && known && known.kind !== 'any') continue;
    const copied = copyValue(item, walk, depth, known);
    if (copied === undefined) {
      if (walk.leavesOutCode && (typeof item === 'function' || typeof item === 'symbol')) continue;
      return walk.failAt(key);
    }
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
  if (isEmpty) return NOTHING;
  if (walk.marks) new SealMark(copy, field);
  return Object.freeze(copy);
}

/** Copies the own properties of an instance of a class, or of the result of a `toJSON`. */
function copyProperties(value: object, walk: JsonWalk, depth: number, field: Field | undefined): unknown {
  const own: { toJSON?: unknown } = { ...value };
  if (typeof own.toJSON === 'function') delete own.toJSON;
  const isElsewhere =
    value instanceof Error || value instanceof String || ArrayBuffer.isView(value) || Object.keys(own).length === 0;
  if (isElsewhere && !isPlainObject(value))
    return walk.fail(`is ${describeKind(value)}, whose content JSON would lose${adviceFor(value)}`);
  return copyMembers(own, walk, depth, field);
}

/** Says what to write in place of an object whose content is not in properties; empty for a class without such advice. */
function adviceFor(value: object): string {
  if (value instanceof Map) return ' (write Object.fromEntries(map))';
  if (value instanceof Set) return ' (write [...set])';
  if (value instanceof Error) return ' (write error.message, or throw the error)';
  if (value instanceof Promise) return ' (write await)';
  if (value instanceof Response) return ' (write await response.json())';
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? ' (write encodeBase64(bytes))' : '';
}

/** Shared by all events that change no state and no artifact. */
export const NOTHING: Readonly<Record<string, never>> = Object.freeze({});

/** True for an object with the prototype of `{}`, of any realm, or without a prototype. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

class GivenObject {
  constructor(object: object) {
    // A constructor may return another object: a private field of a class that extends it is then added to that object.
    return object;
  }
}

/**
 * The mark of an object that this module copied and froze: a private field of the object itself, with the shape that it was checked against
 * (undefined for JSON without a shape). Sealing uses marked objects without another copy. Objects that a caller froze have no mark, because
 * they may be frozen only on the outside. A copy of a marked object has no mark, and no other code sees the field.
 *
 * A weak map would take several times as long for each object, and more in each garbage collection.
 */
export class SealMark extends GivenObject {
  readonly #shape: Field | undefined;

  /** Marks a copy that is about to be frozen, and whose values are frozen. */
  constructor(copy: object, shape?: Field) {
    super(copy);
    this.#shape = shape;
  }

  /** True for an object that was sealed as a value of the field, so that it need not be copied. */
  static isOn(value: object, field: Field | undefined): boolean {
    if (!(#shape in value)) return false;
    const isAnyJson = field === undefined || field.kind === 'data' || field.kind === 'vendor' || field.kind === 'any';
    return isAnyJson || (field.kind === 'shape' && value.#shape?.fields === field.fields);
  }
}
