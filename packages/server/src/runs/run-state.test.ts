import { createEvent, type Event, type Part, systemPlatform } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { readRunState } from './run-state.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const invocationId = 'e-1';

test('the state of a waiting run is read to the end of its session, with other work in between', async () => {
  const service = new InMemorySessionService();
  const session = await service.createSession(KEY);
  const message = createEvent({ id: 'm', invocationId, author: 'user', content: { parts: [{ text: 'hi' }] } });
  const { lease } = await service.beginRun({ ...KEY, invocationId, message });
  const functionCall = { id: 'c', name: 'order', args: { text: 'x'.repeat(1000) } };
  const call = { content: { parts: [{ functionCall }] }, longRunningToolIds: ['c'] };
  await service.endRun(lease, { session, event: createEvent({ id: 'c', invocationId, author: 'bot', ...call }) });
  const state = async () => {
    let hasRun = false;
    systemPlatform.schedule(0, () => (hasRun = true));
    const run = await service.findRun({ ...KEY, id: invocationId });
    const read = await readRunState(service, systemPlatform, KEY, run ?? expect.unreachable());
    return [read, hasRun];
  };
  const append = (id: string, parts: object[]) =>
    service.appendEvent({
      session,
      event: createEvent({ id, invocationId: 'e-2', author: 'user', content: { parts } }),
    });
  for (let count = 0; count < 300; count++) await append(String(count), [{ text: 'more' }]);
  expect(await state()).toEqual([{ invocationId, state: 'waiting', waitingFor: ['c'] }, true]);
  await append('answer', [{ functionResponse: { id: 'c', name: 'order', response: { ok: true } } }]);
  expect(await state()).toEqual([{ invocationId, state: 'completed' }, true]);
});

test('the output of a completed run is the text of its last final response', async () => {
  const service = new InMemorySessionService();
  const session = await service.createSession(KEY);
  const message = createEvent({ id: 'm', invocationId, author: 'user', content: { parts: [{ text: 'hi' }] } });
  const { lease } = await service.beginRun({ ...KEY, invocationId, message });
  let count = 0;
  const event = (parts: Part[], fields: Partial<Event> = {}): Event =>
    createEvent({ id: `e${++count}`, invocationId, author: 'bot', content: { role: 'model', parts }, ...fields });
  const call = { functionCall: { id: 'c', name: 'look' } };
  for (const each of [
    event([{ text: 'Let me look.' }, call]),
    event([{ functionResponse: { id: 'c', name: 'look', response: {} } }]),
    event([{ text: 'It is', thought: true }, { text: 'Sunny' }, { text: ' today.' }]),
    // An agent that was called as a tool, and what only records the state of agents.
    event([{ text: 'inner' }], { branch: 'bot.helper@c' }),
    createEvent({ id: 'b', invocationId, author: 'bot', actions: { endOfAgent: true } }),
  ])
    await service.appendEvent({ session, event: each, lease });
  await service.endRun(lease, { session });
  await service.appendEvent({ session, event: event([{ text: 'another run' }], { invocationId: 'e-2' }) });
  const read = async () => {
    const run = await service.findRun({ ...KEY, id: invocationId });
    return readRunState(service, systemPlatform, KEY, run ?? expect.unreachable());
  };
  expect(await read()).toEqual({ invocationId, state: 'completed', output: 'Sunny today.' });
});
