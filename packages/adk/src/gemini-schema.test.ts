import {
  BaseLlm,
  BasePlugin,
  BaseTool,
  type FunctionDeclaration,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { LiveRequestQueue } from '@eventloom/live';
import { ScriptedLiveModel, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AdkModelRequest } from './adk-types.ts';
import { toGeminiSchema } from './gemini-schema.ts';
import { AdkInMemoryRunner } from './in-memory-runner.ts';
import { AdkLlmAgent, type AdkLlmAgentConfig } from './llm-agent.ts';
import { zodObjectToSchema } from './zod-object-to-schema.ts';

const add = new FunctionTool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), note: z.string().optional() }),
  execute: ({ a }) => a,
});
const now = new FunctionTool({ name: 'now', description: 'Tells the time.', execute: () => 'noon' });
const PARAMETERS = { type: 'OBJECT', properties: { a: { type: 'NUMBER' }, note: { type: 'STRING' } }, required: ['a'] };

/** A model as programs for the ADK write them. */
class OwnModel extends BaseLlm {
  readonly read: unknown[] = [];
  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    this.read.push(readLikeAdk(request));
    yield { content: { role: 'model', parts: [{ text: '{"a":1}' }] } };
  }
}

function declarationsOf({ config }: LlmRequest): FunctionDeclaration[] {
  const [tool] = (config.tools ?? []) as { functionDeclarations: FunctionDeclaration[] }[];
  return tool?.functionDeclarations ?? [];
}

function readLikeAdk(request: LlmRequest): unknown {
  const { responseSchema, responseMimeType } = request.config;
  return { parameters: declarationsOf(request).map(({ parameters }) => parameters), responseSchema, responseMimeType };
}

async function run(config: Omit<AdkLlmAgentConfig, 'name'>, plugins: BasePlugin[] = []): Promise<void> {
  const runner = new AdkInMemoryRunner({ agent: new AdkLlmAgent({ name: 'helper', ...config }), plugins });
  const newMessage = { role: 'user', parts: [{ text: 'Hi.' }] };
  for await (const _event of runner.runEphemeral({ userId: 'u', newMessage }));
}

describe('requests of programs for the ADK', () => {
  test('have the parameters of declarations in the form of Gemini', async () => {
    const model = new OwnModel({ model: 'own' });
    await run({ model, tools: [add, now] });
    expect(model.read).toEqual([{ parameters: [PARAMETERS, { type: 'OBJECT', properties: {} }] }]);
  });

  test('have the output schema in the form of Gemini', async () => {
    const model = new OwnModel({ model: 'own' });
    await run({ model, outputSchema: z.object({ a: z.number() }) });
    const responseSchema = { type: 'OBJECT', properties: { a: { type: 'NUMBER' } }, required: ['a'] };
    expect(model.read).toEqual([{ parameters: [], responseSchema, responseMimeType: 'application/json' }]);
  });

  test('have both for plugins and callbacks, and are sent with JSON Schemas', async () => {
    const read: unknown[] = [];
    class Reader extends BasePlugin {
      override beforeModelCallback({ llmRequest }: { llmRequest: LlmRequest }): undefined {
        read.push(readLikeAdk(llmRequest));
      }
    }
    const model = new ScriptedModel([{ text: 'Hello.' }]);
    const beforeModelCallback = ({ request }: { request: LlmRequest }): undefined =>
      void read.push(readLikeAdk(request));
    await run({ model, tools: [add], beforeModelCallback }, [new Reader('reader')]);
    expect(read).toEqual([{ parameters: [PARAMETERS] }, { parameters: [PARAMETERS] }]);
    const [declaration] = model.requests.flatMap(({ request }) => declarationsOf(request));
    expect(Object.keys(declaration ?? {})).toEqual(['name', 'description', 'parametersJsonSchema']);
  });

  test('are sent with a schema that a callback changed in place', async () => {
    const model = new ScriptedModel([{ text: 'Hello.' }]);
    const beforeModelCallback = ({ request }: { request: LlmRequest }): undefined => {
      for (const { parameters } of declarationsOf(request)) {
        const { properties = {} } = parameters as { properties?: Record<string, unknown> };
        properties['limit'] = { type: 'INTEGER', nullable: true };
      }
    };
    await run({ model, tools: [add, now], beforeModelCallback });
    const sent = model.requests.flatMap(({ request }) => declarationsOf(request));
    const limit = { type: ['integer', 'null'] };
    expect(sent.map(({ parametersJsonSchema }) => parametersJsonSchema)).toEqual([
      { type: 'object', properties: { a: { type: 'number' }, note: { type: 'string' }, limit }, required: ['a'] },
      { type: 'object', properties: { limit } },
    ]);
    const [copy] = sent.map((each) => ({ ...each }));
    expect(copy).toMatchObject({ parametersJsonSchema: { properties: { limit } } });
  });

  test('are sent with a schema that a callback assigned', async () => {
    const parameters = { type: 'OBJECT', properties: {} };
    const model = new ScriptedModel([{ text: 'Hello.' }]);
    const beforeModelCallback = ({ request }: { request: LlmRequest }): undefined => {
      for (const declaration of declarationsOf(request)) {
        Object.assign(declaration.parameters ?? {}, { type: 'STRING' });
        declaration.parameters = parameters;
      }
    };
    await run({ model, tools: [add], beforeModelCallback });
    expect(model.requests.flatMap(({ request }) => declarationsOf(request))).toEqual([
      { name: 'add', description: 'Adds.', parameters },
    ]);
  });
});

