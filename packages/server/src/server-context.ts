import type { Platform } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { CountLimits } from './http/request-body.ts';
import type { RunConfigHook } from './http/run-policy.ts';
import type { UserQuotas } from './http/user-quotas.ts';
import type { LiveHost } from './live-endpoint.ts';
import type { RunHub } from './runs/run-hub.ts';
import type { Webhooks } from './runs/webhooks.ts';
import type { ServerLimits } from './server-limits.ts';

/** The context that every request is checked with, also on a Worker that forwards the request. */
export interface FrontContext {
  /** The apps there are, by name. */
  readonly runners: {
    has(appName: string): boolean;
    keys(): Iterable<string>;
    get?(appName: string): Runner | undefined;
  };
  readonly runs: { readonly isDraining: boolean };
  /** Asks whether sessions can be read. Absent where requests are answered elsewhere. */
  readonly isStorageReachable?: () => Promise<boolean>;
  readonly limits: CountLimits;
  /** Counts what the requests of each user have under way. */
  readonly quotas: UserQuotas;
  /** Reports a failure that no answer can say any more, because the answer has begun. */
  readonly report: (error: unknown) => void;
  /** The answer of `/version`. */
  readonly version: Readonly<Record<string, string>>;
}

/** The context that all requests to one server share. */
export interface ServerContext extends FrontContext {
  readonly runners: ReadonlyMap<string, Runner>;
  readonly runs: RunHub;
  /** The live runs; undefined for a server without the option `live`. */
  readonly live: LiveHost | undefined;
  readonly limits: ServerLimits;
  /** Decides about the config of runs, if the server has the hook. */
  readonly runConfig: RunConfigHook | undefined;
  /** Sends the webhooks of ended runs, if the server has the option `webhooks`. */
  readonly webhooks: Webhooks | undefined;
  readonly platform: Platform;
  readonly trustsImportedEvents: boolean;
}
