import { Gate } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import type { EventloomServer } from '../create-server.ts';
import { setUp } from '../runs/fixtures/left-runs.ts';

const RUNS = '/apps/app/users/ann/sessions/s/runs';
/** Unfinished runs are finished only when a message needs their session. */
const limits = { unfinishedRunsEveryMs: 0 };

async function begin(server: EventloomServer, more: object = {}, headers: Record<string, string> = {}) {
  const body = JSON.stringify({ newMessage: { parts: [{ text: 'and now?' }] }, ...more });
  return server.fetch(new Request(`http://localhost${RUNS}`, { method: 'POST', body, headers }));
}

test('a run that waits for an open run is answered after its message is stored', async () => {
  const { leave, serve, eventsOf } = setUp();
  const gate = new Gate();
  const left = await leave('s');
  const server = serve(['done', { gate, text: 'never' }], { limits });
  const response = await begin(server);
  const { invocationId } = (await response.json()) as { invocationId: string };
  expect([response.status, response.headers.get('location')]).toEqual([202, `${RUNS}/${invocationId}`]);
  const events = await eventsOf('s');
  expect(events.at(-1)).toMatchObject({ author: 'user', invocationId });
  expect(events.at(-2)).toMatchObject({ object: 'runner.end', invocationId: left.invocationId });
  gate.open();
});

test.each([
  ['is finished first', true, {}, 30],
  ['is finished first, for a client that waits for less', true, { prefer: 'respond-async, WAIT=5' }, 5],
  ['is in flight', false, {}, 30],
  ['is in flight, for a client that waits for less', false, { prefer: 'wait="7"' }, 7],
])(
  "a run that waits for a run that %s does not begin once the client's wait has ended",
  async (_, isLeft, headers, seconds) => {
    const { leave, serve, eventsOf, platform, sessions, open } = setUp();
    const waits = vi.spyOn(platform, 'schedule');
    const gate = new Gate();
    if (isLeft) await leave('s');
    else await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const server = serve([{ gate, text: 'done' }, 'answer'], { limits });
    const first = isLeft ? undefined : await begin(server);
    waits.mockClear();
    let answered: Response | undefined;
    const response = begin(server, { requestId: 'r-1' }, headers).then((answer) => (answered = answer));
    await gate.reached;
    await expect.poll(() => waits.mock.calls.some(([delayMs]) => delayMs === seconds * 1000)).toBe(true);
    platform.advance(seconds * 1000 - 1000);
    expect(answered).toBeUndefined();
    const before = await eventsOf('s');
    await expect.poll(() => platform.advance(1000) === undefined && answered).toBeTruthy();
    const { status, headers: answer } = await response;
    expect([status, answer.get('retry-after'), answer.get('location')]).toEqual([409, '1', null]);
    expect(await (await response).json()).toEqual({
      error: expect.stringContaining(`within ${seconds} s`),
      code: 'SESSION_BUSY',
      // The address of the run that holds the session.
      run: `${RUNS}/${(await open())[0]?.invocationId}`,
    });
    expect(await eventsOf('s')).toEqual(before);
    // The run that blocked the request continues, and the same request is accepted afterwards.
    gate.open();
    await expect.poll(async () => (await open()).length).toBe(0);
    const again = await begin(server, { requestId: 'r-1' });
    expect(again.status).toBe(202);
    await expect.poll(async () => (await open()).length).toBe(0);
    const texts = (await eventsOf('s')).flatMap(({ content }) => content?.parts?.map(({ text }) => text) ?? []);
    expect(texts.slice(-3)).toEqual(['done', 'and now?', 'answer']);
    expect(first?.status ?? 202).toBe(202);
  },
);
