import { expect, test } from 'vitest';
import { toStandardBase64 } from './stored-part.ts';

test('every length and every value of the last bytes comes out as btoa writes it', () => {
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

test('line breaks are taken, bits that hold no data are dropped', () => {
  expect(toStandardBase64('AAAA\r\nAAAA\n')).toBe('AAAAAAAA');
  for (const form of ['QQ', 'QR', 'Qf', 'QQ==', 'Qf==']) expect(atob(toStandardBase64(form) ?? '')).toBe('A');
  expect(toStandardBase64('QUK')).toBe('QUI=');
});

test('what is no base64 is undefined', () => {
  for (const text of ['A', 'A=', 'AA=', 'AAA==', 'AAAA=', '=AAA', 'AA=A', 'A*AA', 'ÄÄÄÄ']) {
    expect(toStandardBase64(text)).toBeUndefined();
  }
});
