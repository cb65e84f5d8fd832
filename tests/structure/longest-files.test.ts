import { expect, test } from 'vitest';
import { longestFiles } from './longest-files.ts';
import { readWorkspaces } from './repository.ts';

test('the longest sources of this repository are printed, so that growth is seen', () => {
  const longest = longestFiles(
    readWorkspaces().flatMap(({ files }) => files),
    10,
  );
  console.log(['The ten longest source files (lines):', ...longest].join('\n'));
  expect(longest).toHaveLength(10);
});

test('longestFiles returns the longest sources first, without tests', () => {
  const files = [
    { path: 'short.ts', text: 'a\n' },
    { path: 'long.ts', text: 'a\nb\n' },
    { path: 'longer.test.ts', text: 'a\nb\nc\n' },
  ];
  expect(longestFiles(files, 2)).toEqual(['    2 long.ts', '    1 short.ts']);
});
