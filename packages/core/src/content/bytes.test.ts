import { expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.ts';
import { decodeBase64, encodeBase64, isBase64, joinBytes, normaliseBase64 } from './bytes.ts';

const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

test('encodeBase64 writes the standard alphabet with padding', () => {
  expect(encodeBase64(new Uint8Array([0xfb, 0xff]))).toBe('+/8=');
  expect(encodeBase64(new Uint8Array([0xfb]))).toBe('+w==');
  expect(encodeBase64(new Uint8Array())).toBe('');
});

test('encodeBase64 refuses a value that is not bytes', () => {
  expect(() => encodeBase64('x' as never)).toThrow(InvalidRequestError);
  expect(() => encodeBase64('x' as never)).toThrow(
    'encodeBase64: expected a Uint8Array, got a string; write encodeBase64(new TextEncoder().encode(text)) for a text',
  );
});

test.each(['+/8=', '+/8', '-_8=', '-_8', '-/8'])(
  'decodeBase64 reads %s in either alphabet, with or without padding',
  (text) => {
    expect(decodeBase64(text)).toEqual(new Uint8Array([0xfb, 0xff]));
  },
);

test('decodeBase64 decodes every digit of both alphabets and refuses other characters', () => {
  const digits = Array.from({ length: 300 }, (_, code) => String.fromCharCode(code)).filter((text) =>
    isBase64(`${text}AAA`),
  );
  expect(digits.join('')).toBe('+-/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz');
  for (const digit of digits)
    expect([...decodeBase64(`${digit}AAA`)]).toEqual([...Buffer.from(`${digit}AAA`, 'base64')]);
});

test('encodeBase64 encodes only the bytes of a view, and decodes into a new buffer', () => {
  expect(encodeBase64(everyByte.subarray(4, 8))).toBe('BAUGBw==');
  expect(decodeBase64('BAUGBw').buffer.byteLength).toBe(4);
});

test.each(['-w==', '-w=', '-w'])('decodeBase64 reads %s, even with incomplete padding', (text) => {
  expect(decodeBase64(text)).toEqual(new Uint8Array([0xfb]));
});

test('decodeBase64 reads what encodeBase64 wrote, for every byte and length', () => {
  for (let length = 0; length <= everyByte.length; length++) {
    const bytes = everyByte.subarray(0, length);
    expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes);
  }
});

test('decodeBase64 reads what encodeBase64 wrote, for files larger than the call stack', () => {
  const bytes = new Uint8Array(200_001).map((_, at) => at * 7);
  expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes);
});

test.each([
  'A',
  'AAAAA',
  'A=',
  'AA=A',
  '=',
  '====',
  'AAA===',
  'A A=',
  'AA\n',
  'ÄÄ',
  'AAÄA',
  'AAA€',
  'AAAAAA€=',
  'AA===',
  '=AAA',
  '\0AAA',
  ' AAA',
  'AA\tA',
  'A\fAA',
  'AAA\r',
  'AAA=A===',
])('decodeBase64 refuses %j, which is not base64', (text) => {
  expect(() => decodeBase64(text)).toThrow(InvalidRequestError);
  expect(isBase64(text)).toBe(false);
});

test('joinBytes concatenates pieces into a new array', () => {
  const pieces = [Uint8Array.of(1, 2), new Uint8Array(), Uint8Array.of(0, 3, 0).subarray(1, 2)];
  const whole = joinBytes(pieces);
  expect(whole).toEqual(Uint8Array.of(1, 2, 3));
  pieces[0]?.fill(9);
  expect(whole).toEqual(Uint8Array.of(1, 2, 3));
  expect(joinBytes([])).toEqual(new Uint8Array());
});

test.each(['', 'YQ==', 'YWI=', 'YWJj', 'AAECAwQFBgcICQ==', '+/+/'])(
  '%s is standard base64 and is not changed',
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

test('bytes in both base64 alphabets are kept', () => {
  const bytes = Uint8Array.from({ length: 257 }, (_, index) => index);
  const standard = btoa(String.fromCharCode(...bytes));
  const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  expect(normaliseBase64(urlSafe)).toBe(standard);
});
