import { BaseCodeExecutor, type CodeExecutionOutput, type ExecuteCodeParams, RunAbortedError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import type { QuickJsCodeExecutorOptions } from '../quickjs-code-executor.ts';
import { QuickJsThreadCodeExecutor } from './quickjs-thread-code-executor.ts';

/** Code that stays in one built-in function for days. */
const LONG = 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)';
/** Limits that no test reaches. */
const UNBOUND = { timeoutMs: 1e9, maxOperations: 9e15 };
/** Far more than the time of the code: code that is not stopped would take minutes. */
const GENEROUS_MS = 20_000;

/** An executor that reports when the thread starts, and returns its result when it has ended. */
class Watched extends BaseCodeExecutor {
  readonly started = Promise.withResolvers<void>();
  ended: Promise<CodeExecutionOutput> | undefined;
  readonly #inner: QuickJsThreadCodeExecutor;

  constructor(inner: QuickJsThreadCodeExecutor) {
    super(inner);
    this.#inner = inner;
  }

  override executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    this.ended = this.#inner.executeCode(params);
    this.started.resolve();
    return this.ended;
  }
}

async function start(code: string, options: QuickJsCodeExecutorOptions, abortSignal?: AbortSignal) {
  const executor = new Watched(new QuickJsThreadCodeExecutor(options));
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
  const model = new ScriptedModel([`\`\`\`js\n${code}\n\`\`\``, 'done']);
  const agent = new LlmAgent({ name: 'coder', model, codeExecutor: executor });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const newMessage = { parts: [{ text: 'add' }] };
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage, ...(abortSignal && { abortSignal }) });
  return { running, executor, platform };
}

test('code runs on a thread, and its output is returned', async () => {
  const { running } = await start('console.log(6 * 7)', {});
  const [, result] = await running;
  expect(result?.content?.parts).toMatchObject([{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42' } }]);
});

test('a thread without a result is terminated after the time-out, and the run continues', async () => {
  const { running, executor, platform } = await start(LONG, UNBOUND);
  await executor.started.promise;
  platform.advance(executor.timeoutMs);
  const events = await running;
  expect(events[1]?.content?.parts).toMatchObject([{ codeExecutionResult: { outcome: 'OUTCOME_DEADLINE_EXCEEDED' } }]);
  expect(events).toHaveLength(3);
  expect(await executor.ended).toMatchObject({ outcome: 'OUTCOME_FAILED' });
});

test('an abort of the run terminates the thread', async () => {
  const controller = new AbortController();
  const { running, executor } = await start(LONG, UNBOUND, controller.signal);
  await executor.started.promise;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(await executor.ended).toMatchObject({ outcome: 'OUTCOME_FAILED' });
});

test.each([LONG, 'const text = "x".repeat(5e6); for (;;) text.indexOf("y")'])(
  'timeoutMs stops code inside a built-in function: %s',
  async (code) => {
    const startMs = performance.now();
    const { running } = await start(code, { ...UNBOUND, timeoutMs: 100 });
    const [, result] = await running;
    const codeExecutionResult = {
      outcome: 'OUTCOME_DEADLINE_EXCEEDED',
      output: expect.stringContaining('Stopped after 100 ms'),
    };
    expect(result?.content?.parts).toMatchObject([{ codeExecutionResult }]);
    expect(performance.now() - startMs).toBeLessThan(GENEROUS_MS);
  },
);

test('code on a thread cannot exceed its memory limit', async () => {
  const memoryBytes = 24 * 1024 * 1024;
  const code =
    'const held = []; try { for (;;) held.push(new Uint8Array(900_000).fill(1)); } catch {} held.length * 900_000';
  const { running } = await start(code, { ...UNBOUND, memoryBytes });
  const [, result] = await running;
  const held = Number(result?.content?.parts?.[0]?.codeExecutionResult?.output);
  expect(held).toBeGreaterThan(0);
  expect(held).toBeLessThan(memoryBytes);
});
