import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAI as createOpenAIV3 } from 'ai-sdk-6-openai';
import { describe, expect, test } from 'vitest';
import { AiSdkLlm, type AiSdkLlmOptions } from './ai-sdk-llm.ts';
import { requestOf } from './fixtures/mock-model.ts';

type Model = ConstructorParameters<typeof AiSdkLlm>[0];

/** Returns the body that a model's service gets for a request. */
async function bodyFor(
  create: (fetch: typeof globalThis.fetch) => Model,
  schema: unknown,
  config = {},
  options: AiSdkLlmOptions = {},
): Promise<Record<string, unknown>> {
  const bodies: Record<string, unknown>[] = [];
  const model = create(async (input, init) => {
    bodies.push((await new Request(input, init).json()) as Record<string, unknown>);
    return Response.json({ error: { message: 'enough' } }, { status: 400 });
  });
  const llm = new AiSdkLlm(model, { ...options, retry: { attempts: 1 } });
  const request = requestOf('Hi', { systemInstruction: 'Be brief.', responseJsonSchema: schema, ...config });
  await expect(llm.generateContentAsync(request).next()).rejects.toThrow('enough');
  return bodies[0] ?? expect.unreachable();
}

const connection = { apiKey: 'a-test-key', baseURL: 'http://service.test/v1' };
const responses = (fetch: typeof globalThis.fetch) => createOpenAI({ ...connection, fetch })('gpt-5');
const responsesV3 = (fetch: typeof globalThis.fetch) => createOpenAIV3({ ...connection, fetch })('gpt-5');
const chat = (fetch: typeof globalThis.fetch) => createOpenAI({ ...connection, fetch }).chat('gpt-5');
const local = (supportsStructuredOutputs?: boolean) => (fetch: typeof globalThis.fetch) =>
  createOpenAICompatible({
    name: 'ollama',
    ...connection,
    fetch,
    ...(supportsStructuredOutputs !== undefined && { supportsStructuredOutputs }),
  })('qwen3');

const TEXT = { type: 'string' };
const CLOSED = { additionalProperties: false };
const object = (properties: object, required = Object.keys(properties), more: object = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
});

/** Schemas, and the form in which OpenAI's strict mode takes them; undefined if it refuses them in any form. */
const SCHEMAS: readonly (readonly [string, Record<string, unknown>, object | undefined])[] = [
  ['an object', object({ city: TEXT }), object({ city: TEXT }, ['city'], CLOSED)],
  [
    'nested objects',
    object({ list: { type: 'array', items: object({ n: { type: ['integer', 'null'] } }), minItems: 1 } }),
    object(
      { list: { type: 'array', minItems: 1, items: object({ n: { type: ['integer', 'null'] } }, ['n'], CLOSED) } },
      ['list'],
      CLOSED,
    ),
  ],
  [
    'alternatives and definitions',
    object({ a: { anyOf: [object({ b: TEXT }), { $ref: '#/$defs/c' }] } }, ['a'], {
      $defs: { c: object({ d: TEXT }) },
    }),
    object({ a: { anyOf: [object({ b: TEXT }, ['b'], CLOSED), { $ref: '#/$defs/c' }] } }, ['a'], {
      ...CLOSED,
      $defs: { c: object({ d: TEXT }, ['d'], CLOSED) },
    }),
  ],
  ['a property that is not required', object({ city: TEXT, n: { type: 'number' } }, ['city']), undefined],
  ['an object of that kind inside', object({ a: { type: 'array', items: object({ b: TEXT }, []) } }), undefined],
  ['an object with any keys', { type: 'object', additionalProperties: TEXT }, undefined],
  ['a default', object({ city: { ...TEXT, default: 'Rome' } }), undefined],
  ['a pattern', object({ city: { ...TEXT, pattern: '^R' } }), undefined],
  ['an unknown format', object({ city: { ...TEXT, format: 'uri' } }), undefined],
  ['any value', object({ city: {} }), undefined],
  ['a list of any values', object({ list: { type: 'array' } }), undefined],
  ['a choice that may be in one of them', object({ city: { oneOf: [TEXT] } }), undefined],
];

describe.each([
  ['Responses', responses, (body: Record<string, unknown>) => (body['text'] as Record<string, unknown>)['format']],
  [
    'Responses of AI SDK 6',
    responsesV3,
    (body: Record<string, unknown>) => (body['text'] as Record<string, unknown>)['format'],
  ],
  [
    'Chat Completions',
    chat,
    (body: Record<string, unknown>) => (body['response_format'] as Record<string, unknown>)['json_schema'],
  ],
  [
    'an OpenAI-compatible server with schemas',
    local(true),
    (body: Record<string, unknown>) => (body['response_format'] as Record<string, unknown>)['json_schema'],
  ],
] as const)("OpenAI's %s", (_, create, formatOf) => {
  test.each(SCHEMAS)('the schema of %s is sent in a form that the service takes', async (__, schema, strict) => {
    const body = await bodyFor(create, schema);
    expect(formatOf(body)).toMatchObject({ strict: strict !== undefined });
    expect((formatOf(body) as Record<string, unknown>)['schema']).toEqual(strict ?? schema);
  });

  test('a schema of something other than an object is part of the system instruction', async () => {
    const body = await bodyFor(create, { type: 'array', items: TEXT });
    expect(body).not.toHaveProperty('response_format');
    expect(body).not.toHaveProperty('text.format');
    expect(JSON.stringify(body)).toContain(
      JSON.stringify(
        '\nAnswer with one JSON value that matches this JSON Schema, and with no other text:\n{"type":"array","items":{"type":"string"}}',
      ).slice(1),
    );
  });
});

test('strictJsonSchema of the application determines the strict mode', async () => {
  const providerOptions = { openai: { strictJsonSchema: true } };
  const optional = object({ n: { type: 'number' } }, []);
  expect(await bodyFor(responses, optional, { providerOptions })).toMatchObject({ text: { format: { strict: true } } });
  const never = { providerOptions: { openai: { strictJsonSchema: false } } };
  expect(await bodyFor(responses, object({ n: TEXT }), {}, never)).toMatchObject({
    text: { format: { strict: false } },
  });
});

test.each([local(), local(false)])(
  'a server that takes no schemas gets them in the system instruction',
  async (create) => {
    const schema = object({ city: TEXT });
    const body = await bodyFor(create, schema);
    expect(body['response_format']).toEqual({ type: 'json_object' });
    expect(body['messages']).toMatchObject([
      {
        role: 'system',
        content: `Be brief.\nAnswer with one JSON value that matches this JSON Schema, and with no other text:\n${JSON.stringify(schema)}`,
      },
      { role: 'user' },
    ]);
  },
);
