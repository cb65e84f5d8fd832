// Starts processes.
import { ConfigurationError } from '@eventloom/core';
import { fixedPlatform, testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { AdkUnsafeLocalCodeExecutor, type AdkLocalExecutorOptions } from './services.ts';

async function run(code: string, language: string, options: AdkLocalExecutorOptions = {}) {
  return new AdkUnsafeLocalCodeExecutor(options).executeCode({
    invocationContext: testContext({ platform: fixedPlatform() }),
    codeExecutionInput: { code, language, inputFiles: [] },
    abortSignal: new AbortController().signal,
  });
}

test('an UnsafeLocalCodeExecutor runs JavaScript and shell scripts with the programs of its options', async () => {
  expect((await run('console.log(6 * 7)', 'javascript')).stdout).toBe('42\n');
  expect((await run('echo $((6 * 7))', 'shell')).stdout).toBe('42\n');
  expect((await run('echo $((6 * 7))', 'bash')).stdout).toBe('42\n');
  expect((await run('6 * 7', 'shell', { shellCommandPath: 'cat' })).stdout).toBe('6 * 7');
});

test('an UnsafeLocalCodeExecutor refuses a time that cannot work', () => {
  expect(() => new AdkUnsafeLocalCodeExecutor({ timeoutSeconds: 'ten' as never })).toThrow(ConfigurationError);
});

test('an UnsafeLocalCodeExecutor runs the languages of the ADK', () => {
  expect(new AdkUnsafeLocalCodeExecutor().languages).toEqual(['python', 'javascript', 'bash', 'sh']);
});

test('an UnsafeLocalCodeExecutor runs code that a program gives it without a signal', async () => {
  const invocationContext = testContext({ platform: fixedPlatform() });
  const call = (code: string, language: string, options: AdkLocalExecutorOptions = {}) =>
    new AdkUnsafeLocalCodeExecutor(options).executeCode({
      invocationContext,
      codeExecutionInput: { code, language, inputFiles: [] },
    });
  expect(await call('console.log(6 * 7)', 'javascript')).toMatchObject({ stdout: '42\n', stderr: '' });
  expect((await call('x', 'cobol')).stderr).toContain('there is no command for cobol');
  const slow = await call('setTimeout(() => undefined, 600_000)', 'javascript', { timeoutSeconds: 0.01 });
  expect(slow.stderr).toBe('Code execution timed out after 0.01 seconds.');
});

test('files of a program are base64, and the result always has a list of files', async () => {
  const code = "process.stdout.write(require('node:fs').readFileSync('in.txt', 'utf8'))";
  const read = (content: string) =>
    new AdkUnsafeLocalCodeExecutor().executeCode({
      invocationContext: testContext({ platform: fixedPlatform() }),
      codeExecutionInput: {
        code,
        language: 'javascript',
        inputFiles: [{ name: 'in.txt', content, mimeType: 'text/plain' }],
      },
    });
  expect(await read('aGVsbG8=')).toMatchObject({ stdout: 'hello', outputFiles: [] });
  await expect(read('hello, world')).rejects.toThrow(
    'the content of the file "in.txt" is not base64; write content: Buffer.from(text).toString(\'base64\')',
  );
});