test.each([
  ['null as a type', { type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
  ['null as a branch', { anyOf: [{ type: 'number' }, { type: 'null' }] }, { type: 'NUMBER', nullable: true }],
  ['null alone', { type: 'null' }, { type: 'NULL' }],
  ['several types', { type: ['string', 'number'] }, { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] }],
  ['a constant', { type: 'string', const: 'a' }, { type: 'STRING', enum: ['a'] }],
  [
    'counts',
    { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 1 },
    { type: 'ARRAY', items: { type: 'STRING', maxLength: '3' }, minItems: '1' },
  ],
  ['exclusive limits', { type: 'number', exclusiveMinimum: 0 }, { type: 'NUMBER', minimum: 0, exclusiveMinimum: true }],
  [
    'a tuple',
    { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false },
    { type: 'ARRAY', items: { anyOf: [{ type: 'NUMBER' }, { type: 'STRING' }] }, maxItems: '2' },
  ],
  [
    'a tuple with more items of another type',
    { type: 'array', prefixItems: [{ type: 'number' }], items: { type: 'string' }, minItems: 1 },
    { type: 'ARRAY', items: { anyOf: [{ type: 'NUMBER' }, { type: 'STRING' }] }, minItems: '1' },
  ],
  ['a reference', { type: 'array', items: { $ref: '#' } }, { type: 'ARRAY', items: { $ref: '#' } }],
  ['no schema', true, {}],
])('toGeminiSchema converts %s', (_title, json, schema) => {
  expect(toGeminiSchema(json)).toEqual(schema);
});

test('zodObjectToSchema returns the schema of a record without the keywords for its names', () => {
  expect(zodObjectToSchema(z.object({ prices: z.record(z.string(), z.number()) })).properties).toEqual({
    prices: { type: 'OBJECT' },
  });
});

test('zodObjectToSchema returns the items of a tuple as alternatives', () => {
  const point = z.object({ at: z.tuple([z.number(), z.string()]) });
  expect(zodObjectToSchema(point).properties).toEqual({
    at: {
      type: 'ARRAY',
      items: { anyOf: [{ type: 'NUMBER' }, { type: 'STRING' }] },
      minItems: '2',
      maxItems: '2',
    },
  });
});

test('zodObjectToSchema returns a schema that tools accept', () => {
  const schema = zodObjectToSchema(
    z.object({ count: z.number().positive(), tags: z.array(z.string()).max(3).nullable() }),
  );
  expect(schema).toEqual({
    type: 'OBJECT',
    properties: {
      count: { type: 'NUMBER', minimum: 0, exclusiveMinimum: true },
      tags: { type: 'ARRAY', items: { type: 'STRING' }, maxItems: '3', nullable: true },
    },
    required: ['count', 'tags'],
  });
  expect(() => new FunctionTool({ name: 'f', description: 'F.', parameters: schema, execute: () => 1 })).not.toThrow();
});

/** A live model as programs for the ADK write them. */
class OwnLiveModel extends ScriptedLiveModel {
  liveConnectConfig: unknown;

  override connect(request: LlmRequest & { liveConnectConfig?: Record<string, unknown> }) {
    if (request.liveConnectConfig) request.liveConnectConfig['systemInstruction'] = 'Be brief.';
    this.liveConnectConfig = request.liveConnectConfig;
    return super.connect(request);
  }
}

async function speak(model: OwnLiveModel, tools: BaseTool[] = []) {
  const agent = new AdkLlmAgent({ name: 'helper', model, tools });
  const runner = new AdkInMemoryRunner({ agent, autoCreateSession: true });
  const liveRequestQueue = new LiveRequestQueue();
  liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello?' }] });
  const runConfig = { responseModalities: ['TEXT' as const], speechConfig: { languageCode: 'de-DE' } };
  for await (const { turnComplete } of runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig }))
    if (turnComplete) liveRequestQueue.close();
  return runConfig;
}

