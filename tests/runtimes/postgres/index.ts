// A real PostgreSQL for tests.

export type { Postgres } from './start-postgres.ts';
export type { Proxy } from './start-proxy.ts';
export type { TestDatabase } from './test-database.ts';
export { startPostgres } from './start-postgres.ts';
export { startProxy } from './start-proxy.ts';
export { createTestDatabase, useTestDatabase } from './test-database.ts';
