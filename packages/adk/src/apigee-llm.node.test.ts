import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { afterEach, expect, test, vi } from 'vitest';
import { ApigeeLlm, Gemini, InMemoryRunner, LlmAgent, LLMRegistry, stringifyContent } from './index.ts';

afterEach(() => vi.unstubAllEnvs());

test('requests go to the proxy, with the name of the model and the version of the API', async () => {
  await using server = await FakeGeminiServer.start([jsonReply(wireResponse('Hello.'))]);
  const model = new ApigeeLlm({ model: 'apigee/gemini/v1beta/gemini-2.5-flash', proxyUrl: server.url });
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'helper', model }) });
  const texts: string[] = [];
  for await (const event of runner.runEphemeral({ userId: 'ann', newMessage: { parts: [{ text: 'Hi' }] } }))
    texts.push(stringifyContent(event));
  expect(texts).toEqual(['Hello.']);
  expect(server.requests[0]).toMatchObject({
    path: '/v1beta/models/gemini-2.5-flash:generateContent',
    headers: { 'x-goog-api-key': '-' },
  });
});

test('an agent names a model of Apigee by a string, with the proxy of the environment', async () => {
  await using server = await FakeGeminiServer.start([jsonReply(wireResponse('Hello.'))]);
  vi.stubEnv('APIGEE_PROXY_URL', server.url);
  vi.stubEnv('GOOGLE_GENAI_API_KEY', 'key-1');
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'helper', model: 'apigee/gemini-2.5-flash' }) });
  for await (const _ of runner.runEphemeral({ userId: 'ann', newMessage: { parts: [{ text: 'Hi' }] } }));
  expect(server.requests[0]).toMatchObject({ model: 'gemini-2.5-flash', headers: { 'x-goog-api-key': 'key-1' } });
  expect(LLMRegistry.resolve('apigee/gemini-2.5-flash')).toBe(ApigeeLlm);
});

test.each([
  'gemini-2.5-flash',
  'projects/p/locations/l/endpoints/1',
  'projects/p/locations/l/publishers/google/models/gemini-2.5-flash',
])('the model %s is one of Gemini', (model) => {
  expect(LLMRegistry.resolve(model)).toBe(Gemini);
});

test.each(['gemini-2.5-flash', 'apigee/', 'apigee/other/gemini', 'apigee/gemini/1/x', 'apigee/gemini/v1/x/y'])(
  'the name %s is refused',
  (model) => {
    expect(() => new ApigeeLlm({ model, proxyUrl: 'https://apigee.test' })).toThrow(
      'ApigeeLlm: model: expected apigee/',
    );
  },
);

test('a model without a proxy is refused', () => {
  expect(() => new ApigeeLlm({ model: 'apigee/gemini-2.5-flash' })).toThrow('ApigeeLlm: proxyUrl is missing');
});
