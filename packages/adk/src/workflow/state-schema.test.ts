import { expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { LlmAgent, Workflow } from '../index.ts';
import { StateSchema } from './state-schema.ts';

const JSON_SCHEMA = {
  type: 'object',
  properties: { n: { $ref: '#/$defs/count' } },
  $defs: { count: { type: 'integer' } },
};

test.each([
  ['zod', z.object({ n: z.number() })],
  ['zod 3', z3.object({ n: z3.number() })],
  ['JSON Schema', JSON_SCHEMA],
])('a stateSchema checks keys and values: %s', (_title, schema) => {
  const state = new StateSchema(schema);
  expect(() => state.check('n', 1)).not.toThrow();
  expect(() => state.check('user:other', 1)).not.toThrow();
  expect(() => state.check('m', 1)).toThrow(`Key 'm' is not declared in the state schema. Declared fields: ["n"]`);
  expect(() => state.check('n', 'one')).toThrow("Value for 'n' does not match the type declared in the state schema");
});

test('a stateSchema checks values that JSON Schema cannot express, and the other keys beside them', () => {
  const state = new StateSchema(z.object({ n: z.number(), placed: z.date() }));
  expect(() => state.check('n', 1)).not.toThrow();
  expect(() => state.check('placed', new Date(0))).not.toThrow();
  expect(() => state.check('placed', 'today')).toThrow('expected date');
});

test('a value whose schema checks asynchronously is refused', () => {
  const state = new StateSchema(z.object({ n: z.number().refine(async () => Promise.resolve(true)) }));
  expect(() => state.check('n', 1)).toThrow('stateSchema: the schema of "n" checks asynchronously; write one that');
});

test('a Workflow and an LlmAgent take a schema that is a function', () => {
  const json = { type: 'object', properties: { n: { type: 'number' } } };
  const schema = Object.assign(() => true, {
    '~standard': {
      version: 1 as const,
      vendor: 'arktype',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  });
  const agent = new LlmAgent({ name: 'a', model: 'gemini-flash-latest', stateSchema: schema });
  expect(new Workflow({ name: 'w', edges: [['START', agent]], stateSchema: schema }).stateSchema).toBe(schema);
  expect(() => new StateSchema(schema).check('n', 'one')).toThrow("Value for 'n'");
});
