// A real PostgreSQL for tests.

export type { Postgres } from './start-postgres.ts';
export type { TestDatabase } from './test-database.ts';
export { startPostgres } from './start-postgres.ts';
export { createTestDatabase } from './test-database.ts';
