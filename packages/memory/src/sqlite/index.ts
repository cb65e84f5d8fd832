// Memories in a SQLite file. Needs node:sqlite, and nothing else.

export type { SqliteMemoryServiceOptions } from './sqlite-memory-service.ts';
export { SqliteMemoryService } from './sqlite-memory-service.ts';
