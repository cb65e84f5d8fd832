/** One statement with its parameters. */
export interface PostgresQuery {
  text: string;
  values?: unknown[];
}

/** What came of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
}

/** A connection that was taken from a pool, with the messages that come on it. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
  /** Gives the connection back; with true, it is closed instead. */
  release(destroy?: boolean): void;
}

/** What is needed of a pool of connections: `Pool` of the package `pg` has it. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
}
