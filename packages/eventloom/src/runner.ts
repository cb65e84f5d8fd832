import { live } from '@eventloom/live';
import { Runner as TextRunner, type RunnerConfig } from '@eventloom/runner';

/** The runner of `@eventloom/runner` with support for live runs (voice and video). */
export class Runner extends TextRunner {
  /** @throws ConfigurationError for an invalid or unknown option */
  constructor(config: RunnerConfig) {
    super({ ...config, live: config.live ?? live() });
  }
}
