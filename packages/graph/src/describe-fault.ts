import type { JsonFault } from '@eventloom/core';

/** Why a value is no JSON, as the rest of a sentence that begins with what it is. */
export function describeFault({ path, reason }: JsonFault): string {
  return path === '' ? reason : `at ${path} ${reason}`;
}
