import { isBase64 } from '../content/bytes.ts';
import type { VendorValue } from '../content/content.ts';
import { describeKind, isRecord } from '../content/json.ts';

/**
 * The kind of a value without described members. `data` is an object with keys of the user; `vendor` is an object of a model
 * vendor's API, whose keys may be in camelCase or snake_case.
 */
type LeafKind = 'text' | 'base64' | 'flag' | 'number' | 'integer' | 'seconds' | 'data' | 'vendor' | 'any';

declare const TYPE: unique symbol;

/** Description of one value of type `T`, for checking, reading, copying and the JSON Schema. */
export interface Field<out T = unknown, out Required extends boolean = boolean> {
  readonly kind: LeafKind | 'list' | 'map' | 'shape';
  /** The field of each item of a list or a map. */
  readonly item: Field | undefined;
  /** The members of a shape. Without a prototype, so that `constructor` finds none. */
  readonly fields: Fields | undefined;
  /** The members of a vendor's object that are known. They are checked in a request body only. */
  readonly vendorFields: Fields | undefined;
  /** Names of the members that must be present. */
  readonly required: readonly string[];
  /** True for a member that must be present. */
  readonly isRequired: Required;
  /** True for a member that is accepted although the JSON Schema does not show it. */
  readonly isHidden: boolean;
  /** False for a shape of which only the known members are read. */
  readonly isOpen: boolean;
  /** The name of its JSON Schema among the components of the OpenAPI document. */
  readonly name: string | undefined;
  readonly description: string | undefined;
  /** Checked in a request body only: a stored event is never refused for them. */
  readonly limits: Limits | undefined;
  /** Makes the value of a required member that JSON may leave out. */
  readonly fallback: (() => unknown) | undefined;
  /** Always absent: it carries the type for the compiler. */
  readonly [TYPE]?: T;
}

/** The members of an object by their names in camelCase. */
interface Fields {
  readonly [name: string]: Field;
}

/** Limits of a value in a request body, in addition to its kind. */
interface Limits {
  readonly values?: readonly string[];
  readonly minLength?: number;
  readonly min?: number;
  readonly max?: number;
  /** The JSON types of an `any`. */
  readonly types?: readonly string[];
}

/** The declared names of a type, without index signatures and symbols. */
type KnownKeys<T> = keyof {
  [K in keyof T as string extends K ? never : number extends K ? never : K extends symbol ? never : K]: T[K];
};

/** One field for each member of `T`, of the member's type, and required where the member is. */
type FieldsOf<T> = {
  readonly [K in KnownKeys<T>]-?: object extends Pick<T, K>
    ? Field<NonNullable<T[K]>, false>
    : Field<NonNullable<T[K]>, true>;
};

/** Start of year 1 and end of year 9999, in seconds since the epoch. A number outside is not a time in seconds. */
const MIN_SECONDS = -62_135_596_800;
export const MAX_SECONDS = 253_402_300_799.999;

