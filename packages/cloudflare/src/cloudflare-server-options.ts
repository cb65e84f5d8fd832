import type { BaseArtifactService, BaseSessionService, Platform } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { ServerOptions } from '@eventloom/server';
import type { CloudflareBindings } from './cloudflare-bindings.ts';

/** Where the agents of a user keep things, and the clock they have: all of it is for the runners of that user. */
export interface CloudflareServices {
  readonly sessionService: BaseSessionService;
  readonly artifactService: BaseArtifactService;
  /** Its timers do not keep an object in memory that has nothing to do. */
  readonly platform: Platform;
}

/** What a server on Cloudflare is made of. What `ServerOptions` has as well means the same here. */
export interface CloudflareServerOptions<Env extends CloudflareBindings> extends Pick<
  ServerOptions,
  'allowUnauthenticated' | 'trustImportedEvents' | 'origins' | 'limits' | 'version' | 'onError' | 'onUnfinishedRuns'
> {
  /** The names of the apps: the Worker makes none of them. */
  readonly appNames: readonly string[];
  /** Makes the apps, over the services of one user: those that `appNames` names. Called once for each object. */
  readonly runners: (env: Env, services: CloudflareServices) => readonly Runner[];
  /**
   * Makes the hook that says who a request comes from; called once for each environment, so that keys that it loads are kept. Without it
   * and without `allowUnauthenticated`, only requests to localhost are answered: a deployed Worker refuses everything but its probes.
   */
  readonly authenticate?: (env: Env) => NonNullable<ServerOptions['authenticate']>;
}
