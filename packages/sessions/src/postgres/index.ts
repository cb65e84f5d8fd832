// Sessions in PostgreSQL, over a pool of connections that is handed in.

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from '@eventloom/core/internal';
export type { PostgresSessionServiceOptions } from './postgres-session-service.ts';
export { PostgresSessionService } from './postgres-session-service.ts';
