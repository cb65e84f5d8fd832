import { expect, test } from 'vitest';
import { requireAdvice } from './dynamic-require.ts';

test('requireAdvice gives advice for the error of a bundle without require, and none for other errors', () => {
  expect(requireAdvice(new Error('Dynamic require of "child_process" is not supported'))).toMatch(
    /^; this ESM bundle has no require: give esbuild --banner:js=".+", or bundle with --format=cjs$/,
  );
  expect(requireAdvice(new Error('no network'))).toBe('');
  expect(requireAdvice(undefined)).toBe('');
});
