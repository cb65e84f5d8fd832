import { type CreateSessionRequest, type Platform, type Session, systemPlatform } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { serveApp } from '../fixtures/server-scenario.ts';

/** A server, and the number of times that it let other work run. */
function setUp() {
  const turns = { beforeCreation: 0, total: 0 };
  const platform: Platform = {
    ...systemPlatform,
    schedule: (delayMs, callback, options) => {
      if (delayMs === 0) turns.total++;
      return systemPlatform.schedule(delayMs, callback, options);
    },
  };
  class CountingService extends InMemorySessionService {
    override createSession(request: CreateSessionRequest): Promise<Session> {
      turns.beforeCreation = turns.total;
      return super.createSession(request);
    }
  }
  const { send } = serveApp({ sessionService: new CountingService(), platform });
  const create = (events: readonly object[]) => send('POST', '/apps/app/users/ann/sessions', { events });
  return { create, turns };
}

const event = (chars: number, index: number) => ({
  id: `event ${index}`,
  author: 'user',
  invocationId: `e-${index}`,
  content: { role: 'user', parts: [{ text: 'x'.repeat(chars) }] },
});

test.each([
  ['many small events', 4000, 1000],
  ['few large events', 8, 500_000],
])('other work runs while %s of a new session are checked, and while they are stored', async (_what, count, chars) => {
  const { create, turns } = setUp();
  const response = await create(Array.from({ length: count }, (_, index) => event(chars, index)));
  expect(response.status).toBe(200);
  const { events } = (await response.json()) as { readonly events: readonly { readonly id: string }[] };
  expect(events.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, index) => `event ${index}`));
  // The keys are counted, the entries are counted, and the events are read.
  expect(turns.beforeCreation).toBeGreaterThanOrEqual(3 * 7);
  expect(turns.total - turns.beforeCreation).toBeGreaterThanOrEqual(7);
});

test('a new session with few small events is stored in one step', async () => {
  const { create, turns } = setUp();
  expect((await create([event(10, 1), event(10, 2)])).status).toBe(200);
  // The answer takes one turn, and so does the place of the request, which it returns.
  expect(turns).toEqual({ beforeCreation: 0, total: 2 });
});
