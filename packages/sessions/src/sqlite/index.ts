// Sessions in a SQLite file. Needs only node:sqlite.

export type { SqliteDurability, SqliteSessionServiceOptions } from './sqlite-session-service.ts';
export { SqliteSessionService } from './sqlite-session-service.ts';
