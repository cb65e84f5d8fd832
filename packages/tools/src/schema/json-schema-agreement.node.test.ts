import { type Schema, Validator } from '@cfworker/json-schema';
import { expect, test } from 'vitest';
import { JsonSchemaValidator } from './json-schema-validator.ts';

const KEYS = ['a', 'b', 'cc', 'x1'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];
const NUMBERS = [0, 1, 2, 1.5];
const COUNTS = [0, 1, 2];

/** Makes schemas and values of up to four levels, the same ones each time. */
class Maker {
  #seed = 7;

  value(depth = 0): unknown {
    switch (this.#below(depth > 2 ? 4 : 7)) {
      case 0:
        return this.#one([null, true, false]);
      case 1:
        return this.#one([0, 1, 2, 3, -1, 1.5, 10]);
      case 2:
      case 3:
        return this.#one(['', 'a', 'ab', 'abc', 'é😀', 'x1']);
      case 4:
      case 5:
        return Array.from({ length: this.#below(4) }, () => this.value(depth + 1));
      default:
        return this.#some(() => this.value(depth + 1));
    }
  }

  schema(depth = 0): Record<string, unknown> | boolean {
    if (this.#below(12) === 0) return this.#below(3) > 0;
    const schema: Record<string, unknown> = {};
    for (let left = 1 + this.#below(3); left > 0; left--) Object.assign(schema, this.#keyword(depth));
    return schema;
  }

  #keyword(depth: number): object {
    const below = (): Record<string, unknown> | boolean => this.schema(depth + 1);
    const flat: (() => object)[] = [
      () => ({ type: this.#one(TYPES) }),
      () => ({ type: [this.#one(TYPES), this.#one(TYPES)] }),
      () => ({ enum: [this.value(2), this.value(2)] }),
      () => ({ const: this.value(2) }),
      () => ({ [this.#one(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'])]: this.#one(NUMBERS) }),
      () => ({ multipleOf: this.#one([1, 2, 0.5]) }),
      () => ({ [this.#one(['minLength', 'maxLength', 'minItems', 'maxItems'])]: this.#one(COUNTS) }),
      () => ({ [this.#one(['minProperties', 'maxProperties'])]: this.#one(COUNTS) }),
      () => ({ pattern: this.#one(['^a', 'b$', '\\d']) }),
      () => ({ uniqueItems: true }),
      () => ({ required: [this.#one(KEYS)] }),
      () => ({ dependentRequired: { [this.#one(KEYS)]: [this.#one(KEYS)] } }),
    ];
    const deep: (() => object)[] = [
      () => ({ properties: this.#some(below) }),
      () => ({ patternProperties: { [this.#one(['^x', 'c'])]: below() } }),
      () => ({ [this.#one(['additionalProperties', 'propertyNames', 'items', 'not'])]: below() }),
      () => ({ [this.#one(['unevaluatedProperties', 'unevaluatedItems'])]: below() }),
      () => ({ prefixItems: [below(), below()].slice(this.#below(2)) }),
      () => ({ contains: below(), [this.#one(['minContains', 'maxContains', 'title'])]: this.#one(COUNTS) }),
      () => ({ [this.#one(['allOf', 'anyOf', 'oneOf'])]: [below(), below()] }),
      () => Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, below()])),
      () => ({ dependentSchemas: { [this.#one(KEYS)]: below() } }),
      () => ({ $ref: this.#one(['#/$defs/one', '#two']) }),
    ];
    return this.#one(depth < 3 ? [...flat, ...deep, ...deep] : flat)();
  }

  #some(make: () => unknown): object {
    return Object.fromEntries(KEYS.flatMap((key) => (this.#below(2) === 0 ? [] : [[key, make()]])));
  }

  #one<T>(choices: readonly [T, ...T[]] | readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }

  #below(limit: number): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((this.#seed / 2_147_483_648) * limit);
  }
}

test('six thousand schemas and values are judged as another validator judges them', () => {
  const maker = new Maker();
  const judged = { valid: 0, invalid: 0 };
  for (let left = 6000; left > 0; left--) {
    const $defs = { one: maker.schema(3), two: { $anchor: 'two', type: 'object', properties: { a: maker.schema(3) } } };
    const schema = { allOf: [maker.schema()], $defs };
    const value = maker.value();
    const { valid } = new Validator(structuredClone(schema) as Schema, '2020-12', false).validate(value);
    judged[valid ? 'valid' : 'invalid'] += 1;
    const issues = new JsonSchemaValidator(schema, 'test').issues(value);
    expect(issues.length === 0, JSON.stringify({ schema, value, issues })).toBe(valid);
  }
  expect(Math.min(judged.valid, judged.invalid)).toBeGreaterThan(1000);
});
