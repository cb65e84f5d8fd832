import { live } from '@eventloom/live';
import { Runner as TextRunner, type RunnerConfig } from '@eventloom/runner';

/** The runner of `@eventloom/runner`, with live runs. */
export class Runner extends TextRunner {
  /** @throws ConfigurationError for what cannot work, and for an option this version does not have */
  constructor(config: RunnerConfig) {
    super({ ...config, live: config.live ?? live() });
  }
}
