import { type BaseAgentConfig, ConfigurationError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';

/** Checks an optional count. @throws ConfigurationError if it is given and not an integer of at least 1 */
export function checkCount({ name }: BaseAgentConfig, option: string, count: number | undefined): void {
  if (count === undefined || (Number.isInteger(count) && count >= 1)) return;
  throw new ConfigurationError(
    `agent "${name}": ${option}: expected an integer of at least 1, got ${describeKind(count)}`,
  );
}
