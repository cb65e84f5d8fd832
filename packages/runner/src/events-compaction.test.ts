import { createCompactionEvent } from '@eventloom/llm-agent';
import { expect, test } from 'vitest';
import { counted, type Options, setUp } from './fixtures/compacted-run.ts';
import { KEY } from './fixtures/scenario.ts';

test('a window is summarized when its invocations have ended, and the model gets the summary', async () => {
  const { turns, sent, compactions, summarizer } = await setUp({ compactionInterval: 2 });
  await turns(1);
  expect(await compactions()).toEqual([]);
  await turns(1);
  expect(summarizer.texts).toEqual(['u1 a1 u2 a2']);
  await turns(1);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', 'u3']);
  await turns(2);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', '(u3 a3 u4 a4)', 'u5']);
});

test('a window may overlap invocations that were summarized before', async () => {
  const { turns, sent, summarizer } = await setUp({ compactionInterval: 2, overlapSize: 1 });
  await turns(5);
  expect(summarizer.texts).toEqual(['u1 a1 u2 a2', 'u2 a2 u3 a3 u4 a4']);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', '(u2 a2 u3 a3 u4 a4)', 'u5']);
});

test('a summary that a later one covers is left out of its input unless it covers more', async () => {
  const { turns, sent, summarizer } = await setUp({ compactionInterval: 1, overlapSize: 1 });
  await turns(4);
  expect(summarizer.texts).toEqual(['u1 a1', 'u1 a1 u2 a2', 'u2 a2 u3 a3', 'u3 a3 u4 a4']);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', '(u2 a2 u3 a3)', 'u4']);
});

test('a prompt over the token limit is summarized except for the newest events, into one summary', async () => {
  const steps = [counted('a1', 10), counted('a2', 99), counted('a3', 100), counted('a4', 50), counted('a5', 100), 'a6'];
  const { turns, sent, summarizer, compactions } = await setUp({ tokenThreshold: 100, eventRetentionSize: 2, steps });
  await turns(2);
  expect(summarizer.asked).toEqual([]);
  await turns(1);
  expect(summarizer.texts).toEqual(['u1 a1 u2 a2']);
  await turns(2);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', 'u3', 'a3', 'u4', 'a4', 'u5']);
  expect(summarizer.texts[1]).toBe('(u1 a1 u2 a2) u3 a3 u4 a4');
  expect(summarizer.asked[1]?.[0]?.author).toBe('model');
  await turns(1);
  expect(sent()).toEqual(['((u1 a1 u2 a2) u3 a3 u4 a4)', 'u5', 'a5', 'u6']);
  const ranges = (await compactions()).map(({ actions }) => actions.compaction?.startTimestamp);
  expect(new Set(ranges).size).toBe(1);
});

test('token counts of a summary, and from before it, do not cause the next summary', async () => {
  const steps = [counted('a1', 500), 'a2', 'a3'];
  const { turns, summarizer, sessionService } = await setUp({ tokenThreshold: 100, eventRetentionSize: 0, steps });
  summarizer.maybeSummarizeEvents = async () =>
    createCompactionEvent({ parts: [{ text: 'short' }] }, { usageMetadata: { promptTokenCount: 900 } });
  await turns(3);
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  expect(events.filter(({ actions }) => actions.compaction)).toHaveLength(1);
});

test('without token counts, four characters count as one token', async () => {
  const steps = ['x'.repeat(190), 'x'.repeat(202), 'a3'];
  const { turns, summarizer } = await setUp({ tokenThreshold: 99, eventRetentionSize: 0, steps });
  await turns(1);
  expect(summarizer.asked).toHaveLength(0);
  await turns(1);
  expect(summarizer.asked).toHaveLength(1);
});

test('window summaries are merged when they exceed the token limit themselves', async () => {
  const { turns, sent } = await setUp({ compactionInterval: 1, tokenThreshold: 1, eventRetentionSize: 50 });
  await turns(4);
  expect(sent()).toEqual(['((u1 a1) (u2 a2))', 'u3', 'a3', 'u4']);
});

test('events after a summary are kept in memory, and only the last one is read again', async () => {
  const { turns, sent, sessionService } = await setUp({ compactionInterval: 3 });
  const beginRun = sessionService.beginRun.bind(sessionService);
  let read = 0;
  sessionService.beginRun = async (request) => {
    const begun = await beginRun(request);
    read += begun.session.events.length - (begun.message ? 1 : 0);
    return begun;
  };
  await turns(3);
  expect(read).toBe(3);
  await turns(1);
  expect(read).toBe(4);
  expect(sent()).toEqual(['(u1 a1 u2 a2 u3 a3)', 'u4']);
});

test('many turns are sent as few contents', async () => {
  const steps = Array.from({ length: 60 }, (_, index) => `a${index}`);
  const { turns, model, sessionService } = await setUp({
    compactionInterval: 3,
    tokenThreshold: 8,
    eventRetentionSize: 4,
    steps,
  });
  await turns(60);
  expect(Math.max(...model.requests.map(({ request }) => request.contents.length))).toBeLessThan(12);
  const read = await sessionService.getSession({ ...KEY, config: { sinceCompaction: true, afterSeq: 100 } });
  expect(read?.events.filter(({ actions }) => !actions.compaction).length).toBeLessThan(12);
});

test.each([
  [{}, /no threshold is set/],
  [{ tokenThreshold: 5 }, /need each other/],
  [{ compactionInterval: 1, eventRetentionSize: 5 }, /need each other/],
  [{ tokenThreshold: 5, eventRetentionSize: 5, overlapSize: 1 }, /overlapSize/],
  [{ compactionInterval: 0 }, /compactionInterval/],
  [{ compactionInterval: 1, overlapSize: -1 }, /overlapSize/],
  [{ compactionInterval: 1, overlap: 1 }, /has no option "overlap"; did you mean "overlapSize"/],
  [
    { compactionInterval: 1, summarizer: {} },
    /summarizer: expected a summarizer, got an object; write summarizer: new/,
  ],
  [{ interval: 3, summarizer: undefined }, /has no option "interval"/],
])('an invalid config is refused: %j', async (config, message) => {
  await expect(setUp(config as Options)).rejects.toThrow(message);
});
