import { isRecord } from '@eventloom/core';
import { jsonEqual } from './json-equal.ts';
import type { SchemaReferences } from './schema-references.ts';
import type { JsonSchema } from './standard-schema.ts';
import { stringFormats } from './string-formats.ts';

/** What came of one schema for one value. */
interface Outcome {
  /** What is wrong, a line each; empty when the value matches. */
  readonly issues: string[];
  /** Keys and places of the value that a keyword looked at, for `unevaluated…`. */
  readonly seen: Set<string | number>;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** What is wrong with a JSON value by a schema, a line each, with the dotted path of each fault. @throws ConfigurationError SyntaxError for a schema that cannot be used */
export function schemaIssues(references: SchemaReferences, schema: unknown, value: unknown): string[] {
  return new SchemaCheck(references).check(schema, value, '').issues;
}

/** One value on its way through a schema of draft 2020-12, with the lists of `items` and the `dependencies` of older drafts. */
class SchemaCheck {
  readonly #references: SchemaReferences;

  constructor(references: SchemaReferences) {
    this.#references = references;
  }

  check(schema: unknown, value: unknown, path: string): Outcome {
    const outcome: Outcome = { issues: [], seen: new Set() };
    if (schema === false) outcome.issues.push(line(path, 'is not allowed'));
    if (!isRecord(schema)) return outcome;
    const fault = typeFault(schema['type'], value);
    if (fault !== undefined) outcome.issues.push(line(path, fault));
    for (const keyword of ['$ref', '$dynamicRef']) {
      const reference = schema[keyword];
      if (typeof reference === 'string') this.#apply(outcome, this.#references.resolve(reference), value, path);
    }
    for (const issue of valueFaults(schema, value)) outcome.issues.push(line(path, issue));
    if (Array.isArray(value)) this.#checkList(outcome, schema, value, path);
    else if (isRecord(value)) this.#checkObject(outcome, schema, value, path);
    this.#checkAlternatives(outcome, schema, value, path);
    this.#checkUnseen(outcome, schema, value, path);
    return outcome;
  }

  /** Another schema must hold for the same value. */
  #apply(outcome: Outcome, schema: unknown, value: unknown, path: string): void {
    const { issues, seen } = this.check(schema, value, path);
    outcome.issues.push(...issues);
    for (const key of seen) outcome.seen.add(key);
  }

  #applyToMember(outcome: Outcome, schema: unknown, value: unknown, path: string, key: string | number): void {
    outcome.seen.add(key);
    outcome.issues.push(...this.check(schema, value, path === '' ? String(key) : `${path}.${key}`).issues);
  }

  #matches(schema: unknown, value: unknown): boolean {
    return this.check(schema, value, '').issues.length === 0;
  }

  #checkList(outcome: Outcome, schema: JsonSchema, value: readonly unknown[], path: string): void {
    const { items, prefixItems, additionalItems, contains } = schema;
    const first = asList(prefixItems) ?? asList(items) ?? [];
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [at, item] of value.entries()) {
      const member = at < first.length ? first[at] : rest;
      if (member !== undefined) this.#applyToMember(outcome, member, item, path, at);
    }
    if (contains === undefined) return;
    const found = [...value.keys()].filter((at) => this.#matches(contains, value[at]));
    for (const at of found) outcome.seen.add(at);
    const { minContains = 1, maxContains = Infinity } = schema;
    if (found.length < Number(minContains) || found.length > Number(maxContains)) {
      outcome.issues.push(
        line(path, `has ${found.length} items of a kind of which it must have ${span(minContains, maxContains)}`),
      );
    }
  }

  #checkObject(outcome: Outcome, schema: JsonSchema, value: JsonSchema, path: string): void {
    const properties = toRecord(schema['properties']);
    const patterns = Object.entries(toRecord(schema['patternProperties'])).map(
      ([pattern, member]) => [toPattern(pattern), member] as const,
    );
    for (const key of asList(schema['required']) ?? []) {
      if (!Object.hasOwn(value, String(key))) outcome.issues.push(line(path, `must have ${JSON.stringify(key)}`));
    }
    for (const [key, item] of Object.entries(value)) {
      const members = patterns.flatMap(([pattern, member]) => (pattern.test(key) ? [member] : []));
      if (Object.hasOwn(properties, key)) members.unshift(properties[key]);
      if (members.length === 0 && schema['additionalProperties'] !== undefined)
        members.push(schema['additionalProperties']);
      for (const member of members) this.#applyToMember(outcome, member, item, path, key);
      if (schema['propertyNames'] !== undefined && !this.#matches(schema['propertyNames'], key)) {
        outcome.issues.push(line(path, `must not have the name ${JSON.stringify(key)}`));
      }
    }
    const dependencies = {
      ...toRecord(schema['dependencies']),
      ...toRecord(schema['dependentSchemas']),
      ...toRecord(schema['dependentRequired']),
    };
    for (const [key, needed] of Object.entries(dependencies)) {
      if (!Object.hasOwn(value, key)) continue;
      this.#apply(outcome, Array.isArray(needed) ? { required: needed } : needed, value, path);
    }
  }

  #checkAlternatives(outcome: Outcome, schema: JsonSchema, value: unknown, path: string): void {
    for (const part of asList(schema['allOf']) ?? []) this.#apply(outcome, part, value, path);
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const choices = asList(schema[keyword]);
      if (!choices) continue;
      const outcomes = choices.map((choice) => this.check(choice, value, path));
      const matching = outcomes.filter(({ issues }) => issues.length === 0);
      for (const { seen } of matching) for (const key of seen) outcome.seen.add(key);
      if (matching.length === 0) {
        outcome.issues.push(
          line(path, 'matches none of the alternatives'),
          ...outcomes.flatMap(({ issues }) => issues),
        );
      } else if (keyword === 'oneOf' && matching.length > 1) {
        outcome.issues.push(line(path, `matches ${matching.length} of the alternatives and must match one`));
      }
    }
    if (schema['not'] !== undefined && this.#matches(schema['not'], value)) {
      outcome.issues.push(line(path, 'matches what it must not'));
    }
    if (schema['if'] === undefined) return;
    const condition = this.check(schema['if'], value, path);
    const holds = condition.issues.length === 0;
    if (holds) for (const key of condition.seen) outcome.seen.add(key);
    this.#apply(outcome, schema[holds ? 'then' : 'else'], value, path);
  }

  /** Last: the other keywords have said by now what they looked at. */
  #checkUnseen(outcome: Outcome, schema: JsonSchema, value: unknown, path: string): void {
    const keyword = Array.isArray(value) ? 'unevaluatedItems' : 'unevaluatedProperties';
    if (schema[keyword] === undefined || typeof value !== 'object' || value === null) return;
    const members: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
    for (const [key, item] of members) {
      if (!outcome.seen.has(key)) this.#applyToMember(outcome, schema[keyword], item, path, key);
    }
  }
}

