import { isRecord } from '@eventloom/core';
import { jsonEqual } from './json-equal.ts';
import type { JsonSchema } from './standard-schema.ts';
import { stringFormats } from './string-formats.ts';

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** What numbers must be, by keyword: when one is not, and how that is said. */
const LIMITS: Readonly<Record<string, readonly [isFault: (value: number, limit: number) => boolean, words: string]>> = {
  minimum: [(value, limit) => value < limit, 'at least'],
  maximum: [(value, limit) => value > limit, 'at most'],
  exclusiveMinimum: [(value, limit) => value <= limit, 'above'],
  exclusiveMaximum: [(value, limit) => value >= limit, 'below'],
  multipleOf: [(value, limit) => !isMultiple(value, limit), 'a multiple of'],
};

/** What is wrong with a value itself, whatever is in it. @throws SyntaxError for a pattern that is none */
export function* valueFaults(schema: JsonSchema, value: unknown): Generator<string> {
  const { type, const: constant, enum: values } = schema;
  const types = [type].flat().filter((name) => typeof name === 'string');
  if (types.length > 0 && !types.some((name) => isOfType(name, value)))
    yield `must be ${types.map((name) => KINDS[name] ?? name).join(' or ')}, is ${kindOf(value)}`;
  if ('const' in schema && !jsonEqual(constant, value)) yield `must be ${JSON.stringify(constant)}`;
  if (Array.isArray(values) && !values.some((one) => jsonEqual(one, value)))
    yield `must be one of ${values.map((one) => JSON.stringify(one)).join(', ')}`;
  if (typeof value === 'number') yield* numberFaults(schema, value);
  if (typeof value === 'string') yield* textFaults(schema, value);
  if (Array.isArray(value)) {
    yield* countFaults(schema, 'Items', 'items', value.length);
    const isTwice = (item: unknown, at: number): boolean => value.findIndex((other) => jsonEqual(item, other)) < at;
    if (schema['uniqueItems'] === true && value.some(isTwice)) yield 'has an item twice';
  } else if (isRecord(value)) yield* countFaults(schema, 'Properties', 'properties', Object.keys(value).length);
}

function kindOf(value: unknown): string {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return KINDS[type] ?? type;
}

function isOfType(name: string, value: unknown): boolean {
  if (name === 'null') return value === null;
  if (name === 'integer') return Number.isInteger(value);
  if (name === 'array') return Array.isArray(value);
  return name === 'object' ? isRecord(value) : typeof value === name;
}

function* numberFaults(schema: JsonSchema, value: number): Generator<string> {
  for (const [keyword, [isFault, words]] of Object.entries(LIMITS)) {
    const limit = schema[keyword];
    if (typeof limit === 'number' && isFault(value, limit)) yield `must be ${words} ${limit}, is ${value}`;
  }
}

/** 0.3 is a multiple of 0.1, though not to the last bit of a division. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}

function* textFaults(schema: JsonSchema, value: string): Generator<string> {
  const { pattern, format } = schema;
  yield* countFaults(schema, 'Length', 'characters', Array.from(value).length);
  if (typeof pattern === 'string' && !toPattern(pattern).test(value)) yield `must match the pattern ${pattern}`;
  if (stringFormats.get(format)?.(value) === false) yield `must be text of the format ${String(format)}`;
}

function* countFaults(schema: JsonSchema, suffix: string, what: string, count: number): Generator<string> {
  const { [`min${suffix}`]: min = 0, [`max${suffix}`]: max = Infinity } = schema;
  if (count < Number(min) || count > Number(max)) yield `must have ${span(min, max)} ${what}, has ${count}`;
}

/** Between two counts, in words. */
export function span(min: unknown, max: unknown): string {
  if (max === Infinity) return `at least ${String(min)}`;
  return min === 0 ? `at most ${String(max)}` : `${String(min)} to ${String(max)}`;
}

/** @throws SyntaxError for a pattern that is none */
export function toPattern(pattern: string): RegExp {
  return new RegExp(pattern, 'u');
}
