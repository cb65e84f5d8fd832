import type { Platform } from '@eventloom/core';
import type { WorkQueue } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import type { LargeResponses } from './http/large-responses.ts';
import type { CountLimits } from './http/request-body.ts';
import type { RunConfigHook } from './http/run-policy.ts';
import type { UserQuotas } from './http/user-quotas.ts';
import type { LiveHost } from './live-endpoint.ts';
import type { RunHub } from './runs/run-hub.ts';
import type { Webhooks } from './runs/webhooks.ts';
import type { ServerLimits } from './server-limits.ts';

/** The context for checking requests, also on a Worker that forwards them. */
export interface FrontContext {
  /** The runners, or their presence, by the name of the app. */
  readonly runners: {
    has(appName: string): boolean;
    keys(): Iterable<string>;
    get?(appName: string): Runner | undefined;
  };
  /** The path below which the application mounts the server; empty if there is none. */
  readonly basePath: string;
  readonly runs: { readonly isDraining: boolean };
  /** Returns true if sessions can be read. Absent on a Worker that forwards requests. */
  readonly isStorageReachable?: () => Promise<boolean>;
  /** Reads large bodies, and writes large responses, one after the other. Absent on a Worker that forwards requests. */
  readonly largeTexts?: WorkQueue;
  readonly limits: CountLimits & Pick<ServerLimits, 'respondAfterMs'>;
  /** Counts the active work of each user's requests. */
  readonly quotas: UserQuotas;
  readonly platform: Platform;
  /** Reports a failure that can no longer be in the response, because the response has begun. */
  readonly report: (error: unknown) => void;
  /** The response of `/version`. */
  readonly version: Readonly<Record<string, string>>;
}

/** The context that all requests to one server share. */
export interface ServerContext extends FrontContext {
  readonly runners: ReadonlyMap<string, Runner>;
  readonly runs: RunHub;
  /** Hosts the live runs; undefined for a server without the option `live`. */
  readonly live: LiveHost | undefined;
  readonly largeTexts: WorkQueue;
  readonly responses: LargeResponses;
  readonly limits: ServerLimits;
  /** The server's hook that decides the options of runs; undefined if it has none. */
  readonly runConfig: RunConfigHook | undefined;
  /** Sends the webhooks of ended runs; undefined for a server without the option `webhooks`. */
  readonly webhooks: Webhooks | undefined;
  readonly trustsImportedEvents: boolean;
}
