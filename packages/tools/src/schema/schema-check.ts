import { isRecord } from '@eventloom/core';
import type { SchemaReferences } from './schema-references.ts';
import type { JsonSchema } from './standard-schema.ts';
import { span, toPattern, valueFaults } from './value-faults.ts';

/** What came of one value by one schema of draft 2020-12, with the lists of `items` and the `dependencies` of older drafts. */
export class SchemaCheck {
  /** What is wrong, a line each, with the dotted path of each fault; empty when the value matches. */
  readonly issues: string[] = [];
  /** Keys and places of the value that a keyword looked at, for `unevaluated…`. */
  readonly #seen = new Set<string | number>();
  readonly #references: SchemaReferences;
  readonly #value: unknown;
  readonly #path: string;

  /** @throws ConfigurationError SyntaxError for a schema that cannot be used */
  constructor(references: SchemaReferences, schema: unknown, value: unknown, path = '') {
    this.#references = references;
    this.#value = value;
    this.#path = path;
    if (schema === false) this.#say('is not allowed');
    if (isRecord(schema)) this.#check(schema, value);
  }

  #check(schema: JsonSchema, value: unknown): void {
    for (const fault of valueFaults(schema, value)) this.#say(fault);
    for (const reference of [schema['$ref'], schema['$dynamicRef']]) {
      if (typeof reference === 'string') this.#apply(this.#references.resolve(reference));
    }
    if (Array.isArray(value)) this.#checkList(schema, value);
    else if (isRecord(value)) this.#checkObject(schema, value);
    this.#checkAlternatives(schema);
    this.#checkUnseen(schema, value);
  }

  #say(issue: string): void {
    this.issues.push(`${this.#path || 'value'}: ${issue}`);
  }

  #by(schema: unknown, value = this.#value, path = this.#path): SchemaCheck {
    return new SchemaCheck(this.#references, schema, value, path);
  }

  #matches(schema: unknown, value = this.#value): boolean {
    return this.#by(schema, value).issues.length === 0;
  }

  /** Another schema must hold for the same value. */
  #apply(schema: unknown): void {
    const check = this.#by(schema);
    this.issues.push(...check.issues);
    this.#see(check);
  }

  #see(check: SchemaCheck): void {
    for (const key of check.#seen) this.#seen.add(key);
  }

  #applyToMember(schema: unknown, value: unknown, key: string | number): void {
    this.#seen.add(key);
    this.issues.push(...this.#by(schema, value, this.#path === '' ? String(key) : `${this.#path}.${key}`).issues);
  }

  #checkList(schema: JsonSchema, value: readonly unknown[]): void {
    const { items, prefixItems, additionalItems, contains, minContains = 1, maxContains = Infinity } = schema;
    const isList = Array.isArray(items);
    const first = toList(prefixItems ?? (isList ? items : []));
    const rest = isList ? additionalItems : items;
    for (const [at, item] of value.entries()) {
      const member = at < first.length ? first[at] : rest;
      if (member !== undefined) this.#applyToMember(member, item, at);
    }
    if (contains === undefined) return;
    const found = [...value.keys()].filter((at) => this.#matches(contains, value[at]));
    for (const at of found) this.#seen.add(at);
    if (found.length < Number(minContains) || found.length > Number(maxContains))
      this.#say(`has ${found.length} items of a kind of which it must have ${span(minContains, maxContains)}`);
  }

  #checkObject(schema: JsonSchema, value: JsonSchema): void {
    const { required, additionalProperties, propertyNames } = schema;
    const properties = toRecord(schema['properties']);
    const patterns = Object.entries(toRecord(schema['patternProperties'])).map(
      ([pattern, member]) => [toPattern(pattern), member] as const,
    );
    this.#checkRequired(required, value);
    for (const [key, item] of Object.entries(value)) {
      const members = patterns.flatMap(([pattern, member]) => (pattern.test(key) ? [member] : []));
      if (Object.hasOwn(properties, key)) members.unshift(properties[key]);
      if (members.length === 0 && additionalProperties !== undefined) members.push(additionalProperties);
      for (const member of members) this.#applyToMember(member, item, key);
      if (propertyNames !== undefined && !this.#matches(propertyNames, key))
        this.#say(`must not have the name ${JSON.stringify(key)}`);
    }
    for (const keyword of ['dependencies', 'dependentSchemas', 'dependentRequired']) {
      for (const [key, needed] of Object.entries(toRecord(schema[keyword]))) {
        if (!Object.hasOwn(value, key)) continue;
        if (Array.isArray(needed)) this.#checkRequired(needed, value);
        else this.#apply(needed);
      }
    }
  }

  #checkRequired(required: unknown, value: JsonSchema): void {
    for (const key of toList(required))
      if (!Object.hasOwn(value, String(key))) this.#say(`must have ${JSON.stringify(key)}`);
  }

  #checkAlternatives(schema: JsonSchema): void {
    for (const part of toList(schema['allOf'])) this.#apply(part);
    for (const keyword of ['anyOf', 'oneOf']) {
      const choices = schema[keyword];
      if (!Array.isArray(choices)) continue;
      const checks = choices.map((choice) => this.#by(choice));
      const matching = checks.filter(({ issues }) => issues.length === 0);
      for (const check of matching) this.#see(check);
      if (matching.length === 0) {
        this.#say('matches none of the alternatives');
        this.issues.push(...checks.flatMap(({ issues }) => issues));
      } else if (keyword === 'oneOf' && matching.length > 1) {
        this.#say(`matches ${matching.length} of the alternatives and must match one`);
      }
    }
    if (schema['not'] !== undefined && this.#matches(schema['not'])) this.#say('matches what it must not');
    if (schema['if'] === undefined) return;
    const condition = this.#by(schema['if']);
    const holds = condition.issues.length === 0;
    if (holds) this.#see(condition);
    this.#apply(schema[holds ? 'then' : 'else']);
  }

  /** Last: the other keywords have said by now what they looked at. */
  #checkUnseen(schema: JsonSchema, value: unknown): void {
    const isList = Array.isArray(value);
    const member = schema[isList ? 'unevaluatedItems' : 'unevaluatedProperties'];
    if (member === undefined || typeof value !== 'object' || value === null) return;
    const members: Iterable<[string | number, unknown]> = isList ? value.entries() : Object.entries(value);
    for (const [key, item] of members) if (!this.#seen.has(key)) this.#applyToMember(member, item, key);
  }
}

function toRecord(value: unknown): JsonSchema {
  return isRecord(value) ? value : {};
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
