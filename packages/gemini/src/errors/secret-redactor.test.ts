import { expect, test } from 'vitest';
import { secretRedactor } from './secret-redactor.ts';

test('all keys and values of secret headers are removed', () => {
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

test('text that looks like a key is removed', () => {
  const redact = secretRedactor(undefined);
  expect(redact(`AIza${'a'.repeat(35)} wss://host/?alt=sse&key=abc&x=1`)).toBe(
    '[redacted] wss://host/?alt=sse&key=[redacted]&x=1',
  );
});

test('ordinary words and other headers are kept', () => {
  const redact = secretRedactor('test', { 'content-type': 'application/json' });
  expect(redact('the latest application/json')).toBe('the latest application/json');
});
