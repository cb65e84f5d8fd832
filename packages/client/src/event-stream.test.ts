import { createParser } from 'eventsource-parser';
import { expect, test } from 'vitest';
import { createFrameParser, type Frame } from './event-stream.ts';

const STREAM = [
  ': a comment\n\n',
  'id: 1\ndata: {"a":1}\n\n',
  'event: error\nid:2\ndata:no space\n\n',
  'data: two\ndata: lines\n\n',
  'data:  a space\nretry: 5\n\n',
  'id: 3\n\n',
  'data\n\n',
  'other: field\ndata: \u2028 é 😀\n\n',
  'data: unfinished',
].join('');

const FRAMES: Frame[] = [
  { id: '1', data: '{"a":1}' },
  { id: '2', data: 'no space' },
  { id: undefined, data: 'two\nlines' },
  { id: undefined, data: ' a space' },
  { id: undefined, data: '' },
  { id: undefined, data: '\u2028 é 😀' },
];

/** The frames of a text that comes in pieces of this length. */
function framesIn(text: string, length = text.length): Frame[] {
  const parse = createFrameParser();
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) =>
    parse(text.slice(at * length, (at + 1) * length)),
  ).flat();
}

test.each([
  ['a line feed', '\n'],
  ['a carriage return', '\r'],
  ['both', '\r\n'],
])('frames are the same however their text is cut, with lines that end in %s', (_title, end) => {
  const text = STREAM.replaceAll('\n', end);
  for (let length = 1; length <= text.length; length++) expect(framesIn(text, length)).toEqual(FRAMES);
});

test('a text without characters between a carriage return and its line feed changes nothing', () => {
  const parse = createFrameParser();
  expect(['data: a\r', '', '\ndata: b\r\n\r\n'].flatMap(parse)).toEqual([{ id: undefined, data: 'a\nb' }]);
});

test('frames are those of another parser', () => {
  const frames: Frame[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => frames.push({ id, data }) });
  parser.feed(STREAM);
  expect(framesIn(STREAM)).toEqual(frames);
});

test('a long line is joined once, at its end', () => {
  const parse = createFrameParser();
  const pieces = Array.from({ length: 20_000 }, () => 'x'.repeat(1000));
  for (const piece of ['data: ', ...pieces]) expect(parse(piece)).toEqual([]);
  expect(parse('\n\n')[0]?.data.length).toBe(20_000_000);
});