function typeFault(type: unknown, value: unknown): string | undefined {
  const types = [type].flat().filter((name) => typeof name === 'string');
  if (types.length === 0 || types.some((name) => isOfType(name, value))) return undefined;
  return `must be ${types.map((name) => KINDS[name] ?? name).join(' or ')}, is ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return (Array.isArray(value) ? KINDS['array'] : KINDS[typeof value]) ?? typeof value;
}

function isOfType(name: string, value: unknown): boolean {
  if (name === 'null') return value === null;
  if (name === 'integer') return Number.isInteger(value);
  if (name === 'array') return Array.isArray(value);
  return name === 'object' ? isRecord(value) : typeof value === name;
}

/** What is wrong with the value itself, whatever is in it. */
function* valueFaults(schema: JsonSchema, value: unknown): Generator<string> {
  const { const: constant, enum: values } = schema;
  if ('const' in schema && !jsonEqual(constant, value)) yield `must be ${JSON.stringify(constant)}`;
  if (Array.isArray(values) && !values.some((one) => jsonEqual(one, value))) {
    yield `must be one of ${values.map((one) => JSON.stringify(one)).join(', ')}`;
  }
  if (typeof value === 'number') yield* numberFaults(schema, value);
  if (typeof value === 'string') yield* textFaults(schema, value);
  if (Array.isArray(value)) {
    yield* countFaults(schema, 'Items', 'items', value.length);
    const isTwice = (item: unknown, at: number): boolean => value.findIndex((other) => jsonEqual(item, other)) < at;
    if (schema['uniqueItems'] === true && value.some(isTwice)) yield 'has an item twice';
  } else if (isRecord(value)) yield* countFaults(schema, 'Properties', 'properties', Object.keys(value).length);
}

function* numberFaults(schema: JsonSchema, value: number): Generator<string> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) yield `must be at least ${minimum}, is ${value}`;
  if (typeof maximum === 'number' && value > maximum) yield `must be at most ${maximum}, is ${value}`;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    yield `must be above ${exclusiveMinimum}, is ${value}`;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    yield `must be below ${exclusiveMaximum}, is ${value}`;
  if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
    yield `must be a multiple of ${multipleOf}, is ${value}`;
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

function span(min: unknown, max: unknown): string {
  if (max === Infinity) return `at least ${String(min)}`;
  return min === 0 ? `at most ${String(max)}` : `${String(min)} to ${String(max)}`;
}

/** @throws SyntaxError for a pattern that is none */
function toPattern(pattern: string): RegExp {
  return new RegExp(pattern, 'u');
}

function toRecord(value: unknown): JsonSchema {
  return isRecord(value) ? value : {};
}

function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function line(path: string, issue: string): string {
  return `${path === '' ? 'value' : path}: ${issue}`;
}
