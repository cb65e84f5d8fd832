/** One statement with its parameters; `name` makes it a prepared statement of the connection. */
export interface PostgresQuery {
  text: string;
  values?: unknown[];
  name?: string;
  /** After so many milliseconds without an answer, the pool closes the connection. `pg` does; another client may ignore it. */
  query_timeout?: number;
}

/** The result of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
}

/** A connection that was taken from a pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** Tells of a connection that was lost; the statements under way fail as well. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Gives the connection back; with true, it is closed instead. */
  release(destroy?: boolean): void;
}

/** The part of a connection pool that is used, as `Pool` of the package `pg` and compatible ones have it. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
  /** Tells of a connection that was made (`connect`), before anybody has it, and of an idle one that was lost (`error`). */
  readonly on?: {
    (event: 'connect', listener: (client: PostgresClient) => void): unknown;
    (event: 'error', listener: (error: Error) => void): unknown;
  };
}

/** The pools and connections that are listened to. */
const heard = new WeakSet<object>();

/** An error that nobody listens to ends the process in Node. A lost connection fails the statement that needs it, and nothing else. */
const ignore = (): void => undefined;

/** Listens to the connections of a pool from the moment that each is made. */
export function listenToPool(pool: PostgresPool): void {
  if (heard.has(pool)) return;
  heard.add(pool);
  pool.on?.('error', ignore);
  pool.on?.('connect', listenToClient);
}

/** Listens to a connection: also to one that the pool made before it was listened to. */
export function listenToClient(client: PostgresClient): void {
  if (heard.has(client)) return;
  heard.add(client);
  client.on('error', ignore);
}
