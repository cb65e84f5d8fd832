import { ConfigurationError } from '../errors.ts';

/**
 * Returns the module `node:sqlite`, which runtimes older than Node 22.13 and some others do not have. The error of a static import would
 * name neither the service nor a remedy.
 * @param owner the service that needs it, for the message
 * @param sqlite `process.getBuiltinModule?.('node:sqlite')`
 * @param version the version of the runtime
 * @throws ConfigurationError if the module does not exist
 */
export function requireSqlite<T>(owner: string, sqlite: T | undefined, version: string): T {
  if (sqlite !== undefined) return sqlite;
  throw new ConfigurationError(
    `${owner}: needs the module node:sqlite, which this runtime (Node ${version}) does not have; run it with Node 22.18 or later`,
  );
}
