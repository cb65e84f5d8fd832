import { systemPlatform } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { createServer } from '../create-server.ts';

test('kept runs do not keep the process alive', async () => {
  const waited: number[] = [];
  const platform: typeof systemPlatform = {
    ...systemPlatform,
    schedule(delayMs, callback, options) {
      if (options?.idle !== true) waited.push(delayMs);
      return systemPlatform.schedule(delayMs, callback, { idle: true });
    },
  };
  const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(['done']) });
  const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
  const server = createServer({ runners: [runner], platform, limits: { keepRunsMs: 123_456 } });
  const post = (path: string, body: object) =>
    server.fetch(new Request(`http://localhost${path}`, { method: 'POST', body: JSON.stringify(body) }));
  await post('/apps/app/users/ann/sessions/s', {});
  const newMessage = { parts: [{ text: 'hi' }] };
  const { status } = await post('/run', { appName: 'app', userId: 'ann', sessionId: 's', newMessage });
  await server.drain(0);
  expect([status, waited.filter((delayMs) => delayMs > 100_000)]).toEqual([200, []]);
});
