import {
  appendInstructions,
  ConfigurationError,
  createLlmRequest,
  type Content,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini, type GeminiOptions } from './gemini.ts';

let server: DistantGemini;
beforeEach(async () => {
  server = await DistantGemini.start();
});
afterEach(async () => {
  await server.close();
  server.assertConsumed();
});

function gemini(options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({
    model: 'gemini-2.5-flash',
    apiKey: 'a-test-key',
    baseUrl: server.url,
    retry: { attempts: 1 },
    ...options,
  });
}

function requestOf(contents: string | Content[], config: LlmRequest['config'] = {}): LlmRequest {
  const list = typeof contents === 'string' ? [{ role: 'user', parts: [{ text: contents }] }] : contents;
  return { ...createLlmRequest(), contents: list, config };
}

async function ask(model: Gemini, request: LlmRequest): Promise<LlmResponse> {
  const responses: LlmResponse[] = [];
  for await (const response of model.generateContentAsync(request)) responses.push(response);
  expect(responses).toHaveLength(1);
  return responses[0] ?? {};
}

test('a text is asked and answered, with the key in its header', async () => {
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

test('the request may name another model', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  await ask(gemini(), { ...requestOf('Hi'), model: 'models/gemini-2.5-pro' });
  expect((await server.requests())[0]?.model).toBe('gemini-2.5-pro');
});

test('API version, headers and body fields of the options are sent', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  const model = gemini({
    apiVersion: 'v1beta',
    headers: { 'x-team': 'blue' },
    httpOptions: { extraBody: { extra: true }, headers: { 'x-more': '1' } },
  });
  await ask(model, requestOf('Hi'));
  expect((await server.requests())[0]).toMatchObject({
    apiVersion: 'v1beta',
    headers: { 'x-team': 'blue', 'x-more': '1' },
    body: { extra: true },
  });
});

test('function declarations are sent in one list, and calls come back with their arguments', async () => {
  const parametersJsonSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const weather = { name: 'weather', description: 'Tells the weather.', parametersJsonSchema };
  const time = { name: 'time', description: 'Tells the time.', parameters: { type: 'object', properties: {} } };
  await server.enqueue(
    jsonReply(
      wireResponse({
        calls: [{ id: 'c1', name: 'weather', args: { city: 'Bern' } }, { name: 'time' }],
        parts: [{ text: '' }],
      }),
    ),
  );
  const request = requestOf('Weather and time?', {
    tools: [{ functionDeclarations: [weather] }, { googleSearch: {} }, { functionDeclarations: [time] }],
  });
  const response = await ask(gemini(), request);
  expect(response.content?.parts?.slice(0, 2)).toEqual([
    { functionCall: { id: 'c1', name: 'weather', args: { city: 'Bern' } } },
    { functionCall: { name: 'time', args: {} } },
  ]);
  expect((await server.requests())[0]?.body.tools).toEqual([
    { functionDeclarations: [weather, { ...time, parameters: { type: 'OBJECT', properties: {} } }] },
    { googleSearch: {} },
  ]);
  expect(time.parameters.type, 'the declaration is the tool’s and stays as it was').toBe('object');
});

test('thoughts and signatures come through and go back unchanged', async () => {
  const parts = [
    { text: 'The user wants…', thought: true },
    { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2lnbmVk/+==' },
    { text: 'Done.', thoughtSignature: 'YW5vdGhlcg==' },
  ];
  await server.enqueue(jsonReply(wireResponse({ parts })), jsonReply(wireResponse('x')));
  const user = { role: 'user', parts: [{ text: 'Hi' }] };
  const { content } = await ask(gemini(), requestOf([user], { thinkingConfig: { includeThoughts: true } }));
  expect(content).toEqual({ role: 'model', parts });
  const answer = { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: 2 } } }] };
  await ask(gemini(), requestOf([user, content ?? {}, answer]));
  expect((await server.requests())[0]?.body.generationConfig).toEqual({ thinkingConfig: { includeThoughts: true } });
  expect((await server.requests())[1]?.body.contents).toEqual([user, { role: 'model', parts }, answer]);
});

test('what a part has beyond what is known comes through', async () => {
  const parts = [
    { text: 'a', partMetadata: { x: 1 }, somethingNew: { y: 2 } },
    { executableCode: { code: '1+1', language: 'PYTHON' } },
  ];
  await server.enqueue(jsonReply(wireResponse({ parts })));
  expect((await ask(gemini(), requestOf('Hi'))).content).toEqual({ role: 'model', parts });
});

