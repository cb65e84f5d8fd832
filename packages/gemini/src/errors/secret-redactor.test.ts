import { expect, test } from 'vitest';
import { secretRedactor } from './secret-redactor.ts';

test('keys and the values of secret headers are taken out, all of them', () => {
  const redact = secretRedactor(
    'my-secret-key',
    { Authorization: 'Bearer tok-12345678' },
    { 'X-Api-Key': 'another-key' },
    undefined,
  );
  expect(redact('my-secret-key tok-12345678 another-key my-secret-key')).toBe(
    '[redacted] [redacted] [redacted] [redacted]',
  );
});

test('what looks like a key is taken out without being known', () => {
  const redact = secretRedactor(undefined);
  expect(redact(`AIza${'a'.repeat(35)} wss://host/?alt=sse&key=abc&x=1`)).toBe(
    '[redacted] wss://host/?alt=sse&key=[redacted]&x=1',
  );
});

test('ordinary words and other headers stay', () => {
  const redact = secretRedactor('test', { 'content-type': 'application/json' });
  expect(redact('the latest application/json')).toBe('the latest application/json');
});
