import type { Platform } from '@eventloom/core';
import { RunRelayError } from '../errors.ts';
import { backoffMs } from './backoff.ts';
import { type PostgresClient, type PostgresPool, reasonOf } from '@eventloom/core/internal';
import { CHANNEL } from './relay-statements.ts';

/** Functions that are called with the notifications of a PostgreSQL connection. */
interface NotificationListener {
  /** Called with a notification: two words, the kind of change and the key of the run. */
  notified(what: string, id: string): void;
  /** Called when notifications arrive again after a loss of the connection. Changes in between must be read from the tables. */
  listening(): void;
  report(error: unknown): void;
}

/**
 * The connection that receives notifications: one connection of the pool while the relay is open. A lost connection is
 * replaced, with growing delays between attempts.
 */
export class RelayNotifications {
  readonly #pool: PostgresPool;
  readonly #platform: Platform;
  readonly #listener: NotificationListener;
  #client: PostgresClient | undefined;
  #failures = 0;
  #isStarted = false;
  #isClosed = false;
  #isPinging = false;

  constructor(pool: PostgresPool, platform: Platform, listener: NotificationListener) {
    this.#pool = pool;
    this.#platform = platform;
    this.#listener = listener;
  }

  /** Starts to listen. A second call does nothing. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#connect();
  }

  /** Pings the connection, or replaces it if it has not answered the ping of the previous call. */
  check(): void {
    const client = this.#client;
    if (!client) return;
    if (this.#isPinging) {
      this.#lose(client, new RunRelayError('it does not answer'));
      return;
    }
    this.#isPinging = true;
    client.query({ text: 'SELECT 1' }).then(
      () => void (this.#isPinging = false),
      (error: unknown) => this.#lose(client, error),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.release(true);
    this.#client = undefined;
  }

  async #connect(): Promise<void> {
    let client: PostgresClient | undefined;
    try {
      client = await this.#pool.connect();
      this.#client = client;
      this.#isPinging = false;
      this.#listenTo(client);
      await client.query({ text: `LISTEN ${CHANNEL}` });
    } catch (error) {
      if (client) this.#lose(client, error);
      else this.#retry(error);
      return;
    }
    if (this.#isClosed || this.#client !== client) {
      this.#lose(client, new RunRelayError('the relay was closed'));
      return;
    }
    this.#failures = 0;
    this.#listener.listening();
  }

  #listenTo(client: PostgresClient): void {
    client.on('notification', ({ payload = '' }) => {
      const end = payload.indexOf(' ');
      this.#listener.notified(payload.slice(0, end), payload.slice(end + 1));
    });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new RunRelayError('the connection of the relay was closed')));
  }

  /** Handles the loss of a connection. Several events report one loss; only the first of them counts. */
  #lose(client: PostgresClient, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.release(true);
    this.#retry(error);
  }

  #retry(cause: unknown): void {
    if (this.#isClosed) return;
    if (++this.#failures === 1) {
      const reason = reasonOf(cause);
      const message = `the connection that listens for runs of other processes was lost, and is opened again: ${reason}`;
      this.#listener.report(new RunRelayError(message, { cause }));
    }
    this.#platform.schedule(backoffMs(this.#failures), () => this.#isClosed || void this.#connect(), { idle: true });
  }
}
