// Runs across processes over a PostgreSQL that all of them use. The client library is handed in.

export type { PostgresRunRelayOptions } from './postgres-run-relay.ts';
export { PostgresRunRelay } from './postgres-run-relay.ts';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from '@eventloom/core/internal';
