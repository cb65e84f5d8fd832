import { ConfigurationError } from '@eventloom/core';
import { createCompactionEvent } from '@eventloom/llm-agent';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { isCompletion } from './fixtures/is-completion.ts';
import { setUp } from './fixtures/compacted-run.ts';
import { IDS, KEY } from './fixtures/scenario.ts';

test('the compaction event is the last one, of author user and its own invocation, and is not yielded', async () => {
  const { runner, say, stored, summarizer } = await setUp({ compactionInterval: 1 });
  summarizer.maybeSummarizeEvents = async () =>
    createCompactionEvent({ parts: [{ text: 'sum' }] }, { usageMetadata: { promptTokenCount: 7 }, author: 'other' });
  const yielded = await say('hello', runner);
  expect(yielded.some(({ actions }) => actions.compaction)).toBe(false);
  const events = await stored();
  expect(events.at(-1)).toMatchObject({
    author: 'user',
    usageMetadata: { promptTokenCount: 7 },
    actions: {
      compaction: {
        startTimestamp: events[0]?.timestamp,
        endTimestamp: events[1]?.timestamp,
        compactedContent: { parts: [{ text: 'sum' }] },
      },
    },
  });
  expect(events.filter(({ invocationId }) => invocationId === events.at(-1)?.invocationId)).toHaveLength(1);
});

test('the session is compacted under the lease, before the run is completed', async () => {
  const { runner, summarizer, sessionService } = await setUp({ compactionInterval: 1 });
  const seen: string[] = [];
  summarizer.maybeSummarizeEvents = async () => {
    const busy = sessionService.acquireLease({ ...KEY, ttlMs: 1000, onBusy: 'reject', waitMs: 0 });
    seen.push(
      await busy.then(
        () => 'free',
        (error: Error) => error.name,
      ),
    );
    return undefined;
  };
  const run = runner.runAsync({
    ...IDS,
    newMessage: { parts: [{ text: 'hi' }] },
    runConfig: { completionEvent: true },
  });
  for await (const event of run) seen.push(isCompletion(event) ? 'completion' : 'event');
  expect(seen).toEqual(['event', 'SessionBusyError', 'completion']);
});

test('a failed summary is reported and changes neither session nor run', async () => {
  const { turns, say, summarizer, compactions, platform, sent } = await setUp({ compactionInterval: 2 });
  const summarize = summarizer.maybeSummarizeEvents.bind(summarizer);
  summarizer.maybeSummarizeEvents = async () => {
    throw new Error('no words');
  };
  await turns(2);
  expect(await compactions()).toEqual([]);
  await expect(platform.drain()).rejects.toThrow('no words');
  summarizer.maybeSummarizeEvents = summarize;
  await turns(1);
  await say('last');
  expect(sent()).toEqual(['(u1 a1 u2 a2 u3 a3)', 'last']);
});

test('a summarizer that returns no summary is reported', async () => {
  const { turns, summarizer, platform, compactions } = await setUp({ compactionInterval: 1 });
  summarizer.maybeSummarizeEvents = async ({ events }) => events[0];
  await turns(1);
  expect(await compactions()).toEqual([]);
  await expect(platform.drain()).rejects.toThrow(ConfigurationError);
});

test('an abort ends the wait for a summary, and the run is aborted', async () => {
  const { runner, summarizer, compactions } = await setUp({ compactionInterval: 1 });
  const abort = new AbortController();
  const gate = new Gate();
  summarizer.maybeSummarizeEvents = async ({ abortSignal }) => {
    abort.abort();
    expect(abortSignal.aborted).toBe(true);
    await gate.pass();
    return createCompactionEvent({ parts: [{ text: 'too late' }] });
  };
  const newMessage = { parts: [{ text: 'hi' }] };
  expect(await runner.run({ ...IDS, newMessage, abortSignal: abort.signal })).toHaveLength(1);
  gate.open();
  expect(await compactions()).toEqual([]);
});

test('a run that failed or has its own getSessionConfig compacts nothing', async () => {
  const steps = ['a1', 'a2', new Error('broken'), 'a4'];
  const { turns, runner, summarizer } = await setUp({ compactionInterval: 2, steps });
  await turns(1);
  const newMessage = { parts: [{ text: 'few' }] };
  await runner.run({ ...IDS, newMessage, runConfig: { getSessionConfig: { numRecentEvents: 1 } } });
  expect(summarizer.asked).toEqual([]);
  await expect(turns(1)).rejects.toThrow('broken');
  expect(summarizer.asked).toEqual([]);
  await turns(1);
  expect(summarizer.asked).toHaveLength(1);
});
