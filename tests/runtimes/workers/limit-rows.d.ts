/** What is used of the storage of a Durable Object. */
interface SqlStorage {
  readonly sql: {
    exec(query: string): {
      toArray(): Record<string, unknown>[];
    };
  };
}
/** Has a storage refuse rows that are too large where objects are deployed, in the tables that it has. */
export declare function limitRows({ sql }: SqlStorage): void;
export {};
