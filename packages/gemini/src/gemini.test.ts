import { appendInstructions, ConfigurationError } from '@eventloom/core';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { expect, test } from 'vitest';
import { ask, modelsOf, requestOf } from './fixtures/asked-gemini.ts';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini } from './gemini.ts';

const server = DistantGemini.forEachTest();

const gemini = modelsOf(server, { retry: { attempts: 1 } });

test('Gemini sends a text with the key in a header and returns the reply', async () => {
  await server.enqueue(
    jsonReply(wireResponse({ text: 'Hello!', responseId: 'r1', modelVersion: 'gemini-2.5-flash-001' })),
  );
  const request = requestOf('Hi');
  appendInstructions(request, ['Be kind.']);
  request.config.temperature = 0.2;
  expect(await ask(gemini(), request)).toEqual({
    content: { role: 'model', parts: [{ text: 'Hello!' }] },
    finishReason: 'STOP',
    modelVersion: 'gemini-2.5-flash-001',
    responseId: 'r1',
  });
  const [sent] = await server.requests();
  expect(sent).toMatchObject({
    path: '/v1/models/gemini-2.5-flash:generateContent',
    headers: { 'x-goog-api-key': 'a-test-key' },
  });
  expect(sent?.body).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    systemInstruction: { role: 'user', parts: [{ text: 'Be kind.' }] },
    generationConfig: { temperature: 0.2 },
  });
});

test('Gemini uses a given client unchanged', async () => {
  await server.enqueue(jsonReply(wireResponse('x')), jsonReply(wireResponse('x')));
  const client = new GoogleGenAI({ apiKey: 'other-key', httpOptions: { baseUrl: server.url, apiVersion: 'v9' } });
  await ask(new Gemini({ model: 'gemini-2.5-flash', client }), requestOf('Hi'));
  await ask(new Gemini({ model: 'gemini-2.5-flash', client: () => Promise.resolve(client) }), requestOf('Hi'));
  expect((await server.requests()).map(({ path, headers }) => [path, headers['x-goog-api-key']])).toEqual([
    ['/v9/models/gemini-2.5-flash:generateContent', 'other-key'],
    ['/v9/models/gemini-2.5-flash:generateContent', 'other-key'],
  ]);
});

test('Gemini reuses connections', async () => {
  const replies = Array.from({ length: 6 }, () => jsonReply(wireResponse('x')));
  await server.enqueue(...replies);
  const model = gemini();
  for (const index of replies.keys()) {
    for await (const response of model.generateContentAsync(requestOf('Hi')))
      expect(response.finishReason).toBe('STOP');
    await server.ended(index + 1);
  }
  // The end of an answer may come after the next request has left, so there can be two.
  expect(new Set((await server.requests()).map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
});

test('Gemini explains what to write when it gets only the name of a model', () => {
  expect(() => new Gemini('gemini-pro-latest' as never)).toThrow(
    "Gemini: expected an object of options, got a string; write new Gemini({ model: 'gemini-pro-latest', apiKey: process.env.GEMINI_API_KEY })",
  );
});

test('Gemini does not quote a string that may be a key', () => {
  expect(() => new Gemini('AIzaSyD-SECRET' as never)).toThrow(
    /^Gemini: expected an object of options, got a string; write new Gemini\(\{ model: 'gemini-flash-latest', apiKey: process\.env\.GEMINI_API_KEY \}\)$/,
  );
});

test('Gemini reports an empty key and a missing key differently', () => {
  expect(() => new Gemini({ model: 'gemini-pro-latest', apiKey: '' })).toThrow(
    /^model "gemini-pro-latest": apiKey is an empty string; set GEMINI_API_KEY before you start the program$/,
  );
});

test('Gemini throws without a key, and on Vertex AI without a project or key', () => {
  expect(() => new Gemini({ model: 'm' })).toThrow(ConfigurationError);
  expect(() => new Gemini({ model: 'm' })).toThrow('apiKey is missing');
  expect(() => new Gemini({ model: 'm', vertexai: true })).toThrow('vertexai: true needs a project');
  expect(() => new Gemini({ model: 'm', vertexai: true, apiKey: 'express' })).not.toThrow();
  expect(() => new Gemini({ model: 'm', apiKey: 'k', retry: { attempts: 0 } })).toThrow(
    'retry: attempts: expected an integer of at least 1',
  );
});

test.each([
  [{}, "Gemini: model is missing; write new Gemini({ model: 'gemini-flash-latest', apiKey })"],
  [{ model: '' }, "Gemini: model is an empty string; write new Gemini({ model: 'gemini-flash-latest', apiKey })"],
  [{ model: 5 }, "Gemini: model: expected a string, got the number 5; write model: 'gemini-flash-latest'"],
])('Gemini with the options %j says which model to write', (options, message) => {
  expect(() => new Gemini({ apiKey: 'k', ...options } as never)).toThrow(message);
});

test('a client that cannot be created throws a ConfigurationError, and the next call tries again', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  let tries = 0;
  const client = async () => {
    if (++tries === 1) throw new TypeError('no credentials');
    return new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: server.url } });
  };
  const model = new Gemini({ model: 'gemini-2.5-flash', client });
  await expect(ask(model, requestOf('Hi'))).rejects.toThrow('the client cannot be made: no credentials');
  await ask(model, requestOf('Hi'));
});

test('a client that a bundle cannot load throws an error that says how to bundle', async () => {
  const client = async () => Promise.reject(new Error('Dynamic require of "child_process" is not supported'));
  const model = new Gemini({ model: 'gemini-2.5-flash', client });
  await expect(ask(model, requestOf('Hi'))).rejects.toThrow(
    'gemini: the client cannot be made: Dynamic require of "child_process" is not supported; this ESM bundle has no require: give esbuild --banner:js=',
  );
});

test('the capability outputSchemaWithTools is true for Gemini 3 and later on Vertex AI', () => {
  const vertex = gemini({ vertexai: true, project: 'p' });
  const known = (model: Gemini) =>
    [
      'gemini-3-pro-preview',
      'projects/p/locations/l/publishers/google/models/gemini-3.5-flash',
      'gemini-2.5-flash',
      'gemini-flash-latest',
      'other',
    ].map((name) => model.capabilities(name).outputSchemaWithTools);
  expect(known(vertex)).toEqual([true, true, false, false, false]);
  expect(known(gemini())).toEqual([false, false, false, false, false]);
});
