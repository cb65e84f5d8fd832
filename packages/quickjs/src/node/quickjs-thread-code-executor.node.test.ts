import {
  BaseCodeExecutor,
  type CodeExecutionOutput,
  ConfigurationError,
  type ExecuteCodeParams,
  RunAbortedError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import type { QuickJsCodeExecutorOptions } from '../quickjs-code-executor.ts';
import { QuickJsThreadCodeExecutor } from './quickjs-thread-code-executor.ts';

/** Goes on in one built-in function for days, where the engine looks at no bound. */
const UNREACHABLE = 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)';

/** Tells when the thread is started, and gives what it answers when it has ended. */
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

async function start(code: string, abortSignal?: AbortSignal) {
  const executor = new Watched(new QuickJsThreadCodeExecutor({ timeoutMs: 2_000 }));
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

test('code runs on a thread and its output comes back', async () => {
  const { running } = await start('console.log(6 * 7)');
  const [, result] = await running;
  expect(result?.content?.parts).toMatchObject([{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42' } }]);
});

test('code that no bound reaches is ended when its time is over, and the run goes on', async () => {
  const { running, executor, platform } = await start(UNREACHABLE);
  await executor.started.promise;
  platform.advance(executor.timeoutMs);
  const events = await running;
  expect(events[1]?.content?.parts).toMatchObject([{ codeExecutionResult: { outcome: 'OUTCOME_DEADLINE_EXCEEDED' } }]);
  expect(events).toHaveLength(3);
  expect(await executor.ended).toMatchObject({ outcome: 'OUTCOME_FAILED' });
});

test('an abort of the run ends the thread', async () => {
  const controller = new AbortController();
  const { running, executor } = await start(UNREACHABLE, controller.signal);
  await executor.started.promise;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(await executor.ended).toMatchObject({ outcome: 'OUTCOME_FAILED' });
});

test('a build of the engine that cannot be sent to a thread is refused', () => {
  const unused = () => expect.unreachable();
  const options: QuickJsCodeExecutorOptions = {
    variant: { type: 'sync', importFFI: unused, importModuleLoader: unused },
  };
  expect(() => new QuickJsThreadCodeExecutor(options)).toThrow(ConfigurationError);
});
