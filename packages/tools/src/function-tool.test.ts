import {
  BaseTool,
  ConfigurationError,
  createEventActions,
  createLlmRequest,
  type ToolConfirmation,
  ToolContext,
} from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { FunctionTool, isFunctionTool, type ToolOptions, LongRunningFunctionTool } from './function-tool.ts';
import { isFinalToolResult } from './stream-result.ts';

function toolContext(toolConfirmation?: ToolConfirmation): ToolContext {
  return new ToolContext({ invocationContext: testContext(), functionCallId: 'c1', toolConfirmation });
}

const parameters = z.object({ city: z.string(), days: z.number().default(1) });

test('execute gets the output of the schema and the context of the call', async () => {
  const tool = new FunctionTool({
    name: 'weather',
    description: 'Tells the weather.',
    parameters,
    execute: ({ city, days }, { functionCallId }) => ({ city, days, functionCallId }),
  });
  expect(await tool.runAsync({ args: { city: 'Paris' }, toolContext: toolContext() })).toEqual({
    city: 'Paris',
    days: 1,
    functionCallId: 'c1',
  });
});

test.each([
  ['zod', parameters, 'city: Invalid input: expected string, received number'],
  [
    'JSON Schema',
    { type: 'object', properties: { city: { type: 'string' } } },
    'city: Instance type "number" is invalid. Expected "string".',
  ],
  [
    'the genai dialect',
    { type: 'OBJECT', properties: { city: { type: 'STRING' } } },
    'city: Instance type "number" is invalid. Expected "string".',
  ],
])('arguments that %s rejects are an error with the reason, and execute is not called', async (_, schema, issue) => {
  const tool = new FunctionTool({
    name: 'weather',
    description: '',
    parameters: schema,
    execute: (): never => expect.unreachable(),
  });
  const answer = Promise.resolve(tool.runAsync({ args: { city: 5 }, toolContext: toolContext() }));
  await expect(answer).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: `the arguments of weather are not valid: ${issue}`,
  });
});

test('a function tool waits for a schema that checks asynchronously', async () => {
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: async (value: unknown) => ({ value: { ...(value as object), checked: true } }),
      jsonSchema: { input: () => ({ type: 'object' }) },
    },
  };
  const tool = new FunctionTool({ name: 'f', description: '', parameters: schema, execute: (args) => args });
  expect(await tool.runAsync({ args: { a: 1 }, toolContext: toolContext() })).toEqual({ a: 1, checked: true });
});

test('execute gets unchecked arguments without a schema', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', execute: (args) => args });
  expect(await tool.runAsync({ args: { any: [1] }, toolContext: toolContext() })).toEqual({ any: [1] });
  expect(tool._getDeclaration()).toEqual({ name: 'f', description: '' });
});

test('an error of execute rejects, whether execute is sync or async', async () => {
  const request = { args: {}, toolContext: toolContext() };
  const asynchronous = new FunctionTool({ name: 'f', description: '', execute: async () => 'later' });
  expect(await asynchronous.runAsync(request)).toBe('later');
  const throwing = new FunctionTool({
    name: 'f',
    description: '',
    execute: () => {
      throw new TypeError('broken');
    },
  });
  await expect(throwing.runAsync(request)).rejects.toThrow('broken');
});

test('the declaration contains the JSON schema and is created once', () => {
  const tool = new FunctionTool({ name: 'weather', description: 'Tells the weather.', parameters, execute: () => '' });
  expect(tool._getDeclaration()).toEqual({
    name: 'weather',
    description: 'Tells the weather.',
    parametersJsonSchema: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'number', default: 1 } },
      required: ['city'],
    },
  });
  expect(tool._getDeclaration()).toBe(tool._getDeclaration());
});

test('a function tool adds itself to a model request', async () => {
  const tool = new FunctionTool({ name: 'f', description: 'F.', execute: () => '' });
  const llmRequest = createLlmRequest();
  await tool.processLlmRequest({ toolContext: toolContext(), llmRequest });
  expect(llmRequest.toolsDict['f']).toBe(tool);
  expect(llmRequest.config.tools).toEqual([{ functionDeclarations: [{ name: 'f', description: 'F.' }] }]);
});

test('a function tool has the name of the function if no name is given', () => {
  function getWeather(): string {
    return 'sunny';
  }
  expect(new FunctionTool({ description: '', execute: getWeather }).name).toBe('getWeather');
});

