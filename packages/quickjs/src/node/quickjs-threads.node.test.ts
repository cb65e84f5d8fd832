import { type CodeExecutionOutput, ConfigurationError } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { QuickJsThreads } from './quickjs-threads.ts';

/** Code that runs until it is terminated. */
const ENDLESS = { code: 'for (;;);', timeoutMs: 1e9, maxOperations: 9e15 };
const platform = fixedPlatform();
/** Runs code for an owner, and adds the owner to `ended` when it has ended. */
function runIn(threads: QuickJsThreads, ended: string[] = []) {
  return async (
    owner: string,
    code: string | typeof ENDLESS,
    abortSignal = new AbortController().signal,
  ): Promise<CodeExecutionOutput> => {
    const params = typeof code === 'string' ? { code } : code;
    const output = await threads.run({ params, owner, abortSignal, maxWaitMs: 1_000, platform });
    ended.push(`${owner} ${output.stdout.trim()}`);
    return output;
  };
}

test('at most maxThreads threads run, and none after idleMs', async () => {
  const threads = new QuickJsThreads({ maxThreads: 2, idleMs: 0 });
  const run = runIn(threads);
  const sizes = new Set<number>();
  const outputs = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const output = await run('ann', `${index}`);
      sizes.add(threads.size);
      return output.stdout.trim();
    }),
  );
  expect(outputs).toEqual(Array.from({ length: 12 }, (_, index) => `${index}`));
  expect(Math.max(...sizes)).toBe(2);
  await expect.poll(() => threads.size).toBe(0);
});

test('a thread is reused without data of the execution before', async () => {
  const threads = new QuickJsThreads({ maxThreads: 1 });
  const run = runIn(threads);
  const first = 'globalThis.secret = 1; Array.prototype.map = () => "mine"; console.log = () => {}; [1].map(String)';
  expect(await run('ann', first)).toMatchObject({ stdout: 'mine\n' });
  const next = 'console.log(typeof secret, [1].map(String).join())';
  expect(await run('ben', next)).toMatchObject({ stdout: 'undefined 1\n' });
  expect(threads.size).toBe(1);
});

test("owners take turns, and each owner's executions keep their order", async () => {
  const ended: string[] = [];
  const run = runIn(new QuickJsThreads({ maxThreads: 1 }), ended);
  const running = ['1', '2', '3', '4'].map((code) => run('ann', code));
  running.push(run('ben', '1'), run('ben', '2'), run('cleo', '1'));
  await Promise.all(running);
  expect(ended).toEqual(['ann 1', 'ann 2', 'ben 1', 'cleo 1', 'ann 3', 'ben 2', 'ann 4']);
});

test('an abort ends the running code, and the next execution gets a new thread', async () => {
  const threads = new QuickJsThreads({ maxThreads: 1 });
  const run = runIn(threads);
  const controller = new AbortController();
  const running = run('ann', ENDLESS, controller.signal);
  const waiting = run('ben', '2');
  controller.abort();
  expect(await running).toMatchObject({ outcome: 'OUTCOME_FAILED', stderr: expect.stringContaining('no result') });
  expect(await waiting).toMatchObject({ stdout: '2\n' });
  expect(threads.size).toBe(1);
});

test('an abort while the result arrives does not fail the next execution', async () => {
  const threads = new QuickJsThreads({ maxThreads: 1 });
  const run = runIn(threads);
  await run('ann', '0');
  for (let round = 0; round < 2; round++) {
    const controller = new AbortController();
    const aborted = run('ann', '1', controller.signal);
    const waiting = run('ben', '2');
    await new Promise((resolve) => setImmediate(resolve));
    // The thread answers while this thread is busy, so the result is read after the abort.
    for (const until = performance.now() + 20; performance.now() < until;);
    controller.abort();
    expect(await waiting).toMatchObject({ stdout: '2\n' });
    await aborted;
  }
  expect(threads.size).toBe(1);
});

test('an abort removes queued code, and code with an aborted signal does not run', async () => {
  const ended: string[] = [];
  const run = runIn(new QuickJsThreads({ maxThreads: 1 }), ended);
  const holder = new AbortController();
  const controller = new AbortController();
  const running = run('ann', ENDLESS, holder.signal);
  const left = run('ben', '1', controller.signal);
  const next = run('ben', '2');
  controller.abort();
  expect(await left).toMatchObject({
    outcome: 'OUTCOME_FAILED',
    stderr: expect.stringContaining('aborted while it waited'),
  });
  expect(await run('cleo', '1', controller.signal)).toMatchObject({ stderr: expect.stringContaining('not run') });
  holder.abort();
  await Promise.all([running, next]);
  expect(ended.at(-1)).toBe('ben 2');
});

test('code that waited for maxWaitMs fails, and the running code continues', async () => {
  const threads = new QuickJsThreads({ maxThreads: 1 });
  const run = runIn(threads);
  const holder = new AbortController();
  const running = run('ann', ENDLESS, holder.signal);
  const waiting = run('ben', '1');
  platform.advance(1_000);
  expect(await waiting).toEqual({
    stdout: '',
    stderr: 'The code was not run: no thread was free for 1000 ms; try again later.',
    outcome: 'OUTCOME_FAILED',
  });
  expect(threads.size).toBe(1);
  holder.abort();
  await running;
});

test('an invalid limit is refused', () => {
  for (const maxThreads of [0, -1, 1.5, Number.NaN])
    expect(() => new QuickJsThreads({ maxThreads })).toThrow(ConfigurationError);
  for (const idleMs of [-1, Number.NaN, Infinity])
    expect(() => new QuickJsThreads({ idleMs })).toThrow(ConfigurationError);
});
