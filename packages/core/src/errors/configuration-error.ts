import { EventloomError } from './eventloom-error.ts';

/** An agent, tool, runner or service was set up in a way that cannot work. Thrown before anything runs. */
export class ConfigurationError extends EventloomError {
  static override readonly code = 'CONFIGURATION';
}
