// Sessions in PostgreSQL. The caller passes the pool of connections.

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from '@eventloom/core/internal';
export type { PostgresSessionServiceOptions } from './postgres-session-service.ts';
export { PostgresSessionService } from './postgres-session-service.ts';
