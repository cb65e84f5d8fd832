import { expect, test } from 'vitest';
import { normaliseBase64 } from './normalise-base64.ts';

test.each(['', 'YQ==', 'YWI=', 'YWJj', 'AAECAwQFBgcICQ==', '+/+/'])(
  '%s is base64 as it should be and stays',
  (data) => {
    expect(normaliseBase64(data)).toBe(data);
  },
);

test.each([
  ['-_-_', '+/+/'],
  ['YQ', 'YQ=='],
  ['YWI', 'YWI='],
  ['-w', '+w=='],
  ['YW\r\nJj\n', 'YWJj'],
  ['YQ==\n', 'YQ=='],
  ['YQ=', 'YQ=='],
  ['YWJj====', 'YWJj'],
])('%j becomes %s', (data, expected) => {
  expect(normaliseBase64(data)).toBe(expected);
});

test('all bytes survive either alphabet', () => {
  const bytes = Uint8Array.from({ length: 257 }, (_, index) => index);
  const standard = btoa(String.fromCharCode(...bytes));
  const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  expect(normaliseBase64(urlSafe)).toBe(standard);
});
