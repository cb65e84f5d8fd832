export { dev } from './dev-protocol.ts';
export type { DevOptions, UiFiles } from './dev-protocol.ts';
export { SpanStore } from './span-store.ts';
export type { SpanStoreOptions, StoredSpan } from './span-store.ts';
