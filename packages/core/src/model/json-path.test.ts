import { expect, test } from 'vitest';
import { parseJsonPath } from './json-path.ts';

test.each([
  ['$', []],
  ['$.city', ['city']],
  ['$.days[0].max_temp', ['days', 0, 'max_temp']],
  ['$[\'a.b\']["c d"][12]', ['a.b', 'c d', 12]],
  ["$['it\\'s'].x", ["it's", 'x']],
  ["$['0']", ['0']],
  ['$.__proto__.x', ['__proto__', 'x']],
])('the path %s is read as its keys', (path, keys) => {
  expect(parseJsonPath(path)).toEqual(keys);
});
