import { InvalidRequestError } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { chunkPosition, eventPosition, formatPosition, parsePosition, offsetOf } from './run-log.ts';

describe('positions', () => {
  test('grow with stored events, and with attempts between them', () => {
    const positions = [
      eventPosition(0),
      chunkPosition(0, 1, 1),
      chunkPosition(0, 1, 2),
      chunkPosition(0, 2, 1),
      chunkPosition(0, 998, 999_999),
      eventPosition(1),
      chunkPosition(1, 7, 1),
      eventPosition(7_999_999),
      chunkPosition(7_999_999, 3, 10),
    ];
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    expect(new Set(positions).size).toBe(positions.length);
    expect(positions.map(offsetOf)).toEqual([0, 0, 0, 0, 0, 1, 1, 7_999_999, 7_999_999]);
  });

  test('are parsed exactly from their text', () => {
    for (const seq of [0, 1, 9, 123_456, 7_999_999]) {
      for (const position of [eventPosition(seq), chunkPosition(seq, 1, 1), chunkPosition(seq, 998, 123_450)]) {
        const text = formatPosition(position);
        expect(parsePosition('Last-Event-ID', text)).toBe(position);
        expect(String(Number(text))).toBe(text);
      }
    }
    expect(formatPosition(chunkPosition(3, 1, 10))).toBe('3.00100001');
  });

  test('sort before the next stored event with any number of chunks', () => {
    expect(chunkPosition(4, 998, 50_000_000)).toBeLessThan(eventPosition(5));
  });

  test.each(['', 'x', '-1', '1e3', '1.', '.5', '1,1', '12345678', '1.0000000001', ' 1'])(
    'refuse the text %j',
    (text) => {
      expect(() => parsePosition('Last-Event-ID', text)).toThrow(InvalidRequestError);
    },
  );
});

test('the position before the first stored event is written without an exponent', () => {
  const position = chunkPosition(0, 0, 1);
  expect(formatPosition(position)).toBe('0.001000001');
  expect(parsePosition('id', formatPosition(position))).toBe(position);
});
