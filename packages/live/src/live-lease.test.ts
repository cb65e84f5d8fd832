import type { Event } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { summaryOf } from './fixtures/event-summary.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { IDS } from '../../runner/src/fixtures/scenario.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

test('a run that loses its session to another one ends with StaleWriterError', async () => {
  const { queue, stream, model, startLive } = await liveScenario({ model: [[{ heard: 'content' }, 'a'], []] });
  queue.sendContent(user('hi'));
  const reading = readTurns(stream, queue);
  await (await model.connection(0)).heard('content');
  const other = new LiveRequestQueue();
  const next = readTurns(startLive(other, { runConfig: { onBusy: 'interrupt' } }), other);
  await expect(reading).rejects.toMatchObject({ code: 'STALE_WRITER' });
  await model.connection(1);
  other.close();
  expect(await next).toEqual([]);
});

test('speech so far is stored before another run takes over the session', async () => {
  const spoken = [{ inputTranscription: { text: 'I live at ' } }, { outputTranscription: { text: 'Noted, ' } }];
  const { queue, stream, stored, startLive } = await liveScenario({
    model: [[{ heard: 'content' }, call('slow', 'c1'), ...spoken], []],
    agent: { tools: [new FunctionTool({ name: 'slow', description: '', execute: () => new Promise(() => {}) })] },
  });
  queue.sendContent(user('hi'));
  const other = new LiveRequestQueue();
  other.close();
  let next: Promise<Event[]> | undefined;
  const reading = (async () => {
    for await (const event of stream) {
      if (!event.outputTranscription?.text || next) continue;
      const runConfig = { onBusy: 'interrupt' } as const;
      next = readTurns(startLive(other, { runConfig }), other);
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'STALE_WRITER' });
  expect(await next).toEqual([]);
  expect((await stored()).map((event) => summaryOf(event).replace(/,"message.*/, ''))).toEqual([
    'user: hi',
    'bot: slow()',
    'bot: slow={"error":"interrupted"',
    'user: hears I live at ',
    'bot: speaks Noted,  interrupted',
    'app: RUN_ABANDONED',
  ]);
});

test('speech so far is stored before a rewind takes over the session', async () => {
  const spoken = [{ inputTranscription: { text: 'I live at ' } }, { outputTranscription: { text: 'Noted, ' } }];
  const { runner, queue, stream, stored } = await liveScenario({ model: [[{ heard: 'content' }, ...spoken]] });
  queue.sendContent(user('hi'));
  let rewound: Promise<Event> | undefined;
  const reading = (async () => {
    for await (const { invocationId, outputTranscription } of stream) {
      if (!outputTranscription?.text) continue;
      rewound ??= runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: invocationId, onBusy: 'interrupt' });
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'STALE_WRITER' });
  expect((await rewound)?.actions.rewindBeforeInvocationId).toBe(stream.invocationId);
  expect((await stored()).map(summaryOf).slice(0, 3)).toEqual([
    'user: hi',
    'user: hears I live at ',
    'bot: speaks Noted,  interrupted',
  ]);
});

test('a run that stores no events is taken over after a timeout', async () => {
  const { clock, queue, stream, startLive } = await liveScenario({ model: [['Hello'], []] });
  await stream.next();
  const other = new LiveRequestQueue();
  other.close();
  const runConfig = { onBusy: 'interrupt' } as const;
  const next = readTurns(startLive(other, { runConfig }), other);
  // The run that has to yield the session has no reader.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  clock.advance(2000);
  expect(await next).toEqual([]);
  await expect(readTurns(stream, queue)).rejects.toMatchObject({ code: 'STALE_WRITER' });
});

test('a call that takes longer than maxRunMs stores the speech so far and responses to its calls, and ends with RUN_TIMEOUT', async () => {
  const spoken = [{ inputTranscription: { text: 'I live at ' } }, { outputTranscription: { text: 'Noted, ' } }];
  const { queue, startLive, stored, platform } = await liveScenario({
    model: [[{ heard: 'content' }, call('slow', 'c1'), ...spoken]],
    agent: { tools: [new FunctionTool({ name: 'slow', description: '', execute: () => new Promise(() => {}) })] },
  });
  queue.sendContent(user('hi'));
  const reading = (async () => {
    for await (const event of startLive(queue, { runConfig: { maxRunMs: 600_000 } }))
      if (event.outputTranscription?.text) platform.advance(600_000);
  })();
  await expect(reading).rejects.toMatchObject({ code: 'RUN_TIMEOUT' });
  expect((await stored()).map((event) => summaryOf(event).replace(/,"message.*/, ''))).toEqual([
    'user: hi',
    'bot: slow()',
    'bot: slow={"error":"interrupted"',
    'user: hears I live at ',
    'bot: speaks Noted,  interrupted',
    'bot: RUN_TIMEOUT',
  ]);
});