test('a FunctionTool without a listener runs a generator to its end and returns its joined chunks', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: function* () {
      yield 'a';
      yield 'b';
    },
  });
  expect(await tool.runAsync({ args: {}, toolContext: toolContext() })).toBe('ab');
});

test('requests a confirmation and runs once it is given', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', requireConfirmation: true, execute: () => 'run' });
  const context = toolContext();
  const waiting = { error: 'This tool call requires confirmation, please approve or reject.' };
  expect(await tool.runAsync({ args: {}, toolContext: context })).toEqual(waiting);
  const hint = 'Please approve or reject the call of f.';
  expect(context.actions.requestedToolConfirmations).toEqual({ c1: { hint, confirmed: false } });
  expect(context.actions.skipSummarization).toBe(true);
  const rejected = { error: 'This tool call is rejected.' };
  expect(await tool.runAsync({ args: {}, toolContext: toolContext({ confirmed: false }) })).toEqual(rejected);
  expect(await tool.runAsync({ args: {}, toolContext: toolContext({ confirmed: true }) })).toBe('run');
});

test('requireConfirmation works with a context that a test of a program makes itself', async () => {
  const asked: unknown[] = [];
  const tool = new FunctionTool({ name: 'f', description: '', requireConfirmation: true, execute: () => 'run' });
  const toolContext = {
    functionCallId: 'c1',
    actions: createEventActions(),
    requestConfirmation: (request: object) => void asked.push(request),
  };
  const run = (more: object): unknown =>
    tool.runAsync({ args: {}, toolContext: { ...toolContext, ...more } as Partial<ToolContext> as ToolContext });
  expect(await run({})).toEqual({ error: 'This tool call requires confirmation, please approve or reject.' });
  expect(asked).toEqual([{ hint: 'Please approve or reject the call of f.', endsTurn: true }]);
  expect(await run({ toolConfirmation: { confirmed: false } })).toEqual({ error: 'This tool call is rejected.' });
  expect(await run({ toolConfirmation: { confirmed: true } })).toBe('run');
});

test('requireConfirmation can depend on the checked arguments', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    parameters,
    requireConfirmation: async ({ days }) => days > 3,
    execute: () => 'run',
  });
  expect(await tool.runAsync({ args: { city: 'Paris' }, toolContext: toolContext() })).toBe('run');
  expect(await tool.runAsync({ args: { city: 'Paris', days: 4 }, toolContext: toolContext() })).toMatchObject({
    error: expect.stringContaining('requires confirmation'),
  });
});

test('isFinalToolResult is true for final results of another loaded copy of this package', async () => {
  vi.resetModules();
  const copy = await import('./stream-result.ts');
  expect(isFinalToolResult(new copy.FinalToolResult(1))).toBe(true);
  for (const value of [undefined, null, 1, { value: 1 }]) expect(isFinalToolResult(value)).toBe(false);
});

/** A function that is created in a list has no name of its own. */
const [nameless] = [(): unknown => ''];