const HALLO = [[{ heard: 'content' as const }, 'Hallo.', { turnComplete: true }]];

test('a live model of the program reads the options of the run in liveConnectConfig, and keeps what it writes there', async () => {
  const model = new OwnLiveModel(HALLO);
  const runConfig = await speak(model);
  expect(model.liveConnectConfig).toEqual({ ...runConfig, systemInstruction: 'Be brief.' });
});

/** Changes `liveConnectConfig` of each request, as tools of the ADK do. */
class Warm extends BaseTool {
  readonly #change: (request: AdkModelRequest) => void;
  constructor(change: (request: AdkModelRequest) => void) {
    super({ name: 'warm', description: 'Makes replies lively.' });
    this.#change = change;
  }
  override processLlmRequest({ llmRequest }: { llmRequest: AdkModelRequest }): void {
    this.#change(llmRequest);
  }
  override async runAsync(): Promise<undefined> {
    return undefined;
  }
}

test('the options of the run are added to the liveConnectConfig that a tool sets in processLlmRequest', async () => {
  const model = new OwnLiveModel(HALLO);
  const warm = new Warm((request) => void (request.liveConnectConfig = { temperature: 0.9 }));
  const runConfig = await speak(model, [warm]);
  expect(model.liveConnectConfig).toEqual({ ...runConfig, temperature: 0.9, systemInstruction: 'Be brief.' });
});

test('a tool reads the options of the run in liveConnectConfig, and changes them there', async () => {
  const model = new OwnLiveModel(HALLO);
  const read: unknown[] = [];
  const warm = new Warm(({ liveConnectConfig }) => {
    read.push(structuredClone(liveConnectConfig));
    liveConnectConfig.temperature = 0.9;
    liveConnectConfig.speechConfig.languageCode = 'fr-FR';
  });
  const runConfig = await speak(model, [warm]);
  expect(read).toEqual([runConfig]);
  const changed = { speechConfig: { languageCode: 'fr-FR' }, temperature: 0.9, systemInstruction: 'Be brief.' };
  expect(model.liveConnectConfig).toEqual({ ...runConfig, ...changed });
});

test('liveConnectConfig is an empty object for tools in a run without live options', async () => {
  const read: unknown[] = [];
  const tools = [new Warm(({ liveConnectConfig }) => void read.push(liveConnectConfig))];
  await run({ model: new ScriptedModel([{ text: 'Hello.' }]), tools });
  expect(read).toEqual([{}]);
});
