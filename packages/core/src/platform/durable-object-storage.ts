/** What drivers use of the storage of a Durable Object with SQLite: `ctx.storage`. */
export interface DurableObjectStorage {
  readonly sql: {
    exec(query: string, ...bindings: (null | number | string | Uint8Array)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(work: () => T): T;
}
