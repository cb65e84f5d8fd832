// Sessions in PostgreSQL, over a pool of connections that is handed in.

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from './postgres-pool.ts';
export type { PostgresSessionServiceOptions } from './postgres-session-service.ts';
export { PostgresSessionService } from './postgres-session-service.ts';
