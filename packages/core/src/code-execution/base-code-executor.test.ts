import { expect, test, vi } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { BaseCodeExecutor, type CodeExecutorOptions, isBaseCodeExecutor, languageOf } from './base-code-executor.ts';

class Silent extends BaseCodeExecutor {
  override executeCode() {
    return Promise.resolve({ stdout: '', stderr: '' });
  }
}

test.each<CodeExecutorOptions>([
  { errorRetryAttempts: -1 },
  { errorRetryAttempts: 1.5 },
  { timeoutMs: 0 },
  { timeoutMs: Number.NaN },
  { timeoutMs: 2 ** 31 },
  { codeBlockDelimiters: [['', '```']] },
  { codeBlockDelimiters: [['```', '']] },
])('an invalid option is refused: %o', (options) => {
  expect(() => new Silent(options)).toThrow(ConfigurationError);
});

test.each(['timeoutMs', 'errorRetryAttempts'])(
  'the error for an invalid %s starts with the class of the executor',
  (option) => {
    expect(() => new Silent({ [option]: -1 })).toThrow(`Silent: ${option}: expected`);
  },
);

test.each<[CodeExecutorOptions, readonly string[] | undefined]>([
  [{}, ['python']],
  [
    {
      codeBlockDelimiters: [
        ['```js\n', '\n```'],
        ['```ts\n', '\n```'],
      ],
    },
    ['javascript', 'typescript'],
  ],
  [
    {
      codeBlockDelimiters: [
        ['```js\n', '\n```'],
        ['<<', '>>'],
      ],
    },
    undefined,
  ],
  [{ codeBlockDelimiters: [] }, undefined],
  [{ languages: ['r'] }, ['r']],
])('the languages of an executor with %o are %o', (options, languages) => {
  expect(new Silent(options).languages).toEqual(languages);
});

test('isBaseCodeExecutor is true for executors of another loaded copy of this package', async () => {
  vi.resetModules();
  const other = await import('./base-code-executor.ts');
  class Foreign extends other.BaseCodeExecutor {
    override executeCode() {
      return Promise.resolve({ stdout: '', stderr: '' });
    }
  }
  const foreign = new Foreign();
  expect(foreign).not.toBeInstanceOf(BaseCodeExecutor);
  expect(isBaseCodeExecutor(foreign)).toBe(true);
  expect(isBaseCodeExecutor({ executeCode: () => undefined })).toBe(false);
});

test.each([
  ['```js\n', 'javascript'],
  ['```tool_code\n', 'python'],
  ['```C++\n', 'c++'],
  ['PYTHON', 'python'],
  ['LANGUAGE_UNSPECIFIED', ''],
  ['<<', ''],
])('%j stands for the language %j', (text, language) => {
  expect(languageOf(text)).toBe(language);
});

test('delimiters that are set later decide the languages and the instruction', () => {
  const executor = new Silent();
  expect(() => (executor.codeBlockDelimiters = [['', '']])).toThrow(ConfigurationError);
  expect(executor.languages).toEqual(['python']);
  executor.codeBlockDelimiters = [['```js\n', '\n```']];
  expect(executor.languages).toEqual(['javascript']);
  expect(executor.instruction).toContain('```js\n');
});
