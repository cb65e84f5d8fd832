import { describe, expect, test } from 'vitest';
import { RunBuffer } from './run-buffer.ts';

function bufferOf(...texts: string[]): RunBuffer {
  const buffer = new RunBuffer();
  for (const text of texts) buffer.append(text);
  return buffer;
}

describe('a run buffer', () => {
  test('numbers events from 1', () => {
    const buffer = bufferOf('"a"', '"b"');
    expect([buffer.firstSeq, buffer.lastSeq, buffer.at(1), buffer.at(2), buffer.at(3)]).toEqual([
      1,
      2,
      '"a"',
      '"b"',
      undefined,
    ]);
  });

  test('is empty before the first event', () => {
    const buffer = new RunBuffer();
    expect([buffer.lastSeq, buffer.count, buffer.chars, buffer.toJsonList()]).toEqual([0, 0, 0, '[]']);
  });

  test('keeps the numbers of what is left when the oldest are dropped', () => {
    const buffer = bufferOf('"a"', '"bb"', '"c"');
    expect(buffer.dropOldest()).toBe(3);
    expect([buffer.firstSeq, buffer.lastSeq, buffer.at(1), buffer.at(2)]).toEqual([2, 3, undefined, '"bb"']);
    expect(buffer.chars).toBe(7);
    expect(buffer.toJsonList()).toBe('["bb","c"]');
  });

  test('knows from where on it has everything', () => {
    const buffer = bufferOf('1', '2', '3');
    buffer.dropOldest();
    expect([buffer.hasAllAfter(0), buffer.hasAllAfter(1), buffer.hasAllAfter(3)]).toEqual([false, true, true]);
  });

  test('stays right through thousands of drops', () => {
    const buffer = new RunBuffer();
    for (let seq = 1; seq <= 5000; seq++) {
      buffer.append(String(seq));
      if (buffer.count > 10) buffer.dropOldest();
    }
    expect([buffer.firstSeq, buffer.lastSeq, buffer.at(4991), buffer.at(5000)]).toEqual([4991, 5000, '4991', '5000']);
    expect(buffer.toJsonList()).toBe(`[${Array.from({ length: 10 }, (_, index) => 4991 + index).join(',')}]`);
  });
});
