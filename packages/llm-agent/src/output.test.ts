import { ValueSchema } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { OutputTool } from './output.ts';

function toolOf(schema: Record<string, unknown>): OutputTool {
  return new OutputTool(new ValueSchema(schema, 'agent "bot": outputSchema'));
}

/** Calls the tool and returns its response; the tool does not use the context of the call. */
function handIn(tool: OutputTool, args: Record<string, unknown>): Promise<unknown> {
  return tool.runAsync({ args, toolContext: undefined as never });
}

test('set_model_response declares an object schema unchanged and wraps any other schema', () => {
  const object = { type: 'object', properties: { n: { type: 'integer' } } };
  expect(toolOf(object)._getDeclaration().parametersJsonSchema).toEqual(object);
  expect(toolOf({ type: 'string' })._getDeclaration().parametersJsonSchema).toEqual({
    type: 'object',
    properties: { value: { type: 'string' } },
    required: ['value'],
  });
});

test('a wrapped schema keeps its definitions at the root', () => {
  const $defs = { name: { type: 'string' } };
  const definitions = { old: { type: 'number' } };
  const schema = { $defs, definitions, type: 'array', items: { $ref: '#/$defs/name' } };
  expect(toolOf(schema)._getDeclaration().parametersJsonSchema).toEqual({
    $defs,
    definitions,
    type: 'object',
    properties: { value: { type: 'array', items: { $ref: '#/$defs/name' } } },
    required: ['value'],
  });
});

test('set_model_response keeps a matching answer and returns the problems of another', async () => {
  const tool = toolOf({ type: 'integer' });
  expect(tool.output).toBeUndefined();
  const issue = 'value: Instance type "string" is invalid. Expected "integer".';
  expect(await handIn(tool, { value: 'x' })).toEqual({ error: `the answer does not match the schema: ${issue}` });
  expect(tool.output).toEqual({ issues: [issue] });
  expect(await handIn(tool, { value: 5 })).toEqual({ status: 'accepted' });
  expect(tool.output).toEqual({ value: 5 });
  expect(await handIn(tool, { value: 'x' })).toMatchObject({ error: expect.stringContaining('does not match') });
  expect(tool.output).toEqual({ value: 5 });
});

test('set_model_response rejects arguments without the value', async () => {
  const tool = toolOf({ type: 'integer' });
  expect(await handIn(tool, {})).toMatchObject({ error: expect.stringContaining('does not match') });
});
