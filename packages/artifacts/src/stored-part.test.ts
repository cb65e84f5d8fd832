import { expect, test } from 'vitest';
import { toStandardBase64 } from './stored-part.ts';

test('base64 of every length and last byte equals btoa', () => {
  for (let length = 0; length < 6; length++) {
    for (let byte = 0; byte < 256; byte++) {
      const standard = btoa(String.fromCharCode(...Array.from({ length }, (_, index) => (byte + index * 85) % 256)));
      const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
      for (const form of [standard, urlSafe, standard.replaceAll('=', ''), urlSafe.replaceAll('=', '')]) {
        expect(toStandardBase64(form)).toBe(standard);
      }
    }
  }
});

test('line breaks and unused bits are ignored', () => {
  expect(toStandardBase64('AAAA\r\nAAAA\n')).toBe('AAAAAAAA');
  for (const form of ['QQ', 'QR', 'Qf', 'QQ==', 'Qf==']) expect(atob(toStandardBase64(form) ?? '')).toBe('A');
  expect(toStandardBase64('QUK')).toBe('QUI=');
});

test('text that is not base64 gives undefined', () => {
  for (const text of ['A', 'A=', 'AA=', 'AAA==', 'AAAA=', '=AAA', 'AA=A', 'A*AA', 'ÄÄÄÄ']) {
    expect(toStandardBase64(text)).toBeUndefined();
  }
});
