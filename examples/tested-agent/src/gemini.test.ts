import { errorReply, FakeGeminiServer, sseReply, wireChunks } from '@eventloom/testing/fake-gemini';
import { InMemoryRunner, isFinalResponse, StreamingMode, stringifyContent } from 'eventloom';
import { expect, test } from 'vitest';
import { agent } from './agent.ts';

test('the agent answers after an overload of Gemini', async () => {
  const server = await FakeGeminiServer.start([
    errorReply({ code: 503, status: 'UNAVAILABLE' }),
    sseReply(wireChunks(['Good ', 'morning!'])),
  ]);
  const gemini = { apiKey: 'test', baseUrl: server.url, retry: { initialDelayMs: 1 } };
  const runner = new InMemoryRunner({ agent, gemini, autoCreateSession: true });
  const newMessage = { role: 'user', parts: [{ text: 'Hi' }] };
  const runConfig = { streamingMode: StreamingMode.SSE };
  const events = await runner.run({ userId: 'ann', sessionId: 's1', newMessage, runConfig });

  expect(events.filter(isFinalResponse).map(stringifyContent)).toEqual(['Good morning!']);
  // The requests as they were on the wire.
  expect(server.requests.map(({ body }) => body.contents)).toEqual([[newMessage], [newMessage]]);
  server.assertConsumed();
  await server.close();
});
