import type { Platform } from '@eventloom/core';
import type { DurableObjectAppState } from '@eventloom/sessions/durable-object';
import { AppStateUnreachableError } from '../errors/app-state-unreachable-error.ts';
import type { AppStateAnswer, AppStateExchange } from './app-state-exchange.ts';
import type { ObjectNamespace } from './cloudflare-bindings.ts';

/** For how long what is known of other users' writes is good enough, and how long a request waits for better. */
const FRESH_MS = 1000;
const WAIT_MS = 1000;
/** Characters of changes in one delivery. */
const DELIVERY_CHARS = 1_000_000;

/** Carries app state between a user's object and the object of the app. One exchange of an app at a time: the next sees its result. */
export class AppStateSync {
  readonly #replica: DurableObjectAppState;
  readonly #sender: string;
  readonly #apps: ObjectNamespace;
  readonly #platform: Platform;
  readonly #report: (error: unknown) => void;
  readonly #exchanges = new Map<string, Promise<void>>();
  readonly #freshUntilMs = new Map<string, number>();

  /** @param report told of what failed; it is tried again */
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

  /** True while something was written here and is not delivered. */
  get hasPending(): boolean {
    return this.#replica.pendingApps().length > 0;
  }

  /** Learns what others wrote, unless that was done a second ago. Waits a second at most: then what is known must do. Never rejects. */
  async refresh(appName: string): Promise<void> {
    if (this.#platform.now() < (this.#freshUntilMs.get(appName) ?? 0)) return;
    const late = Promise.withResolvers<void>();
    const callOff = this.#platform.schedule(WAIT_MS, late.resolve);
    await Promise.race([this.#exchange(appName), late.promise]);
    callOff();
  }

  /** Delivers what waits. Never rejects; what could not be delivered still waits. */
  async deliver(): Promise<void> {
    await Promise.all(this.#replica.pendingApps().map((appName) => this.#exchange(appName)));
  }

  #exchange(appName: string): Promise<void> {
    const running = this.#exchanges.get(appName);
    if (running) return running;
    const exchange = this.#exchangeAll(appName)
      .catch(this.#report)
      .finally(() => this.#exchanges.delete(appName));
    this.#exchanges.set(appName, exchange);
    return exchange;
  }

  async #exchangeAll(appName: string): Promise<void> {
    const app = this.#apps.getByName(appName);
    for (;;) {
      const pending = this.#replica.pending(appName, DELIVERY_CHARS);
      const knownVersion = this.#replica.version(appName);
      const exchange: AppStateExchange = { sender: this.#sender, knownVersion, pending };
      const response = await app.fetch(
        new Request('https://app.internal/', { method: 'POST', body: JSON.stringify(exchange) }),
      );
      if (!response.ok) throw new AppStateUnreachableError(`the object of app ${appName} answered ${response.status}`);
      const { changes, version, hasMore } = (await response.json()) as AppStateAnswer;
      const lastSeq = pending.at(-1)?.seq;
      if (lastSeq !== undefined) this.#replica.settle(appName, lastSeq);
      if (version !== knownVersion) this.#replica.apply(appName, version, changes);
      if (!hasMore && this.#replica.pending(appName, 1).length === 0) break;
    }
    this.#freshUntilMs.set(appName, this.#platform.now() + FRESH_MS);
  }
}
