import type { BaseArtifactService, BaseSessionService, Platform } from '@eventloom/core';
import { type OptionRules } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import type { RunConfigHook, ServerOptions, WebhookOptions } from '@eventloom/server';
import type { CloudflareBindings } from './cloudflare-bindings.ts';

/** The services of one user's object, for the runners of that user. */
export interface CloudflareServices {
  readonly sessionService: BaseSessionService;
  readonly artifactService: BaseArtifactService;
  /** Its idle timers do not keep the object in memory. */
  readonly platform: Platform;
}

/** Options of `createCloudflareServer`. Options that `ServerOptions` also has mean the same here. */
export interface CloudflareServerOptions<Env extends CloudflareBindings> extends Pick<
  ServerOptions,
  | 'allowUnauthenticated'
  | 'trustImportedEvents'
  | 'basePath'
  | 'origins'
  | 'live'
  | 'limits'
  | 'version'
  | 'onError'
  | 'onUnfinishedRuns'
> {
  /** The names of the apps. The Worker needs them because it creates no runner itself. */
  readonly appNames: readonly string[];
  /** Creates a runner for each name in `appNames`, over the services of one user. Called once for each object. */
  readonly runners: (env: Env, services: CloudflareServices) => readonly Runner[];
  /** The protocols, or a function of the environment that returns them: `(env) => [studio({ files: assetFiles(env.ASSETS) })]`. */
  readonly protocols?: ServerOptions['protocols'] | ((env: Env) => ServerOptions['protocols']);
  /**
   * Creates the hook that authenticates requests. Called once for each environment, so that keys the hook loads are cached, and once in
   * each object. Without a hook and without `allowUnauthenticated`, only requests to localhost are answered: a deployed Worker refuses
   * everything but its probes.
   */
  readonly authenticate?: (env: Env) => ServerOptions['authenticate'];
  /**
   * Creates the hook that decides the config of runs: see `ServerOptions.runConfig`. Called once per object, in which the hook then runs.
   * Its requests are those that the Worker forwarded, without the headers `origin` and `sec-fetch-site`.
   */
  readonly runConfig?: (env: Env) => RunConfigHook;
  /** Creates `ServerOptions.webhooks`, whose secret is in the environment. Called once for each object. */
  readonly webhooks?: (env: Env) => WebhookOptions;
}

export const CLOUDFLARE_SERVER_OPTIONS: OptionRules<CloudflareServerOptions<CloudflareBindings>> = {
  appNames: { is: 'list', wanted: 'a list of names', write: "['weather']" },
  runners: 'function',
  authenticate: 'function',
  allowUnauthenticated: 'flag',
  trustImportedEvents: 'flag',
  basePath: 'text',
  origins: 'list',
  protocols: 'list or function',
  live: { is: 'object', wanted: 'a live endpoint', write: 'liveEndpoint(), of @eventloom/live/server' },
  limits: 'object',
  version: 'object',
  onError: 'function',
  onUnfinishedRuns: { is: 'text', oneOf: ['resume', 'close', 'leave'] },
  runConfig: 'function',
  webhooks: 'function',
};
