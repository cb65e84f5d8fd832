import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { ask, modelsOf, requestOf } from './fixtures/asked-gemini.ts';
import { DistantGemini } from './fixtures/distant-gemini.ts';

const server = DistantGemini.forEachTest();

const gemini = modelsOf(server, { retry: { attempts: 1 } });

test('the request may name another model', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  await ask(gemini(), { ...requestOf('Hi'), model: 'models/gemini-2.5-pro' });
  expect((await server.requests())[0]?.model).toBe('gemini-2.5-pro');
});

test('apiVersion, headers and extra body fields are sent', async () => {
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

test('function declarations are sent in one list, and calls arrive with their arguments', async () => {
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

test('thoughts and thought signatures arrive and are sent back unchanged', async () => {
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

test('bytes are sent as standard base64, without display names and labels', async () => {
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

test('responseJsonSchema is sent with the MIME type application/json', async () => {
  const responseJsonSchema = { type: 'object', properties: { n: { type: 'integer' } } };
  await server.enqueue(jsonReply(wireResponse('{"n":1}')));
  await ask(gemini(), requestOf('A number', { responseJsonSchema }));
  expect((await server.requests())[0]?.body.generationConfig).toEqual({
    responseJsonSchema,
    responseMimeType: 'application/json',
  });
});

test('a user content is added if the contents do not end with one', async () => {
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

test('on Vertex AI the path has project and location, and labels and display names are sent', async () => {
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

test('partial calls in the history are sent without willContinue', async () => {
  await server.enqueue(jsonReply(wireResponse('x')));
  const call = { role: 'model', parts: [{ functionCall: { name: 'f', args: {}, willContinue: false } }] };
  const answer = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] };
  await ask(gemini(), requestOf([{ role: 'user', parts: [{ text: 'a' }] }, call, answer]));
  expect((await server.requests())[0]?.body.contents?.[1]).toEqual({
    role: 'model',
    parts: [{ functionCall: { name: 'f', args: {} } }],
  });
});
