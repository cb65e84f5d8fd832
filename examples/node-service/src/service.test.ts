import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { createTestDatabase } from '@eventloom/test-postgres';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { type Event, getFunctionResponses, StreamingMode } from 'eventloom';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createRunner } from './create-runner.ts';
import { followRun } from './follow-run.ts';
import { createSharedServer } from './many-processes.ts';
import { serveAgents } from './serve-agents.ts';

const SECRET = 'a secret of the tests, which is long enough';

function makeRunner(steps: readonly ScriptedStep[]) {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const lines: string[] = [];
  const model = new ScriptedModel(steps);
  const runner = createRunner(model, folder, (line) => void lines.push(line));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { runner, model, lines };
}

const say = (text: string) => ({ parts: [{ text }] });
const body = (text: string) => ({ appName: 'restaurant', userId: 'ann', sessionId: 's', newMessage: say(text) });

function bearer(sub: string): Record<string, string> {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 60;
  const text = `${encode({ alg: 'HS256' })}.${encode({ sub, iss: 'my-login', aud: 'my-agents', exp })}`;
  return { authorization: `Bearer ${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}` };
}

async function eventsOf(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Returns the texts of events. A resumable run also has events without content, which record its progress. */
const saidIn = (events: readonly Event[]) =>
  events.flatMap(({ content }) => content?.parts?.map(({ text }) => text) ?? []);

test('a callback replaces a model call, and its state is stored with the answer', async () => {
  const { runner, model } = makeRunner([]);
  const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage: say('My card is 4111 1111 1111 1111') });
  expect(saidIn(events)).toEqual(['Please send no card numbers here.']);
  expect(events[0]?.actions.stateDelta).toEqual({ cardsRefused: 1 });
  expect(model.requests).toEqual([]);
});

test('a callback replaces a tool call', async () => {
  const call = { calls: [{ name: 'book_table', args: { people: 30, time: '20:00' } }] };
  const { runner } = makeRunner([call, 'Please call us.']);
  const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage: say('A table for 30 at eight.') });
  expect(events.flatMap(getFunctionResponses)).toMatchObject([
    { response: { error: expect.stringContaining('call us') } },
  ]);
  expect(events.filter(({ actions }) => 'booking' in actions.stateDelta)).toEqual([]);
});

test('a plugin sees every model call of a run, and its end', async () => {
  const usage = (totalTokenCount: number) => ({ response: { usageMetadata: { totalTokenCount } } });
  const call = { calls: [{ name: 'book_table', args: { people: 2, time: '20:00' } }], ...usage(10) };
  const { runner, lines } = makeRunner([call, { text: 'Booked.', ...usage(15) }, new TypeError('no model')]);
  await runner.run({ userId: 'ann', sessionId: 's', newMessage: say('A table for two at eight.') });
  await expect(runner.run({ userId: 'ann', sessionId: 's', newMessage: say('And?') })).rejects.toThrow('no model');
  expect(lines).toEqual(['ann: 25 tokens', 'ann: 0 tokens, failed: the model of agent "host" failed: no model']);
});

test('the plugin counts the tokens of a streamed reply once', async () => {
  const usage = (totalTokenCount: number) => ({ usageMetadata: { totalTokenCount } });
  const chunk = { content: { role: 'model', parts: [{ text: 'Good ' }] }, partial: true, ...usage(8) };
  const { runner, lines } = makeRunner([{ chunks: [chunk, 'day.'], response: usage(15) }]);
  const runConfig = { streamingMode: StreamingMode.SSE };
  await runner.run({ userId: 'ann', sessionId: 's', newMessage: say('Hello'), runConfig });
  expect(lines).toEqual(['ann: 15 tokens']);
});

test('a long conversation continues with a summary of its beginning', async () => {
  const answer: ScriptedStep = ({ contents }) =>
    JSON.stringify(contents).includes('Sum it up')
      ? 'Ann counted.'
      : { text: 'Yes.', response: { usageMetadata: { promptTokenCount: 40_000, totalTokenCount: 40_001 } } };
  const { runner, model } = makeRunner(Array.from({ length: 20 }, () => answer));
  // A summary ends between two events with different times, and these turns take less than a millisecond.
  let nowMs = Date.now();
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => nowMs++);
  onTestFinished(() => clock.mockRestore());
  for (let turn = 0; turn < 9; turn++)
    await runner.run({ userId: 'ann', sessionId: 's', newMessage: say(`Turn ${turn}?`) });
  const asked = model.requests.map(({ request }) => JSON.stringify(request.contents));
  const last = asked.findLast((contents) => !contents.includes('Sum it up')) ?? '';
  expect(['Ann counted.', 'Turn 0?', 'Turn 8?'].map((text) => last.includes(text))).toEqual([true, false, true]);
});

test('an invalid token is refused, and a user cannot reach data of another', async () => {
  const { runner } = makeRunner(['Hello.']);
  const server = await serveAgents(runner, SECRET, 0);
  onTestFinished(() => server.shutDown());
  const url = `http://127.0.0.1:${server.port}`;
  await expect(eventsOf(followRun(url, {}, body('Hi')))).rejects.toThrow('UNAUTHENTICATED');
  await expect(eventsOf(followRun(url, bearer('ben'), body('Hi')))).rejects.toThrow('FORBIDDEN');
  const events = await eventsOf(followRun(url, bearer('ann'), body('Hi')));
  expect(saidIn(events)).toEqual(['Hello.']);
});

