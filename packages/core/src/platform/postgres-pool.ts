/** A statement with its parameters. With a `name` the connection prepares it once and reuses it. */
export interface PostgresQuery {
  text: string;
  values?: unknown[];
  name?: string;
  /** Time without an answer after which the pool closes the connection, in milliseconds. Clients other than `pg` may ignore it. */
  query_timeout?: number;
}

/** The result of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
}

/** A connection that was taken from a pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** Called with each message that `NOTIFY` sends to a channel that the connection listens to. */
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  /** Called when the connection is lost. Statements in progress fail as well. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  /** Gives the connection back; with true, it is closed instead. */
  release(destroy?: boolean): void;
}

/** The part of a connection pool that is used, as `Pool` of the package `pg` and compatible ones have it. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
  readonly on?: {
    /** Called with each new connection before it is used. */
    (event: 'connect', listener: (client: PostgresClient) => void): unknown;
    /** Called when an idle connection is lost. */
    (event: 'error', listener: (error: Error) => void): unknown;
  };
}

/** Pools and connections that have the listeners of this file. */
const heard = new WeakSet<object>();

/**
 * Listens to errors, because an error event without a listener ends a Node process. A lost connection fails the
 * statement that needs it, and nothing else.
 */
const ignore = (): void => undefined;

/** Listens to each connection of a pool from the moment it is made. */
export function listenToPool(pool: PostgresPool): void {
  if (heard.has(pool)) return;
  heard.add(pool);
  pool.on?.('error', ignore);
  pool.on?.('connect', listenToClient);
}

/** Listens to a connection. Needed for connections that the pool made before `listenToPool`. */
export function listenToClient(client: PostgresClient): void {
  if (heard.has(client)) return;
  heard.add(client);
  client.on('error', ignore);
}
