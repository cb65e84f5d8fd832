import { isBase64 } from '../content/base64.ts';
import { describeKind, isRecord } from '../content/json.ts';

/**
 * What a value is that is not looked into. `data` is an object whose keys are somebody's own; `vendor` is somebody else's object,
 * whose keys come in two spellings.
 */
export type LeafKind = 'text' | 'base64' | 'flag' | 'number' | 'integer' | 'seconds' | 'data' | 'vendor' | 'any';

/** What one value of an event is. */
export interface Field {
  readonly kind: LeafKind | 'list' | 'map' | 'shape';
  /** What a list or a map holds. */
  readonly item: Field | undefined;
  /** The fields of a shape. Without a prototype, so that a key such as `constructor` finds none. */
  readonly fields: Fields | undefined;
  /** Those of them that a stored event never lacks. */
  readonly required: readonly string[];
}

/** The fields of an object, by their names in camelCase. There may be others beside them, which are kept. */
export interface Fields {
  readonly [name: string]: Field;
}

/** Seconds since the epoch at the begin of year 1 and at the end of year 9999: what is outside was not meant as seconds. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799.999;

export const TEXT: Field = leaf('text');
export const BASE64: Field = leaf('base64');
export const FLAG: Field = leaf('flag');
export const NUMBER: Field = leaf('number');
export const INTEGER: Field = leaf('integer');
export const SECONDS: Field = leaf('seconds');
export const DATA: Field = leaf('data');
export const VENDOR: Field = leaf('vendor');
export const ANY: Field = leaf('any');

function leaf(kind: LeafKind): Field {
  return { kind, item: undefined, fields: undefined, required: [] };
}

export function listOf(item: Field): Field {
  return { kind: 'list', item, fields: undefined, required: [] };
}

/** An object whose keys are data. */
export function mapOf(item: Field): Field {
  return { kind: 'map', item, fields: undefined, required: [] };
}

export function shaped(fields: Fields, required: readonly string[] = []): Field {
  const own = Object.assign(Object.create(null), fields) as Fields;
  return { kind: 'shape', item: undefined, fields: own, required };
}

/** What is wrong with a value of this kind; undefined when it is right. Objects and lists are not looked into. */
export function faultOf({ kind }: Field, value: unknown): string | undefined {
  switch (kind) {
    case 'text':
      return typeof value === 'string' ? undefined : wanted('a string', value);
    case 'base64':
      if (typeof value !== 'string') return wanted('a string', value);
      return isBase64(value) ? undefined : 'must be base64 text';
    case 'flag':
      return typeof value === 'boolean' ? undefined : wanted('true or false', value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : wanted('a number', value);
    case 'integer':
      return Number.isSafeInteger(value) ? undefined : wanted('an integer', value);
    case 'seconds':
      return secondsFault(value);
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

function secondsFault(value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    return wanted('a number of seconds since the epoch', value);
  }
  if (value > MAX_SECONDS) {
    return `${value} is past the year 9999; timestamps are in seconds, was this milliseconds?`;
  }
  return value < MIN_SECONDS ? `${value} is before the year 1; timestamps are in seconds` : undefined;
}

function wanted(what: string, value: unknown): string {
  return `must be ${what}, is ${describeKind(value)}`;
}
