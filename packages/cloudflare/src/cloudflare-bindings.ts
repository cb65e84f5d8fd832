import type { DurableObjectStorage } from '@eventloom/core';
import type { R2ArtifactBucket } from '@eventloom/artifacts/r2';
import type { LargeValueBucket } from '@eventloom/sessions/durable-object';

/** The members used of a Durable Object's SQLite storage, `ctx.storage`. */
export interface ObjectStorage extends DurableObjectStorage {
  getAlarm(): Promise<number | null>;
  setAlarm(scheduledTimeMs: number): Promise<void>;
  sync(): Promise<void>;
}

/** The members used of a Durable Object's state, the first argument of its constructor. */
export interface ObjectState {
  readonly id: { toString(): string };
  readonly storage: ObjectStorage;
}

/** The members used of a binding to a class of Durable Objects. */
export interface ObjectNamespace {
  getByName(name: string): { fetch(request: Request): Promise<Response> };
}

/** The bindings of a Worker that serves agents. */
export interface CloudflareBindings {
  /** Binding of the class `UserObject`: one object for each user of an app. */
  readonly EVENTLOOM_USERS: ObjectNamespace;
  /** Binding of the class `AppStateObject`: one object for each app. */
  readonly EVENTLOOM_APPS: ObjectNamespace;
  /** Bucket for artifacts and for session values too large for a row. Default: the user's object stores them, up to 16 MiB each. */
  readonly EVENTLOOM_ARTIFACTS?: R2ArtifactBucket & LargeValueBucket;
  /** Rate limit for every route but the probes, counted by user, or by address for unauthenticated requests. Default: none. */
  readonly EVENTLOOM_RATE_LIMIT?: { limit(options: { key: string }): Promise<{ success: boolean }> };
}
