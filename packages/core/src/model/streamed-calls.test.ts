import { expect, test } from 'vitest';
import type { FunctionCall, Part } from '../content/content.ts';
import { StreamedCalls, parseJsonPath } from './streamed-calls.ts';

/** Merges the pieces and returns the whole calls, in order. */
function gather(...pieces: (FunctionCall | Part)[]): (Part | undefined)[] {
  const calls = new StreamedCalls();
  return pieces
    .map((piece) => calls.add('functionCall' in piece ? piece : { functionCall: piece as FunctionCall }))
    .filter((part) => part !== undefined);
}

test('the reader of streamed calls returns a call that is not streamed unchanged', () => {
  const part: Part = { functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, thoughtSignature: 's' };
  expect(new StreamedCalls().add(part)).toBe(part);
});

test('the reader of streamed calls assembles pieces of arguments into one call when the last piece arrives', () => {
  const whole = gather(
    { functionCall: { name: 'weather', id: 'c1', willContinue: true }, thoughtSignature: 'sig' },
    { partialArgs: [{ jsonPath: '$.city', stringValue: 'New', willContinue: true }], willContinue: true },
    { partialArgs: [{ jsonPath: '$.city', stringValue: ' York' }], willContinue: true },
    {
      partialArgs: [
        { jsonPath: '$.days', numberValue: 3 },
        { jsonPath: '$.metric', boolValue: false },
      ],
      willContinue: true,
    },
    { partialArgs: [{ jsonPath: '$.note', nullValue: 'NULL_VALUE' }], willContinue: true },
    {},
  );
  expect(whole).toEqual([
    {
      functionCall: { name: 'weather', id: 'c1', args: { city: 'New York', days: 3, metric: false, note: null } },
      thoughtSignature: 'sig',
    },
  ]);
});

test('the reader of streamed calls sets the arguments of a call that comes in one piece', () => {
  const whole = gather({
    name: 'divide',
    partialArgs: [
      { jsonPath: '$.a', numberValue: 1 },
      { jsonPath: '$.b', numberValue: 2 },
    ],
  });
  expect(whole).toEqual([{ functionCall: { name: 'divide', args: { a: 1, b: 2 } } }]);
});

test('the path of a piece may lead into objects and lists', () => {
  const [whole] = gather(
    { name: 'f', willContinue: true },
    { partialArgs: [{ jsonPath: '$.rows[0].name', stringValue: 'a' }], willContinue: true },
    { partialArgs: [{ jsonPath: '$.rows[1].name', stringValue: 'b' }], willContinue: true },
    { partialArgs: [{ jsonPath: '$.rows[0].tags[0]', stringValue: 'x' }] },
  );
  expect(whole?.functionCall?.args).toEqual({ rows: [{ name: 'a', tags: ['x'] }, { name: 'b' }] });
});

test('an index far past the end of a list does not create a sparse list', () => {
  const [whole] = gather({ name: 'f', partialArgs: [{ jsonPath: '$.rows[4000000000]', stringValue: 'a' }] });
  expect(whole?.functionCall?.args).toEqual({ rows: ['a'] });
});

test('a path through __proto__ is data and changes no prototype', () => {
  const [whole] = gather({ name: 'f', partialArgs: [{ jsonPath: '$.__proto__.polluted', boolValue: true }] });
  expect(JSON.stringify(whole?.functionCall?.args)).toBe('{"__proto__":{"polluted":true}}');
  expect('polluted' in {}).toBe(false);
});

test('the reader of streamed calls takes complete arguments from a later piece', () => {
  const whole = gather({ name: 'f', args: { a: 1 }, willContinue: true }, { args: { b: 2 } });
  expect(whole).toEqual([{ functionCall: { name: 'f', args: { a: 1, b: 2 } } }]);
});

test('a piece that repeats the name and the id of the open call continues it', () => {
  const whole = gather(
    { name: 'f', id: 'c1', willContinue: true, partialArgs: [{ jsonPath: '$.a', stringValue: 'x' }] },
    { name: 'f', id: 'c1', partialArgs: [{ jsonPath: '$.a', stringValue: 'y' }] },
  );
  expect(whole).toEqual([{ functionCall: { name: 'f', id: 'c1', args: { a: 'xy' } } }]);
});

test('two consecutive calls with the same name are two calls', () => {
  const piece = { jsonPath: '$.id', stringValue: 'A' };
  const whole = gather(
    { name: 'f', willContinue: true },
    { partialArgs: [piece] },
    { name: 'f', willContinue: true },
    {},
  );
  expect(whole).toEqual([
    { functionCall: { name: 'f', args: { id: 'A' } } },
    { functionCall: { name: 'f', args: {} } },
  ]);
});

test('the reader of streamed calls drops an incomplete call when the next call begins', () => {
  expect(gather({ name: 'f', willContinue: true }, { name: 'g', args: {} })).toEqual([
    { functionCall: { name: 'g', args: {} } },
  ]);
});

test('the reader of streamed calls drops a piece that belongs to no call', () => {
  expect(gather({}, { partialArgs: [{ jsonPath: '$.a', stringValue: 'x' }] })).toEqual([]);
});

test('the reader of streamed calls keeps a signature that comes with a later piece', () => {
  const whole = gather({ name: 'f', willContinue: true }, { functionCall: {}, thoughtSignature: 'late' });
  expect(whole).toEqual([{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'late' }]);
});

test('the reader of streamed calls drops a piece that sets a named key of a list, such as its length', () => {
  const pieces = [
    { jsonPath: '$.a[0]', numberValue: 1 },
    { jsonPath: '$.a.length', numberValue: 4e9 },
    { jsonPath: '$.a.length', numberValue: 1.5 },
    { jsonPath: "$.a['0']", numberValue: 2 },
    { jsonPath: '$.a[1]', numberValue: 3 },
  ];
  const [part] = gather({ name: 'f', partialArgs: pieces });
  expect(part?.functionCall?.args).toEqual({ a: [1, 3] });
});

test.each([
  ['$', []],
  ['$.city', ['city']],
  ['$.days[0].max_temp', ['days', 0, 'max_temp']],
  ['$[\'a.b\']["c d"][12]', ['a.b', 'c d', 12]],
  ["$['it\\'s'].x", ["it's", 'x']],
  ["$['0']", ['0']],
  ['$.__proto__.x', ['__proto__', 'x']],
])('the path %s is split into its keys', (path, keys) => {
  expect(parseJsonPath(path)).toEqual(keys);
});
