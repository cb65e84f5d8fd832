import { RunAbortedError, ShuttingDownError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { node, NodeTimeoutError } from './index.ts';
import { nodeTimer, settled } from './fixtures/node-timer.ts';
import { setUp } from './fixtures/dynamic-run.ts';
import { outputOf, runsIn } from './fixtures/read-output.ts';
import { IDS } from '../../runner/src/fixtures/scenario.ts';

test('inner nodes are stopped when the outer node times out', async () => {
  const stopped: string[] = [];
  const working = new Gate();
  const leaf = node('leaf', (_: unknown, { abortSignal }) => {
    abortSignal.addEventListener('abort', () => void stopped.push('leaf'));
    return working.pass();
  });
  const middle = node('middle', (_: unknown, context) => context.runNode(leaf, 1));
  const { run, platform } = await setUp((context) => context.runNode(middle, 1), { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  expect(await nodeTimer(platform)).toBe(50);
  await working.reached;
  platform.advance(50);
  expect(await running).toBeInstanceOf(NodeTimeoutError);
  expect(stopped).toEqual(['leaf']);
});

test('later actions of an attempt that timed out have no effect', async () => {
  const gate = new Gate();
  const late = new Gate();
  const ran: string[] = [];
  const refused: unknown[] = [];
  const inner = node('inner', (input: string) => {
    ran.push(input);
    return input;
  });
  const { run, stored, platform } = await setUp(
    async (context) => {
      if (context.attempt === 1) {
        await gate.pass();
        refused.push(await context.runNode(inner, 'one').catch((error: unknown) => error));
        refused.push(await context.requestInput().catch((error: unknown) => error));
        refused.push(await context.emitText('late'));
        try {
          context.update({});
        } catch (error) {
          refused.push(error);
        }
        late.open();
        return 'one';
      }
      gate.open();
      await late.pass();
      return context.runNode(inner, 'two');
    },
    { timeoutMs: 50, retry: { maxAttempts: 2, initialDelayMs: 7 } },
  );
  const running = run();
  await gate.reached;
  expect(await nodeTimer(platform)).toBe(50);
  platform.advance(50);
  expect(await nodeTimer(platform)).toBe(7);
  platform.advance(7);
  expect(outputOf(await running)).toBe('two');
  expect(ran).toEqual(['two']);
  expect(refused).toEqual([
    expect.any(RunAbortedError),
    expect.any(RunAbortedError),
    false,
    expect.any(RunAbortedError),
  ]);
  expect(runsIn(await stored()).filter((run) => run === '1-0~inner-0')).toHaveLength(1);
});

test('a finished inner node that waits for its turn is not repeated when the outer node times out', async () => {
  const ran: string[] = [];
  let attempts = 0;
  const slow = node('slow', () => (attempts === 1 ? new Promise(() => undefined) : 'slow'));
  const done = new Gate();
  done.open();
  const quick = node('quick', async () => {
    await done.pass();
    return ran.push('quick');
  });
  const { run, platform } = await setUp(
    (context) => {
      attempts++;
      return Promise.all([context.runNode(slow, 1), context.runNode(quick, 1)]);
    },
    { timeoutMs: 50, retry: { maxAttempts: 2, initialDelayMs: 7 } },
  );
  const running = run();
  expect(await nodeTimer(platform)).toBe(50);
  await done.reached;
  await settled(platform);
  platform.advance(50);
  expect(await nodeTimer(platform)).toBe(7);
  platform.advance(7);
  expect(outputOf(await running)).toEqual(['slow', 1]);
  expect(ran).toEqual(['quick']);
});

test('a run that completed before the process died throws when it is repeated with another input', async () => {
  const gate = new Gate();
  let input = 1;
  const slow = node('slow', () => gate.pass());
  const quick = node('quick', (given: number) => given);
  const { runner, platform } = await setUp((context) =>
    Promise.all([context.runNode(slow, 1), context.runNode(quick, input)]),
  );
  const abort = new AbortController();
  const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'hi' }] }, abortSignal: abort.signal });
  const running = (async () => {
    for await (const _ of stream);
  })();
  await gate.reached;
  for (let turn = 0; turn < 5; turn++) await settled(platform);
  abort.abort(new ShuttingDownError('the process ends'));
  await expect(running).rejects.toThrow();
  gate.open();
  input = 2;
  const { invocationId } = stream;
  await expect(runner.run({ ...IDS, invocationId })).rejects.toThrow(/node "quick".*another input/);
});

test('a node that does not await its inner nodes completes when they do', async () => {
  const ran: string[] = [];
  const gate = new Gate();
  const slow = node('slow', async () => {
    await gate.pass();
    ran.push('slow');
  });
  const { run, platform } = await setUp((context) => {
    void context.runNode(slow, 1);
    return 'done';
  });
  const running = run();
  await gate.reached;
  await settled(platform);
  gate.open();
  const events = await running;
  expect(ran).toEqual(['slow']);
  expect(runsIn(events)).toEqual(['0-0', '1-0~slow-0', '1-0', 'end', undefined]);
});

test('the attempt number continues after an answer', async () => {
  const attempts: number[] = [];
  const { run, answer, platform } = await setUp(
    async (context) => {
      attempts.push(context.attempt);
      if (context.attempt === 1) throw new TypeError('once');
      await context.requestInput();
      throw new TypeError('for good');
    },
    { retry: { maxAttempts: 3, initialDelayMs: 7 } },
  );
  const running = run();
  expect(await nodeTimer(platform)).toBe(7);
  platform.advance(7);
  const answered = answer(await running, 'yes').catch((error: unknown) => error);
  // The delay grows as without the question.
  expect(await nodeTimer(platform)).toBe(14);
  platform.advance(14);
  expect(await answered).toMatchObject({ message: 'node "outer": for good' });
  expect(attempts).toEqual([1, 2, 2, 3]);
});
