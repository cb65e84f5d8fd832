// Starts processes.
import { ConfigurationError } from '@eventloom/core';
import { fixedPlatform, testContext } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { FileContentEncoding } from './code-languages.ts';
import { type AdkExecuteCodeParams, type AdkLocalExecutorOptions, AdkUnsafeLocalCodeExecutor } from './services.ts';

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

describe('a file that a program gives an UnsafeLocalCodeExecutor', () => {
  const code = "process.stdout.write(require('node:fs').readFileSync('in.txt', 'utf8'))";
  const read = (content: string, contentEncoding?: FileContentEncoding) =>
    new AdkUnsafeLocalCodeExecutor().executeCode({
      invocationContext: testContext({ platform: fixedPlatform() }),
      codeExecutionInput: {
        code,
        language: 'javascript',
        inputFiles: [{ name: 'in.txt', content, mimeType: 'text/plain', contentEncoding }],
      },
    });

  test('is base64 without contentEncoding, and the result always has a list of files', async () => {
    expect(await read('aGVsbG8=')).toMatchObject({ stdout: 'hello', outputFiles: [] });
  });

  test.each([
    ['name', FileContentEncoding.UTF8, 'name'],
    ['bmFtZQ==', FileContentEncoding.BASE64, 'name'],
  ])('is read with its contentEncoding: %s as %s', async (content, contentEncoding, text) => {
    expect(await read(content, contentEncoding)).toMatchObject({ stdout: text });
  });

  test.each(['hello', 'hello, world', 'a', 'ab'])('is refused if its content %j is not base64', async (content) => {
    await expect(read(content)).rejects.toThrow(
      'the content of the file "in.txt" is not base64; write contentEncoding: FileContentEncoding.UTF8 for a text',
    );
  });
});

test('executeCode of an UnsafeLocalCodeExecutor takes no list of files, and refuses args and a missing input', async () => {
  const invocationContext = testContext({ platform: fixedPlatform() });
  const input = { code: 'console.log(6 * 7)', language: 'javascript' };
  const execute = (codeExecutionInput: AdkExecuteCodeParams['codeExecutionInput']) =>
    new AdkUnsafeLocalCodeExecutor().executeCode({ invocationContext, codeExecutionInput });
  expect(await execute(input)).toMatchObject({ stdout: '42\n' });
  await expect(execute({ ...input, args: ['a'] } as never)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: expect.stringContaining('args are not given to the code; write the values into the code'),
  });
  await expect(execute(undefined as never)).rejects.toMatchObject({ code: 'CONFIGURATION' });
});
