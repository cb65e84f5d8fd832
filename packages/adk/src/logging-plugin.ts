import { isRecord } from '@eventloom/core/internal';
import { LoggingPlugin, type LoggingPluginOptions } from '@eventloom/plugins';
import { getLogger } from './logger.ts';

/**
 * The `LoggingPlugin` of programs that were written for `@google/adk`: that of `@eventloom/plugins`, whose lines go to
 * the logger of `setLogger` as messages of the level `INFO`, unless the program gives `log`.
 *
 * @example
 * const runner = new InMemoryRunner({ agent, plugins: [new LoggingPlugin()] });
 */
export class AdkLoggingPlugin extends LoggingPlugin {
  /** The name of the class in error messages. */
  static override readonly name: string = 'LoggingPlugin';

  /** @param options options, or the name of the plugin @throws ConfigurationError for an unknown option */
  constructor(options: string | LoggingPluginOptions = {}) {
    const given = typeof options === 'string' ? { name: options } : options;
    const log = given?.log ?? ((line: string) => getLogger().info(line));
    // The base class refuses a value that is not an object.
    super(isRecord(given as unknown) ? { ...given, log } : given);
  }
}