test('usage is plain data, as the service counted it', async () => {
  const usage = {
    promptTokenCount: 10,
    candidatesTokenCount: 4,
    thoughtsTokenCount: 7,
    cachedContentTokenCount: 2,
    totalTokenCount: 21,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
  };
  await server.enqueue(jsonReply(wireResponse({ text: 'x', usage })));
  const { usageMetadata } = await ask(gemini(), requestOf('Hi'));
  expect(usageMetadata).toStrictEqual(usage);
  expect(Object.getOwnPropertyNames(usageMetadata)).toEqual(Object.keys(usage));
});

test('bytes go as standard base64, and the names of files stay here', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  const parts = [
    { inlineData: { data: '-_-_YQ', mimeType: 'image/png', displayName: 'cat.png' } },
    { fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf', displayName: 'a.pdf' } },
  ];
  await ask(gemini(), requestOf([{ role: 'user', parts }], { labels: { team: 'blue' } }));
  expect((await server.requests())[0]?.body).toMatchObject({
    contents: [
      {
        parts: [
          { inlineData: { data: '+/+/YQ==', mimeType: 'image/png' } },
          { fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } },
        ],
      },
    ],
  });
  const text = JSON.stringify((await server.requests())[0]?.body);
  expect(text).not.toContain('displayName');
  expect(text).not.toContain('labels');
  expect(parts[0]).toEqual({ inlineData: { data: '-_-_YQ', mimeType: 'image/png', displayName: 'cat.png' } });
});

test('inline data of the model comes back as it was sent', async () => {
  const inlineData = { data: 'iVBORw0KGgo=', mimeType: 'image/png' };
  await server.enqueue(jsonReply(wireResponse({ parts: [{ inlineData }] })));
  expect((await ask(gemini(), requestOf('Draw'))).content?.parts).toEqual([{ inlineData }]);
});

test('a JSON schema for the answer is sent with its MIME type', async () => {
  const responseJsonSchema = { type: 'object', properties: { n: { type: 'integer' } } };
  await server.enqueue(jsonReply(wireResponse('{"n":1}')));
  await ask(gemini(), requestOf('A number', { responseJsonSchema }));
  expect((await server.requests())[0]?.body.generationConfig).toEqual({
    responseJsonSchema,
    responseMimeType: 'application/json',
  });
});

test('what the model knows of its sources comes through', async () => {
  const candidate = {
    content: { role: 'model', parts: [{ text: 'x' }] },
    finishReason: 'STOP',
    groundingMetadata: { webSearchQueries: ['q'] },
    citationMetadata: { citationSources: [{ uri: 'https://example.com' }] },
    avgLogprobs: -0.5,
    logprobsResult: { chosenCandidates: [] },
  };
  await server.enqueue(jsonReply({ candidates: [candidate] }));
  expect(await ask(gemini(), requestOf('Hi'))).toEqual({
    content: candidate.content,
    finishReason: 'STOP',
    groundingMetadata: { webSearchQueries: ['q'] },
    citationMetadata: { citations: [{ uri: 'https://example.com' }] },
    avgLogprobs: -0.5,
    logprobsResult: { chosenCandidates: [] },
  });
});

test('further candidates are alternatives', async () => {
  const said = (text: string) => ({ role: 'model', parts: [{ text }] });
  await server.enqueue(
    jsonReply({
      candidates: [
        { content: said('one'), finishReason: 'STOP', index: 0 },
        { content: said('two'), finishReason: 'MAX_TOKENS', index: 1 },
      ],
    }),
  );
  expect(await ask(gemini(), requestOf('Hi', { candidateCount: 2 }))).toEqual({
    content: said('one'),
    finishReason: 'STOP',
    alternatives: [{ index: 1, content: said('two'), finishReason: 'MAX_TOKENS' }],
  });
});

test('a finish other than STOP is an error code beside the content', async () => {
  await server.enqueue(jsonReply(wireResponse({ text: 'The sky', finishReason: 'MAX_TOKENS' })));
  expect(await ask(gemini(), requestOf('Hi'))).toMatchObject({
    content: { parts: [{ text: 'The sky' }] },
    finishReason: 'MAX_TOKENS',
    errorCode: 'MAX_TOKENS',
    errorMessage: 'the model stopped: MAX_TOKENS',
  });
});

test('a blocked prompt is a response with the reason', async () => {
  await server.enqueue(
    jsonReply({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 5 } }),
  );
  expect(await ask(gemini(), requestOf('Hi'))).toEqual({
    errorCode: 'PROHIBITED_CONTENT',
    errorMessage: 'the prompt was blocked: PROHIBITED_CONTENT',
    usageMetadata: { promptTokenCount: 5 },
  });
});

