import { systemPlatform } from '@eventloom/core';
import { expect, test } from 'vitest';
import { KEY, serverScenario } from '../fixtures/server-scenario.ts';

test('kept runs do not keep the process alive', async () => {
  const waited: number[] = [];
  const platform: typeof systemPlatform = {
    ...systemPlatform,
    schedule(delayMs, callback, options) {
      if (options?.idle !== true) waited.push(delayMs);
      return systemPlatform.schedule(delayMs, callback, { idle: true });
    },
  };
  const { server, send } = await serverScenario({ steps: ['done'], platform, limits: { keepRunsMs: 123_456 } });
  const { status } = await send('POST', '/run', { ...KEY, newMessage: { parts: [{ text: 'hi' }] } });
  await server.drain(0);
  expect([status, waited.filter((delayMs) => delayMs > 100_000)]).toEqual([200, []]);
});
