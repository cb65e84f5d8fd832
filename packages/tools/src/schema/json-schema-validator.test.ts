import { format as formats } from '@cfworker/json-schema';
import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { JsonSchemaValidator } from './json-schema-validator.ts';

function issues(schema: Record<string, unknown>, value: unknown): string[] {
  return new JsonSchemaValidator(schema, 'tool "f"').issues(value);
}

test('a value that matches has no issues', () => {
  expect(issues({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }, { n: 1 })).toEqual([]);
});

test('the validator returns all issues at once, each with its path', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string' },
      list: { type: 'array', items: { type: 'object', properties: { n: { minimum: 1 } } } },
    },
    required: ['a', 'b'],
    additionalProperties: false,
  };
  expect(issues(schema, { a: 1, list: [{ n: 1 }, { n: 0 }], 'c/d é': 2 })).toEqual([
    'value: Instance does not have required property "b".',
    'a: Instance type "number" is invalid. Expected "string".',
    'list.1.n: 0 is less than 1.',
    'c/d é: is not allowed',
  ]);
});

test('the validator returns the issues of each alternative if all fail', () => {
  expect(issues({ anyOf: [{ type: 'string' }, { type: 'object', required: ['k'] }] }, { j: 1 })).toEqual([
    'value: Instance does not match any subschemas.',
    'value: Instance type "object" is invalid. Expected "string".',
    'value: Instance does not have required property "k".',
  ]);
});

test('the validator follows a reference within the schema', () => {
  const schema = { $defs: { id: { type: 'string' } }, properties: { a: { $ref: '#/$defs/id' } } };
  expect(issues(schema, { a: 'x' })).toEqual([]);
  expect(issues(schema, { a: 1 })).toEqual(['a: Instance type "number" is invalid. Expected "string".']);
});

test('the validator ignores examples with ids', () => {
  const person = { type: 'object', example: { id: 'same' } };
  expect(issues({ type: 'object', properties: { a: person, b: person } }, { a: {}, b: {} })).toEqual([]);
});

test('the validator accepts a frozen schema', () => {
  const schema = Object.freeze({ type: 'object', properties: Object.freeze({ a: Object.freeze({ type: 'string' }) }) });
  expect(issues(schema, { a: 'x' })).toEqual([]);
  expect(Object.getOwnPropertyNames(schema)).toEqual(['type', 'properties']);
});

test.each([
  ['a broken pattern', { type: 'string', pattern: '(' }, 'x'],
  ['a reference to nothing', { $ref: '#/$defs/missing' }, 'x'],
])('%s is a configuration error that names the owner', (_, schema, value) => {
  expect(() => issues(schema, value)).toThrow(ConfigurationError);
  expect(() => issues(schema, value)).toThrow(/^tool "f": the schema cannot be used: /);
});

test('the validator checks against a schema that refers to itself', () => {
  const node = { type: 'object', properties: { name: { type: 'string' }, next: { $ref: '#' } } };
  expect(issues(node, { name: 'a', next: { name: 'b', next: { name: 3 } } })).toEqual([
    'next.next.name: Instance type "number" is invalid. Expected "string".',
  ]);
});

test('references that lead in a circle are a configuration error', () => {
  const circle = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
  expect(() => issues(circle, 'x')).toThrow(
    new ConfigurationError('tool "f": the schema cannot be used: its references lead in a circle'),
  );
});

test('the validator treats inherited keys as absent', () => {
  expect(issues({ type: 'object', required: ['constructor'] }, {})).toEqual([
    'value: Instance does not have required property "constructor".',
  ]);
});

test('the validator returns an issue for a value that is not JSON, and treats undefined properties as absent', () => {
  expect(issues({}, undefined)).toEqual(['value: is undefined']);
  expect(issues({}, { list: [new Map()] })).toEqual([
    'list.0: is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map))',
  ]);
  expect(issues({ required: ['a'] }, { a: undefined })).toEqual([
    'value: Instance does not have required property "a".',
  ]);
});

test('the validator returns an issue for a name with a lone surrogate', () => {
  expect(issues({ properties: {}, additionalProperties: false }, { '\ud800': 1 })).toEqual([
    'value: has a name that is not well-formed text',
  ]);
});

test('the validator ignores id as an annotation', () => {
  const schema = { properties: { a: { id: 'same', type: 'string' }, b: { id: 'same', type: 'string' } } };
  expect(issues(schema, { a: 'x', b: 1 })).toEqual(['b: Instance type "number" is invalid. Expected "string".']);
});

test('the validator checks formats in linear time', () => {
  const attacks = [
    `http://${'a'.repeat(30)}!`,
    `${'a-'.repeat(20_000)}!`,
    `a@${'a.'.repeat(20_000)}"`,
    '1'.repeat(40_000),
  ];
  for (const format of [...Object.keys(formats), 'url']) {
    for (const value of attacks) expect(issues({ format }, value).length).toBeLessThanOrEqual(1);
  }
});
