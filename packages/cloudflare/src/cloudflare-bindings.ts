import type { DurableObjectStorage } from '@eventloom/core';
import type { R2ArtifactBucket } from '@eventloom/artifacts/r2';
import type { LargeValueBucket } from '@eventloom/sessions/durable-object';

/** What is used of a Durable Object's storage with SQLite: `ctx.storage`. */
export interface ObjectStorage extends DurableObjectStorage {
  getAlarm(): Promise<number | null>;
  setAlarm(scheduledTimeMs: number): Promise<void>;
  sync(): Promise<void>;
}

/** What is used of a Durable Object's state: the first argument of its constructor. */
export interface ObjectState {
  readonly id: { toString(): string };
  readonly storage: ObjectStorage;
}

/** What is used of a binding to a class of Durable Objects. */
export interface ObjectNamespace {
  getByName(name: string): { fetch(request: Request): Promise<Response> };
}

/** The bindings of a Worker that serves agents. */
export interface CloudflareBindings {
  /** The class `UserObject`: an object for each user of an app. */
  readonly EVENTLOOM_USERS: ObjectNamespace;
  /** The class `AppStateObject`: an object for each app. */
  readonly EVENTLOOM_APPS: ObjectNamespace;
  /** Where artifacts are kept, and what of sessions is too large for a row. Default: in the user's object, up to 16 MiB each. */
  readonly EVENTLOOM_ARTIFACTS?: R2ArtifactBucket & LargeValueBucket;
  /** A rate limit, asked at every route but the probes: for each user, or for each address where nobody is authenticated. Default: none. */
  readonly EVENTLOOM_RATE_LIMIT?: { limit(options: { key: string }): Promise<{ success: boolean }> };
}
