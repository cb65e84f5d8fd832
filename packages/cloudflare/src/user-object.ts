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

/** An object without requests is evicted after a minute or two: a run is looked after more often. */
const KEEP_ALIVE_MS = 20_000;

/** An object has 128 MB: less is taken on than in a process of one's own. */
const OBJECT_LIMITS: Partial<ServerLimits> = {
  maxRuns: 100,
  maxKeptChars: 32 * 1024 * 1024,
  maxLiveCalls: 4,
  // A client that answers no pings is only known to read when it sends something, and may listen for long: more may wait for it.
  maxLiveWaitingBytes: 8 * 1024 * 1024,
};

/**
 * Everything of one user of one app: the sessions, the user's state, the runs and their buffers. Serves the routes that name
 * this user. A run belongs to the object: it goes on when its request ends, and an alarm keeps the object while there is one, or wakes
 * it when it died: then resumable runs go on. The same alarm delivers app state that could not be delivered, and deletes the buffers
 * of runs that ended and large values that nothing refers to any more.
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
  /** When it is looked for unfinished runs again; infinite when there are none. */
  #takeUpMs = Infinity;
  /** When the alarm rings; infinite when none is set. */
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
      // An object that dies before a row refers to the value is woken to delete it.
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
      // What has ended is read from storage, and no timer for it keeps the object in memory.
      // The alarm looks for unfinished runs, so that no timer does.
      limits: { ...limitsOver(OBJECT_LIMITS, limits), maxKeptRuns: 0, unfinishedRunsEveryMs: 0 },
      relay: this.#relay,
    });
    // Its failure is told to the first request.
    this.#begun().catch(() => undefined);
  }

  /** Settles when the runs that the object left when it lost its memory can be followed, or are given up. What fails is tried again. */
  #begun(): Promise<void> {
    return (this.#ready ??= this.#begin().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    }));
  }

  async #begin(): Promise<void> {
    // It may be the alarm that woke the object: one that is to ring is left as it is.
    this.#alarmMs = (await this.#storage.getAlarm()) ?? Infinity;
    await this.#takeUpRuns();
    this.#setAlarm();
  }

  async fetch(request: Request): Promise<Response> {
    await this.#begun();
    const appName = forwardedOf(request)?.appName;
    if (appName !== undefined) await this.#sync.refresh(appName);
    const response = await (isLiveRequest(request)
      ? acceptLive(request, this.#server, (ended) => this.#hold(ended))
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

  /** Goes on with the runs that ended with the memory of the object, or gives them up. */
  async #takeUpRuns(): Promise<void> {
    const againMs = await this.#server.takeUpUnfinishedRuns();
    this.#takeUpMs = againMs === undefined ? Infinity : this.#platform.now() + againMs;
  }

  /** Looks after a call while it lasts. What it wrote is delivered at its end. */
  #hold(ended: Promise<void>): void {
    this.#calls++;
    void ended.then(() => {
      this.#calls--;
      this.#settle();
    });
  }

  /** Runs and calls that go on. */
  get #running(): number {
    return this.#relay.running + this.#calls;
  }

  /** Delivers what was written; the alarm is set first, in case that fails. An object without runs comes to rest. */
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
    // An object that rests is not woken before it has something to do. One whose time has come rings, and is set again then.
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
