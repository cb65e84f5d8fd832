import type { Platform } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { CountLimits } from './http/request-body.ts';
import type { LiveHost } from './live-endpoint.ts';
import type { RunRegistry } from './runs/run-registry.ts';
import type { ServerLimits } from './server-limits.ts';

/** What requests are checked against, also where somebody else answers them. */
export interface FrontContext {
  /** The apps there are, by name. */
  readonly runners: { has(appName: string): boolean; keys(): Iterable<string> };
  readonly runs: { readonly isDraining: boolean };
  readonly limits: CountLimits & Pick<ServerLimits, 'maxBodyBytes'>;
  /** What `/version` answers. */
  readonly version: Readonly<Record<string, string>>;
}

/** What all requests to one server share. */
export interface ServerContext extends FrontContext {
  readonly runners: ReadonlyMap<string, Runner>;
  readonly runs: RunRegistry;
  /** The live runs; undefined for a server without the option `live`. */
  readonly live: LiveHost | undefined;
  readonly limits: ServerLimits;
  readonly platform: Platform;
  readonly trustsImportedEvents: boolean;
}
