import { DurableObjectArtifactService } from '@eventloom/artifacts/durable-object';
import { R2ArtifactService } from '@eventloom/artifacts/r2';
import { ConfigurationError } from '@eventloom/core';
import { DEFAULT_LIMITS, type EventloomServer, type ServerLimits } from '@eventloom/server';
import { createServerOn, isLiveRequest, limitsOver } from '@eventloom/server/internal';
import { DurableObjectAppState, DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { Hono } from 'hono/tiny';
import { acceptLive } from './accept-live.ts';
import { AppStateSync } from './app-state-sync.ts';
import type { CloudflareBindings, ObjectState, ObjectStorage } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { forwardedOf } from './forwarded.ts';
import { LargeValueSweep } from './large-value-sweep.ts';
import { ObjectPlatform } from './object-platform.ts';
import { ObjectRunRelay } from './object-run-relay.ts';
import { RunStore } from './run-store.ts';

/** Interval of the alarm while a run is active: an object without requests is evicted after a minute or two. */
const KEEP_ALIVE_MS = 20_000;

/** Lower than the defaults of a server process, because an object has 128 MB of memory. */
const OBJECT_LIMITS: Partial<ServerLimits> = {
  maxRuns: 100,
  maxKeptChars: 32 * 1024 * 1024,
  maxLiveCalls: 4,
  // A client that answers no pings confirms what it has read only by sending something, which may take long: so more may wait for it.
  maxLiveWaitingBytes: 8 * 1024 * 1024,
};

/**
 * The Durable Object of one user of one app. Holds the sessions, the user's state, the runs and their buffers, and serves the routes
 * that name this user. A run belongs to the object and continues when its request ends. While a run is active an alarm keeps the object
 * in memory; after an eviction the alarm wakes the object, which continues resumable runs. The same alarm retries the delivery of app
 * state, and deletes the buffers of ended runs and large values that no row refers to.
 */
export class UserObject<Env extends CloudflareBindings> {
  readonly #storage: ObjectStorage;
  readonly #platform = new ObjectPlatform();
  readonly #sweep: LargeValueSweep;
  readonly #server: EventloomServer;
  readonly #runs: RunStore;
  readonly #relay: ObjectRunRelay;
  readonly #sync: AppStateSync;
  readonly #keepRunsMs: number;
  #ready: Promise<void> | undefined;
  #calls = 0;
  /** When to look for unfinished runs again; `Infinity` when there are none. */
  #takeUpMs = Infinity;
  /** When the alarm rings; `Infinity` when none is set. */
  #alarmMs = Infinity;

  constructor({ id, storage }: ObjectState, env: Env, options: CloudflareServerOptions<Env>) {
    const {
      appNames,
      runners: createRunners,
      authenticate,
      limits,
      origins: _origins,
      onError = (error: unknown) => console.error(error),
      ...shared
    } = options;
    const platform = this.#platform;
    this.#storage = storage;
    this.#keepRunsMs = limits?.keepRunsMs ?? DEFAULT_LIMITS.keepRunsMs;
    const bucket = env.EVENTLOOM_ARTIFACTS;
    const prefix = `large-values/${id.toString()}/`;
    const sessionService = new DurableObjectSessionService({
      storage,
      platform,
      bucket,
      prefix,
      // If the object is evicted before a row refers to the value, the alarm wakes it to delete the value.
      onLoose: () => this.#setAlarm(),
    });
    this.#sweep = new LargeValueSweep(sessionService, platform, onError);
    const artifactService = bucket ? new R2ArtifactService({ bucket }) : new DurableObjectArtifactService({ storage });
    const runners = createRunners(env, { sessionService, artifactService, platform });
    checkAppNames(appNames, runners);
    const replica = new DurableObjectAppState(storage);
    this.#sync = new AppStateSync(replica, id.toString(), env.EVENTLOOM_APPS, platform, onError);
    this.#runs = new RunStore(storage, platform.now());
    sessionService.abandonLeases();
    this.#relay = new ObjectRunRelay(this.#runs, () => this.#settle());
    this.#server = createServerOn(new Hono(), {
      ...shared,
      onError,
      platform,
      runners,
      authenticate: authenticate && ((request) => forwardedOf(request)?.user),
      // No timer keeps the object in memory: ended runs are read from storage, and the alarm looks for unfinished runs.
      limits: { ...limitsOver(OBJECT_LIMITS, limits), maxKeptRuns: 0, unfinishedRunsEveryMs: 0 },
      relay: this.#relay,
    });
    // A failure is reported to the first request, which awaits the same promise or tries again.
    this.#begun().catch(() => undefined);
  }

  /**
   * Settles when the runs that were active before the last eviction are resumed or closed. After a failure, the next caller tries
   * again.
   */
  #begun(): Promise<void> {
    return (this.#ready ??= this.#begin().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    }));
  }

  async #begin(): Promise<void> {
    // Keeps an alarm that is already set: it may be the one that woke the object.
    this.#alarmMs = (await this.#storage.getAlarm()) ?? Infinity;
    await this.#takeUpRuns();
    this.#setAlarm();
  }

  async fetch(request: Request): Promise<Response> {
    await this.#begun();
    const appName = forwardedOf(request)?.appName;
    if (appName !== undefined) await this.#sync.refresh(appName);
    const { live } = this.#server;
    const response = await (live && isLiveRequest(request, live)
      ? acceptLive(request, live, (ended) => this.#hold(ended))
      : this.#server.fetch(request));
    this.#settle();
    return response;
  }

  async alarm(): Promise<void> {
    await this.#begun();
    this.#alarmMs = Infinity;
    this.#runs.sweep(this.#platform.now() - this.#keepRunsMs);
    await this.#takeUpRuns();
    await this.#sweep.sweep();
    await this.#sync.deliver();
    this.#setAlarm();
  }

  /** Resumes or closes the runs that an eviction interrupted. */
  async #takeUpRuns(): Promise<void> {
    const againMs = await this.#server.takeUpUnfinishedRuns();
    this.#takeUpMs = againMs === undefined ? Infinity : this.#platform.now() + againMs;
  }

  /** Keeps the object in memory during a live run, and delivers its app state at the end. */
  #hold(ended: Promise<void>): void {
    this.#calls++;
    void ended.then(() => {
      this.#calls--;
      this.#settle();
    });
  }

  /** The number of active runs and live runs. */
  get #running(): number {
    return this.#relay.running + this.#calls;
  }

  /** Delivers pending app state, after setting the alarm that retries it. Runs idle callbacks when no run is active. */
  #settle(): void {
    this.#setAlarm();
    if (this.#running === 0) this.#platform.rest();
    if (this.#sync.hasPending) this.#platform.background(this.#sync.deliver().then(() => this.#setAlarm()));
  }

  #setAlarm(): void {
    const now = this.#platform.now();
    const isRunning = this.#running > 0;
    const dueMs = Math.min(
      isRunning ? now + KEEP_ALIVE_MS : Infinity,
      this.#sync.dueMs,
      this.#sweep.dueMs,
      this.#takeUpMs,
      (this.#runs.oldestEndMs() ?? Infinity) + this.#keepRunsMs,
    );
    // Moves a future alarm of an idle object to a later time, so that it is not woken early. An alarm that is due rings, and sets the next.
    const isTooSoon = dueMs > this.#alarmMs && dueMs < Infinity && this.#alarmMs > now && !isRunning;
    if (dueMs >= this.#alarmMs && !isTooSoon) return;
    this.#alarmMs = Math.max(now, dueMs);
    this.#platform.background(this.#storage.setAlarm(this.#alarmMs));
  }
}

/**
 * Checks that `runners` made exactly the apps that `appNames` names: the Worker sends requests only for the names in `appNames`.
 * @throws ConfigurationError when the two differ
 */
export function checkAppNames(appNames: readonly string[], runners: readonly { readonly appName: string }[]): void {
  const made = new Set(runners.map(({ appName }) => appName));
  if (made.size === appNames.length && appNames.every((appName) => made.has(appName))) return;
  throw new ConfigurationError(
    `createCloudflareServer: appNames says ${JSON.stringify(appNames)}, and runners makes ${JSON.stringify([...made])}; name each app in both`,
  );
}