test('an answer without candidates is a response with an error code', async () => {
  await server.enqueue(jsonReply({ usageMetadata: { promptTokenCount: 5 } }));
  expect(await ask(gemini(), requestOf('Hi'))).toMatchObject({ errorCode: 'UNKNOWN_ERROR' });
});

test('an answer without a finish reason is taken as whole', async () => {
  await server.enqueue(jsonReply(wireResponse({ text: 'x', finishReason: null })));
  expect(await ask(gemini(), requestOf('Hi'))).not.toHaveProperty('errorCode');
});

test('a conversation that does not end with the user is told to go on', async () => {
  await server.enqueue(jsonReply(wireResponse('x')), jsonReply(wireResponse('x')));
  const empty = requestOf([], { systemInstruction: 'Greet.' });
  await ask(gemini(), empty);
  await ask(
    gemini(),
    requestOf([
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: 'b' }] },
    ]),
  );
  expect((await server.requests()).map(({ body }) => body.contents?.map(({ role }) => role))).toEqual([
    ['user'],
    ['user', 'model', 'user'],
  ]);
  expect(empty.contents).toEqual([]);
});

test('on Vertex AI the path has project and location, and labels and names are sent', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  const model = gemini({ vertexai: true, project: 'my-project', location: 'europe-west4' });
  const parts = [
    { inlineData: { data: 'YQ==', mimeType: 'image/png', displayName: 'cat.png' }, partMetadata: { local: 1 } },
  ];
  await ask(model, requestOf([{ role: 'user', parts }], { labels: { team: 'blue' } }));
  expect((await server.requests())[0]).toMatchObject({
    path: '/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent',
    project: 'my-project',
    location: 'europe-west4',
    body: { labels: { team: 'blue' }, contents: [{ parts: [{ inlineData: { displayName: 'cat.png' } }] }] },
  });
});

test('pieces of calls in the history are sent as calls', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  const call = { role: 'model', parts: [{ functionCall: { name: 'f', args: {}, willContinue: false } }] };
  const answer = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] };
  await ask(gemini(), requestOf([{ role: 'user', parts: [{ text: 'a' }] }, call, answer]));
  expect((await server.requests())[0]?.body.contents?.[1]).toEqual({
    role: 'model',
    parts: [{ functionCall: { name: 'f', args: {} } }],
  });
});

test('a client made elsewhere is used as it is', async () => {
  await server.enqueue(jsonReply(wireResponse('x')), jsonReply(wireResponse('x')));
  const client = new GoogleGenAI({ apiKey: 'other-key', httpOptions: { baseUrl: server.url, apiVersion: 'v9' } });
  await ask(new Gemini({ model: 'gemini-2.5-flash', client }), requestOf('Hi'));
  await ask(new Gemini({ model: 'gemini-2.5-flash', client: () => Promise.resolve(client) }), requestOf('Hi'));
  expect((await server.requests()).map(({ path, headers }) => [path, headers['x-goog-api-key']])).toEqual([
    ['/v9/models/gemini-2.5-flash:generateContent', 'other-key'],
    ['/v9/models/gemini-2.5-flash:generateContent', 'other-key'],
  ]);
});

test('connections are used again', async () => {
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

test('without a key, and without a project on Vertex AI, there is no model', () => {
  expect(() => new Gemini({ model: 'm' })).toThrow(ConfigurationError);
  expect(() => new Gemini({ model: 'm' })).toThrow('apiKey is missing');
  expect(() => new Gemini({ model: 'm', vertexai: true })).toThrow('vertexai needs a project');
  expect(() => new Gemini({ model: 'm', vertexai: true, apiKey: 'express' })).not.toThrow();
  expect(() => new Gemini({ model: 'm', apiKey: 'k', retry: { attempts: 0 } })).toThrow(
    'retry.attempts must be a whole number',
  );
});

test('a client that cannot be made is a configuration error, and is tried again', async () => {
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

test('tools and an output schema go together on Vertex AI from Gemini 3 on', () => {
  const vertex = gemini({ vertexai: true, project: 'p' });
  const known = (model: Gemini) =>
    [
      'gemini-3-pro-preview',
      'projects/p/locations/l/publishers/google/models/gemini-3.5-flash',
      'gemini-2.5-flash',
      'gemini-flash-latest',
      'other',
    ].map((name) => model.supportsOutputSchemaWithTools(name));
  expect(known(vertex)).toEqual([true, true, false, false, false]);
  expect(known(gemini())).toEqual([false, false, false, false, false]);
});
