import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { countedObjects } from './fixtures/counted-objects.ts';

const BODY = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'x' }] } });

/** A Worker that admits this number of bodies at the same time, and whose objects answer when they are released. */
function createWorker(perUser: number, total: number) {
  const gate = new Gate();
  const { users, bindings } = countedObjects(async () => {
    await gate.pass();
    return new Response('handed on');
  });
  const { handler } = createCloudflareServer({
    appNames: ['app'],
    runners: () => [],
    onError: () => undefined,
    authenticate: () => (request) => ({ userId: request.headers.get('authorization') ?? '' }),
    limits: { maxBodyBytesInFlightPerUser: perUser * BODY.length, maxBodyBytesInFlight: total * BODY.length },
  });
  const send = async (userId: string): Promise<unknown> => {
    const body = BODY.replace('ann', userId);
    const headers = { authorization: userId, 'content-length': String(body.length) };
    const response = await handler.fetch(
      new Request('https://agents.example/run', { method: 'POST', headers, body }),
      bindings,
    );
    const text = await response.text();
    return text === 'handed on' ? text : [response.status, (JSON.parse(text) as { code: string }).code];
  };
  return { send, gate, users };
}

test('bodies of one user that wait for the object are limited, and other users are not affected', async () => {
  const { send, gate, users } = createWorker(1, 3);
  const first = send('ann');
  await gate.reached;
  expect(await send('ann')).toEqual([429, 'USER_LIMIT']);
  const other = send('bob');
  gate.open();
  expect(await Promise.all([first, other])).toEqual(['handed on', 'handed on']);
  expect(await send('ann')).toBe('handed on');
  expect(users).toEqual(['ann', 'bob', 'ann'].map((userId) => JSON.stringify(['app', userId])));
});

test('bodies of all users together are limited', async () => {
  const { send, gate } = createWorker(1, 1);
  const first = send('ann');
  await gate.reached;
  expect(await send('bob')).toEqual([503, 'SERVER_BUSY']);
  gate.open();
  expect(await first).toBe('handed on');
});
