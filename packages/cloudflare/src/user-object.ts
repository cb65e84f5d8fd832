import { DurableObjectArtifactService } from '@eventloom/artifacts/durable-object';
import { R2ArtifactService } from '@eventloom/artifacts/r2';
import { ConfigurationError } from '@eventloom/core';
import { DEFAULT_LIMITS, type EventloomServer, type ServerLimits } from '@eventloom/server';
import { createSmallServer, isLiveRequest, mergeLimits } from '@eventloom/server/internal';
import { DurableObjectAppState, DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { acceptLive } from './accept-live.ts';
import { AppStateSync } from './app-state-sync.ts';
import type { CloudflareBindings, ObjectState, ObjectStorage } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { forwardedOf } from './forwarded.ts';
import { LargeValueSweep } from './large-value-sweep.ts';
import { ObjectPlatform } from './object-platform.ts';

/** Interval of the alarm while a run is active: an object without requests is evicted after a minute or two. */
const KEEP_ALIVE_MS = 20_000;

/** Lower than the defaults of a server process, because an object has 128 MB of memory. */
const OBJECT_LIMITS: ServerLimits = {
  ...DEFAULT_LIMITS,
  maxRuns: 100,
  maxRunsPerUser: Infinity,
  maxBodyBytesInFlight: 32 * 1024 * 1024,
  maxResponseChars: 16 * 1024 * 1024,
  maxLiveRunsPerUser: Infinity,
  maxKeptChars: 32 * 1024 * 1024,
  maxLiveRuns: 4,
  // A client that answers no pings confirms what it has read only by sending something, which may take long: so more may wait for it.
  maxLiveWaitingBytes: 8 * 1024 * 1024,
};

/**
 * Returns the limits of an object, which has one user: the totals are also those of the user. A request over them is
 * refused with `USER_LIMIT`, which is no failure of the server.
 */
export function toObjectLimits(given: Partial<ServerLimits> | undefined): ServerLimits {
  const limits = mergeLimits(OBJECT_LIMITS, given);
  return {
    ...limits,
    maxRunsPerUser: Math.min(limits.maxRuns, limits.maxRunsPerUser),
    maxQueuedRequestsPerUser: Math.min(limits.maxQueuedRequests, limits.maxQueuedRequestsPerUser),
    maxBodyBytesInFlightPerUser: Math.min(limits.maxBodyBytesInFlight, limits.maxBodyBytesInFlightPerUser),
    maxResponseCharsPerUser: Math.min(limits.maxResponseChars, limits.maxResponseCharsPerUser),
    // No timer keeps the object in memory: ended runs are read from their sessions, and the alarm looks for unfinished runs.
    maxKeptRuns: 0,
    unfinishedRunsEveryMs: 0,
  };
}

/**
 * The Durable Object of one user of one app. Holds the sessions, the user's state and the runs, and serves the routes that name this
 * user. A run belongs to the object and continues when its request ends; once it has ended, its session answers for it. While a run is
 * active an alarm keeps the object in memory; after an eviction the alarm wakes the object, which continues resumable runs. The same
 * alarm retries the delivery of app state and of webhooks, and deletes large values that no row refers to.
 */
export class UserObject<Env extends CloudflareBindings> {
  readonly #storage: ObjectStorage;
  readonly #platform = new ObjectPlatform();
  readonly #sweep: LargeValueSweep;
  readonly #server: EventloomServer;
  readonly #sync: AppStateSync;
  #ready: Promise<void> | undefined;
  #isWatching = false;
  /** Time of the next search for unfinished runs; `Infinity` if there are none. */
  #takeUpMs = Infinity;
  /** Time of the alarm; `Infinity` if none is set. */
  #alarmMs = Infinity;

  constructor({ id, storage }: ObjectState, env: Env, options: CloudflareServerOptions<Env>) {
    const {
      appNames,
      runners: createRunners,
      authenticate,
      protocols,
      runConfig,
      webhooks,
      limits,
      origins: _origins,
      onError = (error: unknown) => console.error(error),
      ...shared
    } = options;
    const platform = this.#platform;
    this.#storage = storage;
    const bucket = env.EVENTLOOM_ARTIFACTS;
    const prefix = `large-values/${id.toString()}/`;
    const sessionService = new DurableObjectSessionService({
      storage,
      platform,
      bucket,
      prefix,
      // If the object is evicted before a row refers to the value, the alarm wakes it to delete the value.
      onLoose: () => this.#setAlarm(),
      // The request of the run may last as long as the run, so its response comes too late for this.
      onBeginRun: () => this.#expectRun(),
    });
    this.#sweep = new LargeValueSweep(sessionService, platform, onError);
    const artifactService = bucket ? new R2ArtifactService({ bucket }) : new DurableObjectArtifactService({ storage });
    const runners = createRunners(env, { sessionService, artifactService, platform });
    checkAppNames(appNames, runners);
    const replica = new DurableObjectAppState(storage);
    this.#sync = new AppStateSync(replica, id.toString(), env.EVENTLOOM_APPS, platform, onError);
    sessionService.abandonLeases();
    this.#server = createSmallServer({
      ...shared,
      onError,
      platform,
      runners,
      protocols: typeof protocols === 'function' ? protocols(env) : protocols,
      authenticate: authenticate?.(env) && ((request) => forwardedOf(request)?.user),
      runConfig: runConfig?.(env),
      webhooks: webhooks?.(env),
      limits: toObjectLimits(limits),
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
    this.#deliverWebhooks();
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
    await this.#takeUpRuns();
    await this.#sweep.sweep();
    await this.#sync.deliver();
    await this.#server.deliverWebhooks();
    this.#setAlarm();
  }

  /** Resumes or closes the runs that an eviction interrupted. */
  async #takeUpRuns(): Promise<void> {
    this.#takeUpMs = Infinity;
    const againMs = await this.#server.takeUpUnfinishedRuns();
    if (againMs !== undefined) this.#takeUpMs = Math.min(this.#takeUpMs, this.#platform.now() + againMs);
    this.#watch();
  }

  /** Sets an alarm that looks for the run that is about to begin. */
  #expectRun(): void {
    this.#takeUpMs = Math.min(this.#takeUpMs, this.#platform.now() + KEEP_ALIVE_MS);
    this.#setAlarm();
  }

  /** Delivers the app state of a live run at its end. */
  #hold(ended: Promise<void>): void {
    void ended.then(() => this.#settle());
  }

  /** The number of active runs and live runs. */
  get #running(): number {
    return this.#server.runsInFlight;
  }

  /** Delivers pending app state, after setting the alarm that retries it. Runs idle callbacks when no run is active. */
  #settle(): void {
    this.#setAlarm();
    if (this.#running === 0) this.#platform.rest();
    this.#watch();
    if (this.#server.webhooksDueMs < Infinity) this.#deliverWebhooks();
    if (this.#sync.hasPending) this.#platform.background(this.#sync.deliver().then(() => this.#setAlarm()));
  }

  /** Sends the webhooks of ended runs. The alarm sends again what was not delivered. */
  #deliverWebhooks(): void {
    const hasDelivered = this.#server.deliverWebhooks();
    if (hasDelivered) this.#platform.background(hasDelivered.then(() => this.#setAlarm()));
  }

  /** Resolves again when no run is active. */
  #watch(): void {
    const idle = this.#isWatching ? undefined : this.#server.whenIdle();
    if (!idle) return;
    this.#isWatching = true;
    this.#platform.background(
      idle.then(() => {
        this.#isWatching = false;
        this.#settle();
        this.#deliverWebhooks();
      }),
    );
  }

  #setAlarm(): void {
    const now = this.#platform.now();
    const isRunning = this.#running > 0;
    const dueMs = Math.min(
      isRunning ? now + KEEP_ALIVE_MS : Infinity,
      this.#sync.dueMs,
      this.#sweep.dueMs,
      this.#takeUpMs,
      this.#server.webhooksDueMs,
    );
    // Moves a future alarm of an idle object to a later time, so that it is not woken early. An alarm that is due
    // fires, and sets the next one.
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
