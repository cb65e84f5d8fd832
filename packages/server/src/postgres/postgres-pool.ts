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
  /** Gives the connection back; with true, it is closed instead. */
  release(destroy?: boolean): void;
}

/** What is needed of a pool of connections: `Pool` of the package `pg` has it. */
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
