import { type BaseAgentConfig, checkKnown, ConfigurationError } from '@eventloom/core';

const BASE_OPTIONS: ReadonlySet<string> = new Set<keyof BaseAgentConfig>([
  'name',
  'description',
  'subAgents',
  'beforeAgentCallback',
  'afterAgentCallback',
  'onAgentErrorCallback',
]);

/** @throws ConfigurationError for an option that is neither one of every agent nor one of `own` */
export function checkAgentOptions(config: BaseAgentConfig, own: readonly string[]): void {
  checkKnown(`agent "${config.name}"`, new Set([...BASE_OPTIONS, ...own]), config);
}

/** @throws ConfigurationError for a number that is given and no integer of at least 1 */
export function checkCount({ name }: BaseAgentConfig, option: string, count: number | undefined): void {
  if (count === undefined || (Number.isInteger(count) && count >= 1)) return;
  throw new ConfigurationError(`agent "${name}": ${option} must be an integer of at least 1`);
}
