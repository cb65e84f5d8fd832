import { type BeginRunRequest, type BegunRun, type MaybePromise, type Platform, systemPlatform } from '@eventloom/core';
import { ManualPlatform } from '@eventloom/core/conformance';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { UserQueues } from './in-slices.ts';
import { KEY, serverScenario } from '../fixtures/server-scenario.ts';

test.each([
  ['ann', 'ann', 'ann'],
  ['ann', 'bob', 'eve'],
])('reads of %s, %s and %s begin one by one, after other work has run', async (...users) => {
  const platform = new ManualPlatform();
  const turns = new UserQueues(platform);
  let begun = 0;
  // A store in the same process answers without a pause.
  const reads = users.map((userId) => turns.run(userId, async () => ++begun));
  for (const count of [1, 2, 3]) {
    await reads[count - 1];
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toBe(count);
    platform.advance(0);
  }
});

test('other work runs after a large message is parsed and before it is stored', async () => {
  let turns = 0;
  let turnsBefore: number | undefined;
  const platform: Platform = {
    ...systemPlatform,
    schedule: (delayMs, callback, options) =>
      systemPlatform.schedule(
        delayMs,
        () => {
          if (delayMs === 0) turns++;
          callback();
        },
        options,
      ),
  };
  class NotingService extends InMemorySessionService {
    override beginRun(request: BeginRunRequest): MaybePromise<BegunRun> {
      turnsBefore = turns;
      return super.beginRun(request);
    }
  }
  const sessionService = new NotingService();
  const app = await serverScenario({ steps: ['done', 'done'], sessionService, hasSession: false, platform });
  const send = async (chars: number) => {
    const response = await app.send('POST', '/run', { ...KEY, newMessage: { parts: [{ text: 'x'.repeat(chars) }] } });
    expect(response.status).toBe(200);
    return turnsBefore;
  };
  expect(await send(10)).toBe(0);
  expect(await send(200_000)).toBeGreaterThan(0);
});
