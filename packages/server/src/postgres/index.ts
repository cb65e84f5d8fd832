// A relay for several processes that share a PostgreSQL database. The caller passes the client library.

export type { PostgresRunRelayOptions } from './postgres-run-relay.ts';
export { PostgresRunRelay } from './postgres-run-relay.ts';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from '@eventloom/core/internal';
