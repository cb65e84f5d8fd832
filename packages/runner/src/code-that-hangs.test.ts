import { type CodeExecutionOutput, ConfigurationError, RunAbortedError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ASKS, OK, Scripted, setUp } from './fixtures/code-run.ts';

test('code that exceeds its time-out is aborted, and the model gets an error result', async () => {
  const gate = new Gate();
  const executor = new Scripted([gate], { timeoutMs: 700 });
  const { runner, platform, stored } = await setUp([ASKS, 'Too slow.'], executor);
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'add' }] } });
  await gate.reached;
  platform.advance(699);
  expect(executor.asked[0]?.abortSignal.aborted).toBe(false);
  platform.advance(1);
  expect(executor.asked[0]?.abortSignal.aborted).toBe(true);
  await running;
  const result = (await stored()).at(-2)?.content?.parts?.[0]?.codeExecutionResult;
  expect(result?.outcome).toBe('OUTCOME_DEADLINE_EXCEEDED');
});

test('waiting for a result leaves no timer behind', async () => {
  const { ask, platform } = await setUp(['no code', ASKS, 'done']);
  await ask();
  const before = platform.pendingTimers;
  await ask();
  expect(platform.pendingTimers).toBe(before);
});

test('an abort of the run reaches the executor and ends the run', async () => {
  const gate = new Gate();
  const executor = new Scripted([gate]);
  const { ask } = await setUp([ASKS], executor);
  const controller = new AbortController();
  const running = ask(undefined, {}, controller.signal);
  await gate.reached;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(executor.asked[0]?.abortSignal.aborted).toBe(true);
});

test('an abort ends the wait even if the executor ignores it', async () => {
  const gate = new Gate();
  class Deaf extends Scripted {
    override async executeCode(): Promise<CodeExecutionOutput> {
      await gate.pass();
      return OK;
    }
  }
  const { ask, platform } = await setUp([ASKS], new Deaf([OK], { timeoutMs: 12_345 }));
  const calledOff = Promise.withResolvers<void>();
  const schedule = platform.schedule.bind(platform);
  platform.schedule = (delayMs, callback, options) => {
    const cancel = schedule(delayMs, callback, options);
    if (delayMs !== 12_345) return cancel;
    return () => {
      cancel();
      calledOff.resolve();
    };
  };
  const controller = new AbortController();
  const running = ask(undefined, {}, controller.signal);
  await gate.reached;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  await calledOff.promise;
});

test('an executor that throws fails the run', async () => {
  const error = new ConfigurationError('no sandbox');
  const { ask } = await setUp([ASKS], new Scripted([error]));
  await expect(ask()).rejects.toBe(error);
});
