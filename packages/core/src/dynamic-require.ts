import { toError } from './errors.ts';

/**
 * Returns advice for a CommonJS library that failed to load because the bundle has no `require`, for the end of an error message. Empty for
 * other errors. The text is that of esbuild's own error.
 */
export function requireAdvice(cause: unknown): string {
  if (!toError(cause).message.startsWith('Dynamic require of')) return '';
  return `; this ESM bundle has no require: give esbuild --banner:js="import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);", or bundle with --format=cjs`;
}
