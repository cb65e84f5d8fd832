import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { InMemoryRunner, LlmAgent } from './index.ts';

test('a Gemini agent caches the beginning of its requests from the second request on', async () => {
  const answer = jsonReply(wireResponse({ text: 'Yes.', usage: { promptTokenCount: 5000 } }));
  const made = jsonReply({ name: 'cachedContents/c1' });
  await using server = await FakeGeminiServer.start([answer, made, answer, answer]);
  const runner = new InMemoryRunner({
    agent: new LlmAgent({ name: 'bot', model: 'gemini-2.5-flash', instruction: 'Be kind.' }),
    gemini: { apiKey: 'a-test-key', baseUrl: server.url },
    autoCreateSession: true,
    contextCacheConfig: {},
  });
  const ask = (text: string) => runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text }] } });
  await ask('one');
  await ask('two');
  const [event] = await ask('three');
  expect(event?.cacheMetadata).toMatchObject({ cacheName: 'cachedContents/c1', contentsCount: 2, invocationsUsed: 2 });
  expect(server.requests[3]?.body).toEqual({
    generationConfig: {},
    cachedContent: 'cachedContents/c1',
    contents: ['two', 'Yes.', 'three'].map((text, index) => ({
      role: index === 1 ? 'model' : 'user',
      parts: [{ text }],
    })),
  });
  server.assertConsumed();
});
