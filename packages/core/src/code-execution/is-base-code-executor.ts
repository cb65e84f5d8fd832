import type { BaseCodeExecutor } from './base-code-executor.ts';

/** True for code executors, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseCodeExecutor(value: unknown): value is BaseCodeExecutor {
  return typeof value === 'object' && value !== null && '~eventloom.code-executor' in value;
}
