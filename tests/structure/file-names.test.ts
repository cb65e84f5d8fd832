import { describe, expect, test } from 'vitest';
import { fileNamesNotInKebabCase, fileNamesThatSayNothing } from './file-names.ts';
import { readWorkspaces } from './repository.ts';

const files = (...paths: string[]) => paths.map((path) => ({ path, text: '' }));

describe('the files of this repository', () => {
  const all = readWorkspaces().flatMap((workspace) => workspace.files);

  test('are named in kebab-case', () => {
    expect(fileNamesNotInKebabCase(all)).toEqual([]);
  });

  test('do not use generic names', () => {
    expect(fileNamesThatSayNothing(all)).toEqual([]);
  });
});

describe('a file name', () => {
  test.each(['src/LlmAgent.ts', 'src/llm_agent.ts', 'src/llmAgent.ts', 'src/a.spec.ts', 'src/-a.ts'])(
    '%s is not in kebab-case',
    (path) => {
      expect(fileNamesNotInKebabCase(files(path))).toEqual([path]);
    },
  );

  test('in kebab-case passes, with the endings of tests and configs', () => {
    const paths = [
      'src/llm-agent.ts',
      'src/a.test.ts',
      'src/a.test-d.ts',
      'src/a.node.test.ts',
      'src/a.workers.test.ts',
      'vitest.config.ts',
    ];
    expect(fileNamesNotInKebabCase(files(...paths))).toEqual([]);
  });

  test.each([
    'src/utils.ts',
    'src/utils/a.ts',
    'src/string-utils.ts',
    'src/helpers.test.ts',
    'src/common.ts',
    'src/misc.ts',
  ])('%s is generic', (path) => {
    expect(fileNamesThatSayNothing(files(path))).toEqual([path]);
  });

  test('that contains such a word as part of another word passes', () => {
    expect(fileNamesThatSayNothing(files('src/commonality.ts', 'src/utility-bill.ts'))).toEqual([]);
  });
});
