// Sessions in a SQLite file. Needs only node:sqlite.

export type { SqliteDurability } from './open-database.ts';
export type { SqliteSessionServiceOptions } from './sqlite-session-service.ts';
export { SqliteSessionService } from './sqlite-session-service.ts';
