import { type CodeExecutionInput, type CodeFile, ConfigurationError } from '@eventloom/core';
import { fixedPlatform, Gate, testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import {
  type CodeSandbox,
  SandboxCodeExecutor,
  type SandboxCodeExecutorOptions,
  type SandboxProgram,
} from './sandbox-code-executor.ts';

const file = (name: string, text: string): CodeFile => ({ name, content: btoa(text), mimeType: 'text/plain' });

/** A sandbox in memory. A program is a list of words: `write NAME TEXT`, `print TEXT`, `fail`, `wait` or `break`. */
class MemorySandbox implements CodeSandbox {
  readonly files = new Map<string, CodeFile>();
  readonly gate = new Gate();
  closed = 0;

  async writeFile(added: CodeFile): Promise<void> {
    this.files.set(added.name, added);
  }

  async run({ code, abortSignal }: SandboxProgram) {
    let stdout = '';
    for (const line of code.split('\n')) {
      const [word = '', name = '', text = ''] = line.split(' ');
      if (word === 'write') this.files.set(name, file(name, text));
      if (word === 'print') stdout += name;
      if (word === 'fail') return { stdout, stderr: 'no', exitCode: 1 };
      if (word === 'wait') await this.gate.pass(abortSignal);
      if (word === 'break') throw new TypeError('the machine is gone');
    }
    return { stdout, stderr: '', exitCode: 0 };
  }

  async readFiles(): Promise<readonly CodeFile[]> {
    return [...this.files.values()];
  }

  async close(): Promise<void> {
    this.closed++;
  }
}

function setUp(options: Partial<SandboxCodeExecutorOptions> = {}) {
  const prepared = [new MemorySandbox(), new MemorySandbox(), new MemorySandbox()];
  const sandboxes: MemorySandbox[] = [];
  const platform = fixedPlatform();
  const invocationContext = testContext({ platform });
  const open = async () => {
    const sandbox = prepared[sandboxes.length] ?? new MemorySandbox();
    sandboxes.push(sandbox);
    return sandbox;
  };
  const executor = new SandboxCodeExecutor({ open, ...options });
  const run = (code: string, input: Partial<CodeExecutionInput> = {}, abortSignal = new AbortController().signal) =>
    executor.executeCode({
      invocationContext,
      codeExecutionInput: { code, language: 'python', inputFiles: [], ...input },
      abortSignal,
    });
  return { executor, prepared, sandboxes, platform, run };
}

test('each execution has its own sandbox, which is closed afterwards', async () => {
  const { run, sandboxes } = setUp();
  expect(await run('print a\nfail')).toEqual({ stdout: 'a', stderr: 'no', outcome: 'OUTCOME_FAILED' });
  expect(await run('print b')).toEqual({ stdout: 'b', stderr: '', outcome: 'OUTCOME_OK' });
  await expect(run('break')).rejects.toThrow('the machine is gone');
  expect(sandboxes.map(({ closed }) => closed)).toEqual([1, 1, 1]);
});

test('code gets the files of the message, and those that it changed or added are its output', async () => {
  const { run } = setUp();
  const inputFiles = [file('same', 'x'), file('changed', 'x')];
  const { outputFiles } = await run('write changed y\nwrite new z', { inputFiles });
  expect(outputFiles).toEqual([file('changed', 'y'), file('new', 'z')]);
});

test('long output is truncated, and files that are too large are named', async () => {
  const { run } = setUp({ maxOutputChars: 3, maxFileChars: 8 });
  const { stdout, stderr, outputFiles } = await run('print abcdef\nwrite small abc\nwrite large abcdefghi');
  expect(stdout).toBe('abc\n(3 more characters)');
  expect(outputFiles).toEqual([file('small', 'abc')]);
  expect(stderr).toContain('large');
});

test('an abort closes the sandbox', async () => {
  const { run, prepared, sandboxes } = setUp();
  const controller = new AbortController();
  const running = run('wait', {}, controller.signal);
  await prepared[0]?.gate.reached;
  controller.abort();
  await expect(running).rejects.toThrow();
  expect(sandboxes[0]?.closed).toBe(1);
});

test('a sandbox that opens after the abort is closed', async () => {
  const { sandboxes } = setUp();
  const sandbox = new MemorySandbox();
  const controller = new AbortController();
  const { run } = setUp({
    open: async () => {
      controller.abort(new Error('enough'));
      return sandbox;
    },
  });
  await expect(run('print a', {}, controller.signal)).rejects.toThrow('enough');
  expect([sandbox.closed, sandboxes.length]).toEqual([1, 0]);
});

test('a session keeps its sandbox until it was not used for idleMs', async () => {
  const { run, sandboxes, platform } = setUp({ stateful: true, idleMs: 1000 });
  const session = { executionId: 's1' };
  await run('write kept x', session);
  platform.advance(999);
  expect(await run('print a', session)).not.toHaveProperty('outputFiles');
  expect([...(sandboxes[0]?.files.keys() ?? [])]).toEqual(['kept']);
  platform.advance(999);
  expect(sandboxes[0]?.closed).toBe(0);
  platform.advance(1);
  await run('print a', session);
  expect(sandboxes.map(({ closed }) => closed)).toEqual([1, 0]);
});

test('programs of one session run one after the other, and those of two at the same time', async () => {
  const { run, sandboxes } = setUp({ stateful: true });
  const first = run('wait\nwrite order first', { executionId: 's1' });
  const second = run('write order second', { executionId: 's1' });
  expect(await run('print other', { executionId: 's2' })).toMatchObject({ stdout: 'other' });
  sandboxes[0]?.gate.open();
  await Promise.all([first, second]);
  expect([sandboxes.length, sandboxes[0]?.files.get('order')]).toEqual([2, file('order', 'second')]);
});

test('a session whose sandbox failed gets a new one', async () => {
  const { run, sandboxes } = setUp({ stateful: true });
  await expect(run('break', { executionId: 's1' })).rejects.toThrow('gone');
  expect(await run('print a', { executionId: 's1' })).toMatchObject({ stdout: 'a' });
  expect(sandboxes.map(({ closed }) => closed)).toEqual([1, 0]);
});

test('a new session replaces an unused one, and fails if all are in use', async () => {
  const { run, prepared, sandboxes } = setUp({ stateful: true, maxSandboxes: 1 });
  await run('print a', { executionId: 's1' });
  const waiting = run('wait', { executionId: 's2' });
  await prepared[1]?.gate.reached;
  expect(sandboxes.map(({ closed }) => closed)).toEqual([1, 0]);
  expect(await run('print a', { executionId: 's3' })).toMatchObject({
    stderr: expect.stringContaining('all 1 sandboxes are in use'),
    outcome: 'OUTCOME_FAILED',
  });
  sandboxes[1]?.gate.open();
  await waiting;
});

test('close closes the sandboxes of all sessions', async () => {
  const { executor, run, sandboxes } = setUp({ stateful: true });
  await run('print a', { executionId: 's1' });
  await run('print a', { executionId: 's2' });
  await executor.close();
  expect(sandboxes.map(({ closed }) => closed)).toEqual([1, 1]);
});

test.each([[{}], [{ open: 1 }], [{ open: String, maxSandboxes: 0 }], [{ open: String, sandbox: 1 }]])(
  'the options %j are refused',
  (options) => {
    expect(() => new SandboxCodeExecutor(options as never)).toThrow(ConfigurationError);
  },
);
