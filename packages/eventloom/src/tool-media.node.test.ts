import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { FunctionTool, InMemoryRunner, LlmAgent, type Part, toolResult } from './index.ts';

const PNG = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
const WAV = { inlineData: { mimeType: 'audio/wav', data: 'aGk=' } };

/** Returns the request that Gemini receives after a tool returned media. */
async function sentTo(model: string, parts: Part[]): Promise<unknown> {
  const call = { id: 'c1', name: 'shoot', args: {} };
  await using server = await FakeGeminiServer.start([
    jsonReply(wireResponse({ calls: [call] })),
    jsonReply(wireResponse('I see.')),
  ]);
  const shoot = new FunctionTool({
    name: 'shoot',
    description: 'Takes a screenshot.',
    execute: () => toolResult({ response: { page: 3 }, parts }),
  });
  const runner = new InMemoryRunner({
    agent: new LlmAgent({ name: 'bot', model, tools: [shoot] }),
    gemini: { apiKey: 'a-test-key', baseUrl: server.url },
    autoCreateSession: true,
  });
  await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'Look.' }] } });
  server.assertConsumed();
  const body = server.requests[1]?.body as { readonly contents: readonly unknown[] } | undefined;
  return body?.contents.at(-1);
}

const RESPONSE = { id: 'c1', name: 'shoot', response: { page: 3 } };

test('Gemini 3 receives images inside the function response, and other media after it', async () => {
  expect(await sentTo('gemini-3-pro-preview', [PNG, WAV])).toEqual({
    role: 'user',
    parts: [{ functionResponse: { ...RESPONSE, parts: [PNG] } }, WAV],
  });
});

test('an older Gemini receives the media after the function response', async () => {
  expect(await sentTo('gemini-2.5-flash', [PNG])).toEqual({
    role: 'user',
    parts: [{ functionResponse: RESPONSE }, PNG],
  });
});