test('a guest has fewer model calls, and no request can change that', async () => {
  const calls = { calls: [{ name: 'book_table', args: { people: 2, time: '20:00' } }] };
  const { runner, model } = makeRunner(Array.from({ length: 9 }, () => calls));
  const server = await serveAgents(runner, SECRET, 0);
  onTestFinished(() => server.shutDown());
  const url = `http://127.0.0.1:${server.port}`;
  const asked = { ...body('Hi'), userId: 'guest-1' };
  await expect(eventsOf(followRun(url, bearer('guest-1'), { ...asked, maxLlmCalls: 9 } as never))).rejects.toThrow(
    'maxLlmCalls: is set on the server',
  );
  await expect(eventsOf(followRun(url, bearer('guest-1'), asked))).rejects.toThrow('LLM_CALL_LIMIT');
  expect(model.calls).toBe(5);
});

test('a custom protocol streams lines, continues after a reconnect, and authenticates the user', async () => {
  const { runner } = makeRunner([{ chunks: ['one ', 'two'] }, 'whole']);
  const server = await serveAgents(runner, SECRET, 0);
  onTestFinished(() => server.shutDown());
  const chat = `http://127.0.0.1:${server.port}/chats/restaurant/ann/s`;
  const send = (who: string) =>
    fetch(chat, { method: 'POST', headers: bearer(who), body: JSON.stringify({ text: 'Hi' }) });
  expect((await send('ben')).status).toBe(403);
  const response = await send('ann');
  const text = await response.text();
  expect(text.replaceAll(/^id: .*\n/gm, '')).toBe('data: "one "\n\ndata: "two"\n\ndata: [DONE]\n\n');
  const [, first] = /^id: (.*)$/m.exec(text) ?? [];
  const runId = response.headers.get('eventloom-invocation-id');
  const rest = await fetch(`${chat}/answers/${runId}?after=${first}`, { headers: bearer('ann') });
  expect(await rest.text()).toBe(text.slice(text.indexOf('id:', 3)));
  expect(await (await send('ann')).text()).toContain('data: "whole"\n\n');
});

test('a client that reconnects sees every event once', async () => {
  const gate = new Gate();
  const { runner } = makeRunner([{ chunks: ['one ', gate, 'two ', 'three'] }]);
  const server = createServer({ runners: [runner], limits: { heartbeatMs: 60_000 } });
  const listening = await serve(server, { port: 0 });
  onTestFinished(() => listening.shutDown());
  // This `fetch` ends the first response after its first event.
  const { fetch } = globalThis;
  onTestFinished(() => void (globalThis.fetch = fetch));
  let connections = 0;
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (++connections > 1 || !response.body) return response;
    const reader = response.body.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    gate.open();
    return new Response(value, { headers: response.headers });
  };
  const events = await eventsOf(followRun(listening.url, {}, { ...body('Count.'), streaming: true }));
  expect(saidIn(events)).toEqual(['one ', 'two ', 'three', 'one two three']);
  expect(connections).toBe(3);
});

test('a message whose answer was lost is sent again and runs once', async () => {
  const { runner, model } = makeRunner(['Hello.', 'never']);
  const listening = await serve(createServer({ runners: [runner] }), { port: 0 });
  onTestFinished(() => listening.shutDown());
  const { fetch } = globalThis;
  onTestFinished(() => void (globalThis.fetch = fetch));
  const asked: unknown[] = [];
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    asked.push(init?.method);
    if (asked.length > 1) return response;
    await response.body?.cancel();
    throw new TypeError('the connection was lost');
  };
  expect(saidIn(await eventsOf(followRun(listening.url, {}, body('Hi'))))).toEqual(['Hello.']);
  // The last response has status 204: there are no further events.
  expect([asked, model.requests.length]).toEqual([['POST', 'POST', undefined], 1]);
});

test('a run stopped by its server is followed on the next one, with every event once', async () => {
  const gate = new Gate();
  const call = { calls: [{ name: 'book_table', args: { people: 2, time: '20:00' } }] };
  const { runner } = makeRunner([call, { gate, text: 'never' }, 'Booked.']);
  const first = await serve(createServer({ runners: [runner] }), { port: 0, drainMs: 0 });
  const following = eventsOf(followRun(first.url, {}, body('A table for two at eight.')));
  await gate.reached;
  await first.shutDown();
  const second = await serve(createServer({ runners: [runner] }), { port: first.port });
  onTestFinished(() => second.shutDown());
  const events = await following;
  expect(saidIn(events).filter(Boolean)).toEqual(['Booked.']);
  expect(events.flatMap(getFunctionResponses)).toHaveLength(1);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
});

test('the client gets the error of a run that fails after its first event', async () => {
  const call = { calls: [{ name: 'book_table', args: { people: 2, time: '20:00' } }] };
  const { runner } = makeRunner([call, new TypeError('no model')]);
  const listening = await serve(createServer({ runners: [runner], onError: () => undefined }), { port: 0 });
  onTestFinished(() => listening.shutDown());
  await expect(eventsOf(followRun(listening.url, {}, body('A table for two.')))).rejects.toThrow(
    '"code":"MODEL_ERROR"',
  );
});

test('a run is followed through a process that does not host it', async () => {
  const database = await createTestDatabase();
  const model = new ScriptedModel(['Hello.']);
  const [one, other] = [createSharedServer(database.url, model), createSharedServer(database.url, model)];
  const send = (server: typeof one.server, path: string, init?: RequestInit) =>
    server.fetch(new Request(`http://localhost${path}`, init));
  const answer = await send(one.server, '/run_sse', { method: 'POST', body: JSON.stringify(body('Hi')) });
  await answer.text();
  const runId = answer.headers.get('eventloom-invocation-id');
  const path = `/apps/restaurant/users/ann/sessions/s/runs/${runId}`;
  const read = await send(other.server, path);
  expect(await read.text()).toContain('Hello.');
  for (const { server, close } of [one, other]) {
    await server.drain(0);
    await close();
  }
  await database.drop();
});
