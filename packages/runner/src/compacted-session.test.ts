import { createEvent, type Event, type HistoryPointer } from '@eventloom/core';
import { fixedPlatform, functionCallEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { CountingService } from './fixtures/counting-service.ts';
import { IDS, KEY, scenario } from './fixtures/scenario.ts';

/** A session of 100 turns, of which the first 95 were compacted before the last one began, and a runner without a cache of it. */
async function setUp(extra: readonly Event[] = []) {
  const platform = fixedPlatform();
  const sessionService = new CountingService({ platform });
  const { model, runner, session: read } = await scenario({ model: ['yes', 'yes'], sessionService, platform });
  const session = await read();
  const append = async (event: Event): Promise<Event> => sessionService.appendEvent({ session, event });
  for (let turn = 1; turn <= 100; turn++) {
    const extras = { timestamp: turn, invocationId: `e-${turn}` };
    await append(userEvent(`u${turn}`, { ...extras, id: `u${turn}` }));
    await append(modelEvent('bot', `m${turn}`, { ...extras, id: `m${turn}` }));
    if (turn === 50) for (const event of extra) await append(event);
    const pointer = { seq: session.lastSeq + 1, keptFrom: 191 + extra.length };
    if (turn === 99) await append(compaction(0, 95, pointer));
  }
  const texts = () =>
    model.requests.at(-1)?.request.contents.map(({ parts }) => parts?.[0]?.text ?? parts?.[0]?.functionCall?.name);
  return { runner, sessionService, session, append, texts, model };
}

function compaction(startTimestamp: number, endTimestamp: number, history: HistoryPointer): Event {
  const compactedContent = { role: 'model', parts: [{ text: `summary to ${endTimestamp}` }] };
  return createEvent({
    id: `c${endTimestamp}`,
    invocationId: 'e-compaction',
    author: 'user',
    timestamp: 99.5,
    actions: { compaction: { startTimestamp, endTimestamp, compactedContent }, history },
  });
}

const SINCE = ['summary to 95', ...[96, 97, 98, 99, 100].flatMap((turn) => [`u${turn}`, `m${turn}`])];

test('a cold process reads only events since the last compaction, and the model gets the same contents', async () => {
  const { runner, sessionService, texts } = await setUp();
  await runner.run({ ...IDS, newMessage: { parts: [{ text: 'go' }] } });
  // One page from the end has all effective events.
  expect(sessionService.read).toBe(100);
  expect(texts()).toEqual([...SINCE, 'go']);
  sessionService.read = 0;
  await runner.run({ ...IDS, newMessage: { parts: [{ text: 'on' }] } });
  // The last event of the cached ones.
  expect(sessionService.read).toBe(1);
  expect(texts()).toEqual([...SINCE, 'go', 'yes', 'on']);
});

test('all events are read if getSessionConfig asks for them', async () => {
  const { runner, sessionService, texts } = await setUp();
  const runConfig = { getSessionConfig: {} };
  await runner.run({ ...IDS, newMessage: { parts: [{ text: 'go' }] }, runConfig });
  expect(sessionService.read).toBe(201);
  expect(texts()).toEqual([...SINCE, 'go']);
});

test('a session rewound to before the compaction is read whole', async () => {
  const { runner, append, texts } = await setUp();
  await append(
    createEvent({
      id: 'r',
      invocationId: 'e-r',
      author: 'user',
      timestamp: 101,
      actions: { rewindBeforeInvocationId: 'e-3' },
    }),
  );
  await runner.run({ ...IDS, newMessage: { parts: [{ text: 'go' }] } });
  expect(texts()).toEqual(['u1', 'm1', 'u2', 'm2', 'go']);
});

test('an answer finds its call from before the compaction', async () => {
  const call = functionCallEvent('bot', [{ id: 'late', name: 'ask', args: {} }], {
    timestamp: 50.5,
    invocationId: 'e-50',
    longRunningToolIds: ['late'],
  });
  const { runner, sessionService } = await setUp([call]);
  const response = { id: 'late', name: 'ask', response: { ok: true } };
  await runner.run({ ...IDS, newMessage: { parts: [{ functionResponse: response }] } });
  expect(sessionService.read).toBeGreaterThan(200);
  const stored = await sessionService.getSession(KEY);
  expect(stored?.events.some((event) => event.content?.parts?.[0]?.functionResponse?.id === 'late')).toBe(true);
});
