import type { BaseCodeExecutor } from './base-code-executor.ts';

/** Marks code executors. Apart from the class, so that an agent without one does not bring it along. */
export const CODE_EXECUTOR_BRAND: unique symbol = Symbol.for('eventloom.code-executor') as never;

/** True for code executors, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseCodeExecutor(value: unknown): value is BaseCodeExecutor {
  return typeof value === 'object' && value !== null && CODE_EXECUTOR_BRAND in value;
}
