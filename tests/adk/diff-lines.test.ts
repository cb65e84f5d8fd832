import { expect, test } from 'vitest';
import { diffLines } from './diff-lines.ts';

test.each([
  ['ab', 'ab', []],
  ['abc', 'axc', ['- b', '+ x']],
  ['abc', 'ac', ['- b']],
  ['', 'a', ['+ a']],
])('diffLines of %j and %j lists the changed lines', (before, after, changes) => {
  expect(diffLines(before.split(''), after.split(''))).toEqual(changes);
});
