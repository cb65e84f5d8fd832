import { expect, test } from 'vitest';
import { compareText } from './compare-text.ts';

const encoder = new TextEncoder();

/** Compares texts by their bytes in UTF-8. */
function compareBytes(one: string, other: string): number {
  const bytes = encoder.encode(one);
  const otherBytes = encoder.encode(other);
  const at = bytes.findIndex((byte, index) => byte !== otherBytes[index]);
  if (at < 0 || at >= otherBytes.length) return bytes.length - otherBytes.length;
  return (bytes[at] ?? 0) - (otherBytes[at] ?? 0);
}

test('compareText orders texts by their UTF-8 bytes', () => {
  const letters = [
    '',
    'a',
    'b',
    'é',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{1f9f5}',
    '\u{1f9f6}',
    '\u{10ffff}',
  ];
  const texts = letters.flatMap((one) => letters.map((other) => one + other));
  for (const one of texts) {
    for (const other of texts) {
      expect(Math.sign(compareText(one, other)), JSON.stringify([one, other])).toBe(
        Math.sign(compareBytes(one, other)),
      );
    }
  }
});
