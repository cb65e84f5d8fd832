/** What is used of the storage of a Durable Object with SQLite: `ctx.storage`. */
export interface DurableObjectArtifactStorage {
  readonly sql: {
    exec(query: string, ...bindings: (number | string | Uint8Array)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(work: () => T): T;
}
