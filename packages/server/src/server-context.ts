import type { Platform } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { LiveCalls } from './live/live-calls.ts';
import type { RunRegistry } from './runs/run-registry.ts';
import type { ServerLimits } from './server-limits.ts';

/** What all requests to one server share. */
export interface ServerContext {
  readonly runners: ReadonlyMap<string, Runner>;
  readonly runs: RunRegistry;
  readonly calls: LiveCalls;
  readonly limits: ServerLimits;
  readonly platform: Platform;
  /** What `/version` answers. */
  readonly version: Readonly<Record<string, string>>;
}