test.each([
  [
    'no name',
    {
      description: '',
      execute: nameless,
    },
    'FunctionTool: name is missing',
  ],
  [
    'a name that models refuse',
    { name: 'get weather', description: '', execute: answer },
    'tool name: expected 1 to 128 letters',
  ],
  [
    'a name that a function has from its option',
    { description: '', execute: () => 1 },
    'FunctionTool: name is missing',
  ],
  ['no description', { name: 'f', execute: answer }, 'tool "f": description is missing'],
  ['a name of another library', { name: 'f', description: '', fn: answer }, 'did you mean "execute"?'],
  [
    'properties as a schema',
    { name: 'f', description: '', parameters: { city: 'string' }, execute: answer },
    'without JSON Schema keywords',
  ],
  [
    'schemas of properties as a schema',
    { name: 'f', description: '', parameters: { city: z.string() }, execute: answer },
    'write z.object({ city: … })',
  ],
  [
    'a type that JSON Schema does not have',
    { name: 'f', description: '', parameters: { type: 'objekt' }, execute: answer },
    'tool "f": parameters: there is no type "objekt" in JSON Schema; write one of string, number',
  ],
  [
    'such a type in a property',
    {
      name: 'f',
      description: '',
      parameters: { type: 'OBJECT', properties: { days: { type: 'array', items: { type: ['int', 'null'] } } } },
      execute: answer,
    },
    'tool "f": parameters.days.items: there is no type "int"',
  ],
  ['no function', { name: 'f', description: '' }, 'tool "f": execute: expected a function'],
  [
    'no schema',
    { name: 'f', description: '', parameters: 'x', execute: answer },
    'tool "f": parameters: expected a schema',
  ],
  [
    'a function as a schema',
    { name: 'f', description: '', parameters: () => z.object({}), execute: answer },
    'tool "f": parameters: expected a schema, got a function; write z.object({ city: z.string() }), or a JSON Schema',
  ],
  [
    'a zod schema of a text',
    { name: 'f', description: '', parameters: z.string(), execute: answer },
    'tool "f": parameters: expected a schema of an object, because a model sends arguments by name, got one of a string; write z.object({',
  ],
  [
    'a JSON Schema of a list',
    { name: 'f', description: '', parameters: { type: 'array' }, execute: answer },
    "got one of an array; write { type: 'object', properties:",
  ],
  [
    'the params of another library',
    { name: 'f', description: '', params: {}, execute: answer },
    'tool "f": has no option "params"; write parameters: z.object({ … }), or a JSON Schema',
  ],
  ['an unknown option', { name: 'f', description: '', retries: 3, execute: answer }, 'has no option "retries"'],
  [
    'a requirement that is neither true nor a function',
    { name: 'f', description: '', requireConfirmation: 'yes', execute: answer },
    'requireConfirmation: expected true, false or a function',
  ],
])('%s is a configuration error', (_, options, message) => {
  const make = () => new FunctionTool(options as unknown as ToolOptions);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test.each([
  ['an object', z.object({ a: z.string() })],
  ['one of several objects', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
  ['a record', z.record(z.string(), z.number())],
  ['an object with a transformation', z.object({ a: z.string() }).transform(({ a }) => a)],
  ['an object, as JSON Schema', { type: 'object', properties: { a: { type: 'string' } } }],
  ['anything, as JSON Schema', {}],
])('FunctionTool takes parameters that describe %s', (_, parameters) => {
  expect(() => new FunctionTool({ name: 'f', description: '', parameters, execute: answer })).not.toThrow();
});

test('FunctionTool says what to write when it gets a function', () => {
  expect(() => new FunctionTool(answer as never)).toThrow(
    'FunctionTool: expected an object of options, got a function; write new FunctionTool({ name, description, execute })',
  );
});

function answer(): unknown {
  return '';
}

test('isFunctionTool is true for function tools of another loaded copy of this package, and false for other tools', async () => {
  vi.resetModules();
  const copy = await import('./function-tool.ts');
  expect(copy.FunctionTool).not.toBe(FunctionTool);
  const options = { name: 'a', description: 'd', execute: answer };
  for (const tool of [new FunctionTool(options), new copy.FunctionTool(options)]) {
    expect(isFunctionTool(tool)).toBe(true);
    expect(copy.isFunctionTool(tool)).toBe(true);
  }
  class Other extends BaseTool {
    async runAsync(): Promise<unknown> {
      return answer();
    }
  }
  for (const value of [undefined, null, answer, FunctionTool, options, new Other({ name: 'a', description: 'd' })])
    expect(isFunctionTool(value)).toBe(false);
});

test('a LongRunningFunctionTool is long-running; a FunctionTool only with isLongRunning', () => {
  const options = { name: 'approve', description: 'Asks for approval.', execute: () => undefined };
  expect(new LongRunningFunctionTool(options).isLongRunning).toBe(true);
  expect(new FunctionTool(options).isLongRunning).toBe(false);
  expect(new FunctionTool({ ...options, isLongRunning: true }).isLongRunning).toBe(true);
});

test('a function tool adds to its description that the model must not call it again for the same task', () => {
  const tool = new LongRunningFunctionTool({
    name: 'approve',
    description: 'Asks for approval.',
    execute: () => undefined,
  });
  const { name, description } = tool._getDeclaration();
  expect(name).toBe('approve');
  expect(description).toMatch(/^Asks for approval\.\n\n.*do not call this tool again/);
  expect(tool.description).toBe('Asks for approval.');
  expect(tool._getDeclaration()).toBe(tool._getDeclaration());
});
