import {
  type BeginRunRequest,
  type BegunRun,
  type GetSessionRequest,
  type MaybePromise,
  type Session,
  systemPlatform,
} from '@eventloom/core';
import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { toEventWindow } from '../event-window.ts';
import { toSession } from '../session-view.ts';
import { SqlSessionDriver } from '../sql/sql-session-driver.ts';
import { whenReady } from '../when-ready.ts';
import { DurableObjectConnection, type DurableObjectSqlStorage } from './durable-object-connection.ts';
import { LargeTexts, MAX_ROW_BYTES } from './large-texts.ts';
import { type LargeValueBucket, LargeValues } from './large-values.ts';

/** Options of `DurableObjectSessionService`. */
export interface DurableObjectSessionServiceOptions extends DriverSessionServiceOptions {
  /** `ctx.storage` of an object whose class has SQLite storage. The tables of this package begin with `eventloom_`. */
  readonly storage: DurableObjectSqlStorage;
  /** An R2 bucket for values that are too large for a row. Default: they lie in pieces in the storage. Decide before the first is stored. */
  readonly bucket?: LargeValueBucket | undefined;
  /** What the keys in the bucket begin with. Objects that share a bucket need prefixes apart. Default empty. */
  readonly prefix?: string | undefined;
  /** Called before a large value is written, and may have `hasLoose` looked at later: what it stores is durable with that. Default nothing. */
  readonly onLoose?: (() => void) | undefined;
  /** What is larger as JSON, in bytes, does not lie in its row. Default and maximum 1,950,000. */
  readonly maxRowBytes?: number | undefined;
}

/**
 * Sessions in the SQL storage of a Durable Object.
 *
 * One object holds any number of sessions, and what they share: of the app's and the users' state it knows what was written in it.
 * With an object for each user, `user:` state is whole and `app:` state is that user's copy; carrying it from object to object
 * is for `DurableObjectAppState`.
 *
 * One service belongs to one object: make it once, in the object's constructor, where its tables are made as well. With two of
 * them on one storage leases hold all the same, but who waits in one for a session is not woken by a release in the other and
 * asks again only when the lease would expire.
 *
 * Work on the storage is synchronous: no other request of the object runs inside a call's transaction. What a call wrote is
 * durable before any answer or message leaves the object: its output gate waits for that. A call that returned and was followed
 * by no answer may be lost with the machine, each call whole. A lease outlives the object's memory: after an eviction its
 * holder may go on, and everybody else waits until it expires, unless the object says with `abandonLeases` that its holders are gone.
 *
 * A row takes 2 MB: events, values of user and session state and the responses of tools that are larger than 1,950,000 bytes as JSON are
 * kept beside it, and the row refers to them. Without a bucket they lie in pieces in the storage. With one they are written to it first, and to
 * read them takes one more request each; calls made meanwhile overtake the one that waits for that, so whoever needs an order waits for each
 * call. What nothing refers to any more is deleted by `sweep`, to be called now and then while `hasLoose`.
 *
 * Limits: an event, a state value or the response of a tool call takes up to 16 MiB as JSON, because an object has 128 MB of memory,
 * and a value of app state 1,950,000 bytes. A session's own state takes up to 17,000,000 bytes in all, that of a user and the copy of an
 * app's 4,000,000 each, because all three are read at once; each key counts 100 bytes beside its name and its value. More is a
 * SizeLimitError; state that is too large, as others made the app's or an earlier version let it become, can be read and made smaller.
 * An object takes 10 GB; a write beyond is an error of the storage
 * that changes nothing. No statement has more than ten of the 100 parameters that may be bound.
 */
export class DurableObjectSessionService extends DriverSessionService {
  readonly #storage: DurableObjectSqlStorage;
  readonly #rows: SqlSessionDriver;
  readonly #values: LargeValues;

  /** @throws ConfigurationError when the tables were made by a newer version */
  constructor(options: DurableObjectSessionServiceOptions) {
    const { storage, bucket, prefix = '', onLoose, maxRowBytes = MAX_ROW_BYTES, platform = systemPlatform } = options;
    const values = new LargeValues(storage, bucket, prefix, platform, onLoose);
    const texts = new LargeTexts(values, maxRowBytes);
    const run = <T>(work: () => T) => texts.run(work);
    const rows = new SqlSessionDriver(new DurableObjectConnection(storage, texts), { read: run, write: run });
    super(rows, options);
    values.begin();
    this.#storage = storage;
    this.#rows = rows;
    this.#values = values;
  }

  /** True when large values are stored that nothing refers to: those of what was deleted, or is not stored yet or was not in the end. */
  get hasLoose(): boolean {
    return this.#values.hasLoose;
  }

  /** Deletes such values, up to 1,000. What could not be deleted is tried again by the next call. @throws what the bucket throws */
  sweep(): Promise<void> {
    return this.#values.sweep();
  }

  override async countWithin({ config, ...key }: GetSessionRequest, maxBytes: number): Promise<number> {
    return this.#rows.countWithin(key, toEventWindow(config), maxBytes);
  }

  override async getWithoutState({ config, ...key }: GetSessionRequest): Promise<Session | undefined> {
    const stored = await this.#rows.readSession(key, toEventWindow(config), false);
    return stored && toSession(stored);
  }

  /**
   * As in every service. The attempt at a run that continues is durable before it begins: a run that takes the object's memory with it
   * each time, before anything leaves the object, would else be tried for ever.
   */
  override beginRun(request: BeginRunRequest): MaybePromise<BegunRun> {
    return whenReady(super.beginRun(request), (begun) => {
      const kept = begun.wasOpen ? this.#storage.sync?.() : undefined;
      return kept ? kept.then(() => begun) : begun;
    });
  }

  /**
   * Frees at once the sessions whose leases were held by what the object did before it lost its memory, which is gone. To be called
   * before anything takes a lease, as in the object's constructor; without this, a session is free when its lease is over.
   */
  abandonLeases(): void {
    this.#storage.sql.exec('UPDATE eventloom_sessions SET lease_until = 0 WHERE lease_until > 0').toArray();
  }
}
