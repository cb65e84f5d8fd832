// Memories in a SQLite file. Needs only node:sqlite.

export type { SqliteMemoryServiceOptions } from './sqlite-memory-service.ts';
export { SqliteMemoryService } from './sqlite-memory-service.ts';
