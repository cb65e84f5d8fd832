import { ConfigurationError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';

const LEVELS = { DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 } as const;

/** Levels of log messages, the least important first, and their names: `LogLevel[0]` is `DEBUG`. */
export const LogLevel = { ...LEVELS, 0: 'DEBUG', 1: 'INFO', 2: 'WARN', 3: 'ERROR' } as const;
export type LogLevel = (typeof LEVELS)[keyof typeof LEVELS];

/** Receives log messages of this package and of programs that use `getLogger`. */
export interface Logger {
  setLogLevel(level: LogLevel): void;
  log(level: LogLevel, ...args: unknown[]): void;
  debug(...args: unknown[]): void;
  info(...args: unknown[]): void;
  warn(...args: unknown[]): void;
  error(...args: unknown[]): void;
}

const WRITERS = ['debug', 'info', 'warn', 'error'] as const;

class ConsoleLogger implements Logger {
  #least: LogLevel = LogLevel.INFO;

  setLogLevel(level: LogLevel): void {
    this.#least = level;
  }

  log(level: LogLevel, ...args: unknown[]): void {
    if (level < this.#least) return;
    const writer = WRITERS[level];
    console[writer](`${writer.toUpperCase()}: [ADK] ${new Date().toISOString()} ${args.join(' ')}`);
  }

  debug(...args: unknown[]): void {
    this.log(LogLevel.DEBUG, ...args);
  }

  info(...args: unknown[]): void {
    this.log(LogLevel.INFO, ...args);
  }

  warn(...args: unknown[]): void {
    this.log(LogLevel.WARN, ...args);
  }

  error(...args: unknown[]): void {
    this.log(LogLevel.ERROR, ...args);
  }
}

const SILENT: Logger = {
  setLogLevel: () => undefined,
  log: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

let current: Logger = new ConsoleLogger();

const METHODS = ['setLogLevel', 'log', ...WRITERS] as const satisfies readonly (keyof Logger)[];

/**
 * Sets the logger of the process; null for none. Default: messages from `INFO` up are written to the console.
 * @throws ConfigurationError for an object that lacks a method
 */
export function setLogger(logger: Logger | null): void {
  const missing = logger === null ? undefined : METHODS.find((method) => typeof logger?.[method] !== 'function');
  if (missing)
    throw new ConfigurationError(
      `setLogger: expected a logger with ${METHODS.join(', ')}, got ${describeKind(logger)} without ${missing}; write null for no logger`,
    );
  current = logger ?? SILENT;
}

/** Returns the logger of the process. */
export function getLogger(): Logger {
  return current;
}

/** Sets the least important level that the logger of the process writes. @throws ConfigurationError for a value that is not a level */
export function setLogLevel(level: LogLevel): void {
  if (!Object.values(LEVELS).includes(level))
    throw new ConfigurationError(
      `setLogLevel: expected a level from 0 to 3, got ${describeKind(level)}; write setLogLevel(LogLevel.WARN)`,
    );
  current.setLogLevel(level);
}
