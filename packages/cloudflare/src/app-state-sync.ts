import type { Platform } from '@eventloom/core';
import { within } from '@eventloom/core/internal';
import type { DurableObjectAppState } from '@eventloom/sessions/durable-object';
import { type AppStateResponse, type AppStateExchange, isAppStateResponse } from './app-state-exchange.ts';
import type { ObjectNamespace } from './cloudflare-bindings.ts';
import { AppStateUnreachableError } from './errors.ts';

/** Age up to which a replica is fresh, in milliseconds. */
const FRESH_MS = 1000;
/** Time that a request waits for a refresh, in milliseconds. */
const WAIT_MS = 1000;
/** Maximum number of characters of pending changes in one request. */
const DELIVERY_CHARS = 1_000_000;
/** Timeout of one request to the app's object, in milliseconds. */
const ANSWER_MS = 10_000;
/** Delay before a failed delivery is retried; it grows up to the maximum while deliveries fail. */
const RETRY_MS = 5000;
const MAX_RETRY_MS = 300_000;

/** Synchronizes app state between a user's object and the app's object. Runs one exchange per app at a time. */
export class AppStateSync {
  readonly #replica: DurableObjectAppState;
  readonly #sender: string;
  readonly #apps: ObjectNamespace;
  readonly #platform: Platform;
  readonly #report: (error: unknown) => void;
  readonly #exchanges = new Map<string, Promise<void>>();
  readonly #freshUntilMs = new Map<string, number>();
  readonly #failures = new Map<string, { readonly sinceMs: number; readonly againMs: number }>();

  /** @param report called with the first of consecutive failures */
  constructor(
    replica: DurableObjectAppState,
    sender: string,
    apps: ObjectNamespace,
    platform: Platform,
    report: (error: unknown) => void,
  ) {
    this.#replica = replica;
    this.#sender = sender;
    this.#apps = apps;
    this.#platform = platform;
    this.#report = report;
  }

  /** True while a local change is not delivered. */
  get hasPending(): boolean {
    return this.#replica.pendingApps().length > 0;
  }

  /** Time of the next delivery in milliseconds since the epoch; `Infinity` if nothing is pending. */
  get dueMs(): number {
    const due = this.#replica
      .pendingApps()
      .map(({ appName, sinceMs }) => this.#failures.get(appName)?.againMs ?? sinceMs + RETRY_MS);
    return Math.min(...due, Infinity);
  }

  /**
   * Fetches changes of other users, unless the replica is fresh or the last attempt failed and its retry is not due. Returns after
   * `WAIT_MS` at the latest, with the replica as it is then. Never rejects.
   */
  async refresh(appName: string): Promise<void> {
    if (this.#platform.now() < (this.#freshUntilMs.get(appName) ?? 0)) return;
    await within(this.#platform, this.#exchange(appName), WAIT_MS, () => {
      // Only one request waits for an app's object that does not answer; later requests do not.
      this.#freshUntilMs.set(appName, this.#platform.now() + ANSWER_MS);
    });
  }

  /** Delivers pending changes of every app whose retry is due. Never rejects; changes that fail to be delivered stay pending. */
  async deliver(): Promise<void> {
    await Promise.all(this.#replica.pendingApps().map(({ appName }) => this.#exchange(appName)));
  }

  #exchange(appName: string): Promise<void> {
    const running = this.#exchanges.get(appName);
    if (running) return running;
    if (this.#platform.now() < (this.#failures.get(appName)?.againMs ?? 0)) return Promise.resolve();
    const exchange = this.#exchangeAll(appName)
      .catch((error: unknown) => this.#failed(appName, error))
      .finally(() => this.#exchanges.delete(appName));
    this.#exchanges.set(appName, exchange);
    return exchange;
  }

  #failed(appName: string, error: unknown): void {
    const now = this.#platform.now();
    const before = this.#failures.get(appName);
    if (!before) this.#report(error);
    // After an eviction the age of the oldest pending change says how long deliveries have failed.
    const waiting = this.#replica.pendingApps().find((app) => app.appName === appName);
    const sinceMs = before?.sinceMs ?? Math.min(now, waiting?.sinceMs ?? now);
    const waitMs = Math.min(Math.max(now - sinceMs, RETRY_MS), MAX_RETRY_MS);
    this.#failures.set(appName, { sinceMs, againMs: Math.ceil(now + waitMs * (0.75 + this.#platform.random() / 2)) });
  }

  async #exchangeAll(appName: string): Promise<void> {
    for (;;) {
      const pending = this.#replica.pending(appName, DELIVERY_CHARS);
      const knownVersion = this.#replica.version(appName);
      const { changes, version, hasMore } = await this.#ask(appName, { sender: this.#sender, knownVersion, pending });
      const lastSeq = pending.at(-1)?.seq;
      if (lastSeq !== undefined) this.#replica.settle(appName, lastSeq);
      if (version !== knownVersion) this.#replica.apply(appName, version, changes);
      if (!hasMore && this.#replica.pending(appName, 1).length === 0) break;
    }
    this.#failures.delete(appName);
    this.#freshUntilMs.set(appName, this.#platform.now() + FRESH_MS);
  }

  async #ask(appName: string, exchange: AppStateExchange): Promise<AppStateResponse> {
    const controller = new AbortController();
    const late = Promise.withResolvers<never>();
    const callOff = this.#platform.schedule(ANSWER_MS, () => {
      const error = new AppStateUnreachableError(`the object of app ${appName} did not answer within ${ANSWER_MS} ms`);
      late.reject(error);
      controller.abort(error);
    });
    try {
      return await Promise.race([this.#send(appName, exchange, controller.signal), late.promise]);
    } finally {
      callOff();
    }
  }

  async #send(appName: string, exchange: AppStateExchange, signal: AbortSignal): Promise<AppStateResponse> {
    const request = new Request('https://app.internal/', { method: 'POST', body: JSON.stringify(exchange), signal });
    const response = await this.#apps.getByName(appName).fetch(request);
    if (!response.ok) throw new AppStateUnreachableError(`the object of app ${appName} answered ${response.status}`);
    const answer: unknown = await response.json();
    if (isAppStateResponse(answer)) return answer;
    throw new AppStateUnreachableError(
      `the object of app ${appName} sent an unexpected answer; is it of another version?`,
    );
  }
}
