import { ConfigurationError } from '@eventloom/core';
import { fixedPlatform, testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { openLocalSandbox, UnsafeLocalCodeExecutor, type UnsafeLocalCodeExecutorOptions } from './index.ts';

async function run(code: string, language: string, options: UnsafeLocalCodeExecutorOptions = {}) {
  return new UnsafeLocalCodeExecutor(options).executeCode({
    invocationContext: testContext({ platform: fixedPlatform() }),
    codeExecutionInput: {
      code,
      language,
      inputFiles: [{ name: 'n.csv', content: btoa('1\n2\n3'), mimeType: 'text/csv' }],
    },
    abortSignal: new AbortController().signal,
  });
}

test('Python reads the files of the message, and the files that it writes become output', async () => {
  const code = 'total = sum(map(int, open("n.csv")))\nprint(total)\nopen("total.json", "w").write(str(total))';
  expect(await run(code, 'python')).toEqual({
    stdout: '6\n',
    stderr: '',
    outputFiles: [{ name: 'total.json', content: btoa('6'), mimeType: 'application/json' }],
    outcome: 'OUTCOME_OK',
  });
});

test('programs do not get the environment of the process', async () => {
  const code = 'console.log(Object.keys(process.env).filter((name) => !name.startsWith("__")).sort().join());';
  expect((await run(code, 'javascript')).stdout.trim()).toBe('HOME,PATH');
  expect((await run(code, 'javascript', { env: { MODE: 'test' } })).stdout.trim()).toBe('HOME,MODE,PATH');
});

test('processes that a program leaves behind end with it', async () => {
  const code =
    'require("node:child_process").spawn(process.execPath, ["-e", "for(;;);"], { stdio: "inherit" }).unref(); process.exit(0);';
  // The left process would hold the output open, and the call would not end.
  expect(await run(code, 'javascript')).toMatchObject({ outcome: 'OUTCOME_OK' });
});

test('a program that cannot be started is an error that names it', async () => {
  await expect(run('x', 'ruby', { commands: { ruby: ['no-such-program'] } })).rejects.toThrow(
    'the program "no-such-program" for ruby cannot be started',
  );
});

test('a link in the folder does not count as a file', async () => {
  await using sandbox = Object.assign(await openLocalSandbox(), { [Symbol.asyncDispose]: () => sandbox.close() });
  const abortSignal = new AbortController().signal;
  const code = 'require("node:fs").symlinkSync("/etc/passwd", "passwd");';
  await sandbox.run({ code, language: 'javascript', abortSignal });
  expect(await sandbox.readFiles(abortSignal)).toEqual([]);
});

test.each([[{ commands: { python: [] } }], [{ commands: { python: 'python3' } }], [{ unsafe: true }], [{ open: 1 }]])(
  'the options %j are refused',
  (options) => {
    expect(() => new UnsafeLocalCodeExecutor(options as never)).toThrow(ConfigurationError);
  },
);