export const TEXT: Field<string, false> = field('text');
export const BASE64: Field<string, false> = field('base64', { description: 'Base64, standard or URL alphabet.' });
export const FLAG: Field<boolean, false> = field('flag');
export const NUMBER: Field<number, false> = field('number');
export const INTEGER: Field<number, false> = field('integer', {
  limits: { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
});
export const SECONDS: Field<number, false> = field('seconds', { description: 'Seconds since the epoch.' });
export const DATA: Field<Record<string, unknown>, false> = field('data');
export const VENDOR: Field<Record<string, unknown>, false> = field('vendor');
export const ANY: Field<VendorValue, false> = field('any');

function field(kind: Field['kind'], more?: Partial<Field<unknown, false>>): Field<VendorValue, false> {
  return {
    kind,
    item: undefined,
    fields: undefined,
    vendorFields: undefined,
    required: [],
    isOpen: true,
    isRequired: false,
    isHidden: false,
    name: undefined,
    description: undefined,
    limits: undefined,
    fallback: undefined,
    ...more,
  };
}

export function listOf<T>(item: Field<T>): Field<T[], false> {
  return field('list', { item });
}

/** Describes an object whose keys are data. */
export function mapOf<T>(item: Field<T>): Field<Record<string, T>, false> {
  return field('map', { item });
}

/** Options of a shape. Default: no name, and unknown members are kept. */
interface ShapeOptions {
  readonly name?: string;
  readonly isOpen?: boolean;
}

/** Describes an object with the members of `T`: the compiler refuses one that is missing, unknown, of another type, or wrongly required. */
export function shape<T>(fields: FieldsOf<T>, options?: ShapeOptions): Field<T, false> {
  return field('shape', { ...members(fields), ...options });
}

/** Describes a vendor's object: `fields` are checked in request bodies, and any other member is accepted. */
export function vendor<T>(fields: FieldsOf<T>): Field<T, false> {
  return field('vendor', { vendorFields: members(fields).fields });
}

/** Returns a shape with additional members that are accepted and checked although neither the type nor the JSON Schema has them. */
export function alsoReading<T>(base: Field<T, false>, hidden: Fields): Field<T, false> {
  const marked = Object.entries(hidden).map(([name, member]) => [name, { ...member, isHidden: true }]);
  return { ...base, ...members({ ...base.fields, ...Object.fromEntries(marked) }) };
}

function members(fields: object): Pick<Field, 'fields' | 'required'> {
  const byName: Fields = Object.assign(Object.create(null), fields);
  return { fields: byName, required: Object.keys(byName).filter((name) => byName[name]?.isRequired) };
}

/** Describes a member that must be present. @param fallback makes its value where JSON leaves it out */
export function required<T>(base: Field<T>, fallback?: () => T): Field<T, true> {
  return { ...base, isRequired: true, fallback };
}

/** Describes a value that must be within `limits` in a request body. */
export function limited<T>(base: Field<T, false>, limits: Limits): Field<T, false> {
  return { ...base, limits };
}

/** Describes a string that is one of some values. */
export function oneOf<T extends string>(...values: readonly T[]): Field<T, false> {
  return field('text', { limits: { values } });
}

export function described<T>(base: Field<T, false>, description: string): Field<T, false> {
  return { ...base, description };
}

/**
 * Returns the reason for which a value is not of this kind; undefined if it is. Does not look into objects and lists.
 */
export function faultOf({ kind }: Field, value: unknown): string | undefined {
  switch (kind) {
    case 'text':
      return typeof value === 'string' ? undefined : wanted('a string', value);
    case 'base64':
      if (typeof value !== 'string') return wanted('a string', value);
      return isBase64(value) ? undefined : 'expected base64 text';
    case 'flag':
      return typeof value === 'boolean' ? undefined : wanted('true or false', value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : wanted('a number', value);
    case 'integer':
      return Number.isSafeInteger(value) ? undefined : wanted('an integer', value);
    case 'seconds':
      return typeof value === 'number' && value >= MIN_SECONDS && value <= MAX_SECONDS
        ? undefined
        : secondsFault(value);
    case 'list':
      return Array.isArray(value) ? undefined : wanted('a list', value);
    case 'data':
    case 'vendor':
    case 'map':
    case 'shape':
      return isRecord(value) ? undefined : wanted('an object', value);
    case 'any':
      return undefined;
  }
}

/** Returns the reason for which a value of the right kind breaks the field's limits; undefined if it does not. */
export function limitFaultOf({ limits }: Field, value: unknown): string | undefined {
  if (!limits) return undefined;
  const { values, types, minLength = 0, min = -Infinity, max = Infinity } = limits;
  if (types && !types.includes(Array.isArray(value) ? 'array' : typeof value)) {
    return wanted(types.map((type) => (type === 'object' ? 'an object' : `a ${type}`)).join(' or '), value);
  }
  if (typeof value === 'string') {
    if (values && !values.includes(value))
      return `expected one of ${values.join(', ')}, got ${JSON.stringify(value.slice(0, 40))}`;
    if (value.length < minLength) return 'expected a string that is not empty';
  }
  if (typeof value === 'number') {
    if (value < min) return `expected a number of at least ${min}, got ${value}`;
    if (value > max) return `expected a number of at most ${max}, got ${value}`;
  }
  return undefined;
}

function secondsFault(value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    return wanted('a number of seconds since the epoch', value);
  }
  if (value > MAX_SECONDS) {
    return `${value} is past the year 9999; timestamps are in seconds, was this milliseconds?`;
  }
  return `${value} is before the year 1; timestamps are in seconds`;
}

function wanted(what: string, value: unknown): string {
  return `expected ${what}, got ${describeKind(value)}`;
}
