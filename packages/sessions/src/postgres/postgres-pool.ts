/** One statement with its parameters; `name` makes it a prepared statement of the connection. */
export interface PostgresQuery {
  text: string;
  values?: unknown[];
  name?: string;
}

/** What came of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
}

/** A connection that was taken from a pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** Tells of a connection that was lost; the statements under way fail as well. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
  /** Gives the connection back; with true, it is closed instead. */
  release(destroy?: boolean): void;
}

/** What is needed of a pool of connections: `Pool` of the package `pg` has it, and so has whatever is made after it. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
}
