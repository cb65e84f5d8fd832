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

test.each([
  [`AIza${'a'.repeat(35)} wss://host/?alt=sse&key=abc&x=1`, '[redacted] wss://host/?alt=sse&key=[redacted]&x=1'],
  [
    'Incorrect API key provided: sk-proj-abc*****wxyz. See https://platform.openai.com',
    'Incorrect API key provided: [redacted] See https://platform.openai.com',
  ],
  ['invalid x-api-key sk-ant-api03-Zm9v_YmFy-AA', 'invalid x-api-key [redacted]'],
  ['gsk_0123456789abcdef xai-0123456789abcdef hf_0123456789abcdef', '[redacted] [redacted] [redacted]'],
  ['token eyJhbGciOiJIUzI1NiJ9eyJ.eyJzdWIiOiIxIn0.c2ln is expired', 'token [redacted] is expired'],
  ['Authorization: Bearer 0123456789abcdef01', 'Authorization: Bearer [redacted]'],
  ['wrong key {"api_key": "deadbeefcafe0123"}', 'wrong key {"api_key": "[redacted]"}'],
  ['GET https://host/v1?api_key=deadbeef failed', 'GET https://host/v1?api_key=[redacted] failed'],
  ['postgres://ann:p@ss@host/db', 'postgres://ann:[redacted]@host/db'],
  ['https://ann:hunter2@host:8080/x?a=b:c@d', 'https://ann:[redacted]@host:8080/x?a=b:c@d'],
])('in "%s" the keys are removed', (text, expected) => {
  expect(secretRedactor(undefined)(text)).toBe(expected);
});

test.each([
  'the model claude-sonnet-4-5-20250929 answered req_011CSHoEeqs5C35K2UUqR7Fy',
  'maximum context length is 128000 tokens, and max_tokens: 4096',
  'this key is not allowed; check the apiKey of the provider',
  'Bearer authentication is required',
  'http://localhost:8080/a@b and mail:ann@host',
])('the redactor leaves "%s" unchanged', (text) => {
  expect(secretRedactor(undefined)(text)).toBe(text);
});

test.each(['sk-', 'eyJ', 'eyJ-', 'key', 'Bearer ', 'key= ', 'api_', '?key=', '://u:', '://u', '://:', '://u:@', '@'])(
  'a long text of "%s" is read in linear time',
  (piece) => {
    expect(secretRedactor(undefined)(piece.repeat(100_000)).length).toBeGreaterThan(0);
  },
);

test('ordinary words and other headers are kept', () => {
  const redact = secretRedactor('test', { 'content-type': 'application/json' });
  expect(redact('the latest application/json')).toBe('the latest application/json');
});
