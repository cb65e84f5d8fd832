// Sessions in the SQL storage of a Durable Object. It uses only the storage that is passed in.

export type { AppStateChange, PendingApp, PendingAppState } from './durable-object-app-state.ts';
export type { DurableObjectSqlStorage } from './durable-object-connection.ts';
export type { DurableObjectSessionServiceOptions } from './durable-object-session-service.ts';
export type { LargeValueBucket } from './large-values.ts';
export { DurableObjectAppState } from './durable-object-app-state.ts';
export { DurableObjectSessionService } from './durable-object-session-service.ts';
