/** Levels of log messages, the least important first. */
export const LogLevel = { DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 } as const;
export type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

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

/** Sets the logger of the process; null for none. Default: messages from `INFO` up are written to the console. */
export function setLogger(logger: Logger | null): void {
  current = logger ?? SILENT;
}

/** Returns the logger of the process. */
export function getLogger(): Logger {
  return current;
}

/** Sets the least important level that the logger of the process writes. */
export function setLogLevel(level: LogLevel): void {
  current.setLogLevel(level);
}
