import type { Event } from '@eventloom/core';
import type { ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { serveApp } from '../fixtures/server-scenario.ts';

const sessionOf = (userId: string) => `/apps/app/users/${userId}/sessions/s`;

async function setUp(...steps: ScriptedStep[]) {
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const { send: request, sessionService } = serveApp({
    steps,
    agent: { tools: [wait] },
    runner: { resumable: true },
    authenticate: ({ headers }) => ({ userId: headers.get('authorization') ?? '' }),
  });
  const send = async (userId: string, path: string, body?: object) => {
    const response = await request(body === undefined ? 'GET' : 'POST', path, body, { authorization: userId });
    return {
      status: response.status,
      text: await response.text(),
      id: response.headers.get('Eventloom-Invocation-Id'),
    };
  };
  const run = (userId: string, body: object) =>
    send(userId, '/run', { appName: 'app', userId, sessionId: 's', ...body });
  for (const userId of ['ann', 'bob']) await send(userId, sessionOf(userId), {});
  return { send, run, sessionService };
}

const HI = { newMessage: { parts: [{ text: 'hi' }] } };

test.each(['ann', 'bob'])('the kept log of a run stays when its resume is refused: %s', async (userId) => {
  const { send, run } = await setUp('done');
  const { id } = await run('ann', HI);
  const read = () => send('ann', `${sessionOf('ann')}/runs/${id}`);
  const before = await read();
  expect([before.status, before.text]).toEqual([200, expect.stringContaining('done')]);
  expect((await run(userId, { invocationId: id })).status).toBe(userId === 'bob' ? 404 : 400);
  expect(await read()).toEqual(before);
});

test('a request that waits for one session does not block the same run id in another', async () => {
  const { run, sessionService } = await setUp({ calls: [{ id: 'c', name: 'wait' }] }, 'done');
  const { id, text } = await run('ann', HI);
  expect((JSON.parse(text) as Event[]).at(-1)?.longRunningToolIds).toEqual(['c']);
  const lease = await sessionService.acquireLease({ appName: 'app', userId: 'bob', sessionId: 's' });
  const waiting = run('bob', { invocationId: id });
  const answer = { newMessage: { parts: [{ functionResponse: { id: 'c', response: {} } }] }, onBusy: 'reject' };
  const answered = await run('ann', answer);
  expect([answered.status, answered.id]).toEqual([200, id]);
  await sessionService.releaseLease(lease);
  expect((await waiting).status).toBe(404);
});
