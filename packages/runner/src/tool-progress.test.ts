import { expect, test } from 'vitest';
import { chunksOf, resultOf, streaming } from './fixtures/streaming-run.ts';

// Progress.

test('progress of a tool is streamed immediately and not stored', async () => {
  const { run, stored } = await streaming(async (_args, context) => {
    expect(await context.emit({ done: 1 })).toBe(true);
    void context.emit('unawaited');
    return 'all';
  });
  const events = await run();
  expect(chunksOf(events)).toEqual([{ done: 1 }, 'unawaited']);
  expect(resultOf(events)).toEqual({ result: 'all' });
  expect(JSON.stringify(await stored())).not.toContain('unawaited');
});

test.each([
  ['a function', () => 1, 'is a function'],
  ['undefined', undefined, 'is undefined'],
  ['a Map within', { at: new Map() }, 'at at is an object of the class Map'],
])('progress that is %s throws at the call', async (_, progress, fault) => {
  let thrown: unknown;
  const { run } = await streaming((_args, context) => {
    try {
      void context.emit(progress);
    } catch (error) {
      thrown = error;
    }
  });
  await run();
  expect(thrown).toMatchObject({ code: 'INVALID_EVENT', message: expect.stringContaining(fault) });
});

test('a tool that emits more events than the limit for unread events fails', async () => {
  const { run } = await streaming((_args, context) => {
    for (let n = 0; n < 2000; n++) void context.emit(n);
  });
  const events = await run();
  expect(chunksOf(events)).toHaveLength(1000);
  expect(resultOf(events)).toEqual({ error: expect.stringContaining('await the promise that emit returns') });
});

test('progress emitted after the tool ended is dropped', async () => {
  let late: (() => Promise<boolean>) | undefined;
  const { run } = await streaming((_args, context) => {
    late = () => context.emit('late');
  });
  expect(chunksOf(await run())).toEqual([]);
  expect(await late?.()).toBe(false);
});
