import { type BaseAgentConfig, ConfigurationError } from '@eventloom/core';

/** @throws ConfigurationError for a given number that is not an integer of at least 1 */
export function checkCount({ name }: BaseAgentConfig, option: string, count: number | undefined): void {
  if (count === undefined || (Number.isInteger(count) && count >= 1)) return;
  throw new ConfigurationError(`agent "${name}": ${option} must be an integer of at least 1`);
}
