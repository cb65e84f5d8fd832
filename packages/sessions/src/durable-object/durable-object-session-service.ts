import {
  type BeginRunRequest,
  type BegunRun,
  type GetSessionRequest,
  type MaybePromise,
  type Session,
  systemPlatform,
} from '@eventloom/core';
import { type OptionRules, checkOptions, wrongOption } from '@eventloom/core/internal';
import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { toEventWindow, toSession } from '../session-view.ts';
import { SqlSessionDriver } from '../sql/sql-session-driver.ts';
import { whenReady } from '../when-ready.ts';
import { DurableObjectConnection, type DurableObjectSqlStorage } from './durable-object-connection.ts';
import { LargeTexts, MAX_ROW_BYTES } from './large-texts.ts';
import { type LargeValueBucket, LargeValues } from './large-values.ts';

/** Options of `DurableObjectSessionService`. */
export interface DurableObjectSessionServiceOptions extends DriverSessionServiceOptions {
  /** `ctx.storage` of an object whose class has SQLite storage. The tables of this package begin with `eventloom_`. */
  readonly storage: DurableObjectSqlStorage;
  /**
   * An R2 bucket for values that are too large for a row. Default: the storage keeps them in pieces. Do not change this option after such a
   * value was stored.
   */
  readonly bucket?: LargeValueBucket | undefined;
  /** Prefix of the keys in the bucket. Give objects that share a bucket different prefixes. Default empty. */
  readonly prefix?: string | undefined;
  /**
   * Called before a large value is written, for example to set an alarm that calls `sweep`. Its own writes are durable before the value is
   * written. Default: nothing is called.
   */
  readonly onLoose?: (() => void) | undefined;
  /**
   * Called before a run is stored as begun, for example to set an alarm that resumes the run if the object dies. Its own writes are
   * durable before the run. Default: nothing is called.
   */
  readonly onBeginRun?: (() => void) | undefined;
  /**
   * Maximum size of a value in a row, in bytes of JSON; a larger value is stored beside it. Default and maximum
   * 1,950,000.
   */
  readonly maxRowBytes?: number | undefined;
}

const OPTIONS: OptionRules<DurableObjectSessionServiceOptions> = {
  storage: 'object',
  bucket: 'object',
  prefix: 'text',
  onLoose: 'function',
  onBeginRun: 'function',
  maxRowBytes: 'number',
  platform: 'object',
};

/**
 * Sessions in the SQL storage of a Durable Object.
 *
 * One object holds any number of sessions and the app and user state that was written in it. With one object for each user, `user:` state
 * is complete, and `app:` state is that user's copy; `DurableObjectAppState` exchanges changes between objects.
 *
 * A service belongs to one object: create it once, in the object's constructor, which also creates its tables. Leases also work between two
 * services on one storage, but a release in one service does not wake a waiter in the other, which asks again only when the lease would
 * expire.
 *
 * Work on the storage is synchronous: no other request of the object runs inside a call's transaction. The object's output gate makes
 * writes durable before any response or message leaves the object. A completed call without a later response may be lost if the machine
 * fails, but only as a whole. A lease survives the loss of the object's memory: after an eviction its holder may continue, and all others
 * wait until it expires, unless the object declares with `abandonLeases` that the holders no longer exist.
 *
 * A row takes 2 MB: events, values of user and session state and responses of tools that are larger than 1,950,000 bytes as JSON are stored
 * beside it, and the row refers to them. Without a bucket they are stored in pieces in the storage. With a bucket they are written to the
 * bucket first, and each read of one takes a further request. Later calls overtake a call that waits for the bucket; await each call if
 * their order matters. `sweep` deletes values without references; call it at intervals while `hasLoose` is true.
 *
 * Limits: an event, a state value or the response of a tool call takes up to 16 MiB as JSON, because an object has 128 MB of memory, and a
 * value of app state 1,950,000 bytes. A session's own state takes up to 17,000,000 bytes in total, that of a user and the copy of an app's
 * 4,000,000 each, because all three are read at once; each key counts 100 bytes in addition to its name and its value. A larger value is a
 * SizeLimitError. State that is too large, because other objects wrote the app's state or an earlier version allowed it, can be read and
 * reduced. An object takes 10 GB; a write beyond that is an error of the storage that changes nothing. No statement binds more than ten of
 * the 100 parameters that are allowed.
 */
export class DurableObjectSessionService extends DriverSessionService {
  readonly #storage: DurableObjectSqlStorage;
  readonly #rows: SqlSessionDriver;
  readonly #values: LargeValues;
  readonly #onBeginRun: (() => void) | undefined;

  /** @throws ConfigurationError if a newer version created the tables, and for an unknown option */
  constructor(options: DurableObjectSessionServiceOptions) {
    checkOptions('DurableObjectSessionService', OPTIONS, options);
    const { storage, bucket, prefix = '', onLoose, maxRowBytes = MAX_ROW_BYTES, platform = systemPlatform } = options;
    if (storage?.sql === undefined)
      throw wrongOption(
        'DurableObjectSessionService',
        'storage',
        'the SQL storage of a Durable Object',
        storage,
        'ctx.storage',
      );
    const values = new LargeValues(storage, bucket, prefix, platform, onLoose);
    const texts = new LargeTexts(values, maxRowBytes);
    const run = <T>(work: () => T) => texts.run(work);
    const rows = new SqlSessionDriver(new DurableObjectConnection(storage, texts), { read: run, write: run });
    super(rows, { platform });
    values.begin();
    this.#storage = storage;
    this.#rows = rows;
    this.#values = values;
    this.#onBeginRun = options.onBeginRun;
  }

  /** True if there are large values without references: their rows were deleted, are not stored yet, or were never stored. */
  get hasLoose(): boolean {
    return this.#values.hasLoose;
  }

  /** Deletes up to 1,000 values without references. The next call repeats failed deletions. @throws the error of the bucket */
  sweep(): Promise<void> {
    return this.#values.sweep();
  }

  override async getWithoutState({ config, ...key }: GetSessionRequest): Promise<Session | undefined> {
    const stored = await this.#rows.readSession(key, toEventWindow(config), false);
    return stored && toSession(stored);
  }

  /**
   * Begins a run like every service, but makes the attempt durable first. Otherwise a run that ends the object each time before a response
   * leaves it would be retried forever.
   */
  override beginRun(request: BeginRunRequest): MaybePromise<BegunRun> {
    this.#onBeginRun?.();
    return whenReady(super.beginRun(request), (begun) => {
      const kept = begun.wasOpen ? this.#storage.sync?.() : undefined;
      return kept ? kept.then(() => begun) : begun;
    });
  }

  /**
   * Frees all leased sessions. Call it in the object's constructor, before a lease is granted, because the holders no longer exist after
   * the object lost its memory. Without the call, a session is free when its lease expires.
   */
  abandonLeases(): void {
    this.#storage.sql.exec('UPDATE eventloom_holds SET lease_until = 0 WHERE lease_until > 0').toArray();
  }
}
