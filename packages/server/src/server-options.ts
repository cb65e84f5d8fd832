import { ConfigurationError, type Platform } from '@eventloom/core';
import { checkOptions, wrongOption, type OptionRules } from '@eventloom/core/internal';
import { Runner } from '@eventloom/runner';
import type { RunConfigHook } from './http/run-policy.ts';
import type { Protocol } from './protocol.ts';
import type { LiveEndpoint } from './live-endpoint.ts';
import type { RunRelay } from './runs/run-relay.ts';
import type { OnUnfinishedRuns } from './runs/unfinished-runs.ts';
import { checkWebhookOptions, type WebhookOptions } from './runs/webhooks.ts';
import { DEFAULT_LIMITS, type ServerLimits } from './server-limits.ts';

/** The user that a request comes from. */
export interface AuthenticatedUser {
  /** The only user whose sessions, runs and artifacts the request can name. */
  readonly userId: string;
  /**
   * True lets the request itself write state under `app:`, which all users of the app see. Default: it is refused with 403. What an
   * agent writes in a run is not looked at.
   */
  readonly mayWriteAppState?: boolean | undefined;
}

/** Options of `createServer`. */
export interface ServerOptions {
  /** The apps, each under its runner's `appName`. Their services are the caller's to close. */
  readonly runners: readonly Runner[];
  /**
   * Returns the user that a request comes from; undefined or null refuses the request. Called for every request except the probes
   * `/health`, `/livez` and `/readyz`. It must not read the request's body.
   */
  readonly authenticate?:
    | ((request: Request) => AuthenticatedUser | null | undefined | Promise<AuthenticatedUser | null | undefined>)
    | undefined;
  /**
   * False (default) answers only requests to a loopback host if there is no `authenticate` (`localhost`, `127.0.0.1`, `[::1]`), so that no web page can
   * reach the server under a name of its own. True answers under any name: everybody who reaches the server can do everything.
   */
  readonly allowUnauthenticated?: boolean | undefined;
  /**
   * True trusts the `events` that a session is created with: runs resume the calls and questions in them, so a client
   * that may create a session can have tools run with arguments of its own. Default: events that a run could resume are
   * refused with 403, and no run resumes the others, even after a rewind; models read them as history.
   */
  readonly trustImportedEvents?: boolean | undefined;
  /** Web origins that may call the server, e.g. `https://app.example`; `*` for all. Default: only the server's own. */
  readonly origins?: readonly string[] | undefined;
  /**
   * Decides about the config of each run that a request starts or resumes, live ones included: `maxLlmCalls`, the voice, the handle of a
   * live session. `limits.maxLlmCalls` and `limits.maxParallelToolCalls` bound what it says; what it says goes before the fields of the
   * request, and those before the `runConfig` of the runner; of `customMetadata` key by key. What is no run config fails the request with
   * 500 and is reported; an error that it throws refuses the run (ForbiddenError: 403). Default: the request and the runner decide.
   */
  readonly runConfig?: RunConfigHook | undefined;
  /**
   * Lets a request for a run (`POST …/sessions/{sessionId}/runs`) say `webhook: { url }`: the server sends a signed message there when the run has
   * ended. The webhook is stored with the run: whatever becomes of the process, the message is sent, at least once and under one `webhook-id`,
   * by a server with this option and the same sessions. Default: such a request is refused.
   */
  readonly webhooks?: WebhookOptions | undefined;
  /** Further ways to speak with the agents, beside the ADK's routes. Default: none. */
  readonly protocols?: readonly Protocol[] | undefined;
  /** Serves live runs at `/run_live`: `liveEndpoint()` of `@eventloom/live/server`. Default: none, and the path is not found. */
  readonly live?: LiveEndpoint | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /**
   * The way to other processes with the same apps and sessions: a run of one can then be followed and cancelled through any of them.
   * Default: none, every process answers for its own runs alone. It is the caller's to close, after `drain`.
   */
  readonly relay?: RunRelay | undefined;
  /**
   * Decides about the resumable runs that a process left when it ended: a former one of this server, or another one over the same
   * sessions. `resume` (default) continues them, as runs of this server: they can be followed and cancelled; one whose process
   * ends at each attempt is closed after `limits.maxRunAttempts`. `close` gives them up: their sessions get an event with the code
   * `RUN_ABANDONED`, and are ready for the next message. `leave` does nothing. It is looked for such runs at the start, and then every
   * `limits.unfinishedRunsEveryMs`; a session whose lease has not run out is waited for.
   */
  readonly onUnfinishedRuns?: OnUnfinishedRuns | undefined;
  /** Fields that `/version` answers beside the server's own version. */
  readonly version?: Readonly<Record<string, string>> | undefined;
  /** The clock and timers. Default: the system's. */
  readonly platform?: Platform | undefined;
  /**
   * Called with every failure that is the server's own (status 500 and above), at most once a minute for a server that is full. An error that it throws, or a promise that it returns and
   * that rejects, is reported through `platform.background`. Default: `console.error`.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const RUNNERS = '[new Runner({ appName, agent, sessionService })]';
const LIVE = 'liveEndpoint(), of @eventloom/live/server';
const RELAY = 'new PostgresRunRelay({ pool }), of @eventloom/server/postgres';
const OPTIONS: OptionRules<ServerOptions> = {
  runners: { is: 'list', wanted: 'a list of runners', write: RUNNERS },
  authenticate: { is: 'function', write: 'jwtAuthenticate({ secret, issuer, audience })' },
  allowUnauthenticated: 'flag',
  trustImportedEvents: 'flag',
  runConfig: { is: 'function', write: '() => ({ maxLlmCalls: 50 })' },
  webhooks: 'object',
  origins: { is: 'list', write: "['https://app.example']" },
  protocols: 'list',
  live: { is: 'object', wanted: 'a live endpoint', write: LIVE },
  limits: { is: 'object', write: '{ maxRuns: 200 }' },
  relay: { is: 'object', wanted: 'a run relay', write: RELAY },
  onUnfinishedRuns: { is: 'text', oneOf: ['resume', 'close', 'leave'] },
  version: 'object',
  platform: 'object',
  onError: 'function',
};

const WRITE_RUNNERS = `write runners: ${RUNNERS}`;
const EXAMPLE = 'createServer({ runners: [new Runner({ appName, agent, sessionService })], authenticate })';
const IN_SERVE = 'write it in the options of serve(server, { port })';
const HINTS = {
  agent: WRITE_RUNNERS,
  agents: WRITE_RUNNERS,
  rootAgent: WRITE_RUNNERS,
  port: IN_SERVE,
  host: IN_SERVE,
  cors: "write origins: ['https://app.example'], the pages that may call the server",
  auth: 'did you mean "authenticate"?',
};
const COUNT = { is: 'number', min: 1, wanted: 'an integer of at least 1, or Infinity', write: '50' };
const LIMITS = {
  ...Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((limit) => [limit, { is: 'number', min: 0 }])),
  maxLlmCalls: COUNT,
  maxParallelToolCalls: COUNT,
};

/** @throws ConfigurationError for what cannot work, and for an option this version does not have */
export function checkServerOptions(options: ServerOptions): void {
  checkOptions('createServer', OPTIONS, options, HINTS, EXAMPLE);
  if (options.runners === undefined)
    throw wrongOption('createServer', 'runners', 'a list of runners', undefined, RUNNERS);
  const names = new Set<string>();
  for (const [index, runner] of options.runners.entries()) {
    if (!(runner instanceof Runner))
      throw wrongOption('createServer', `runners[${index}]`, 'a runner', runner, RUNNERS);
    if (names.has(runner.appName))
      throw new ConfigurationError(
        `createServer: two runners have the appName "${runner.appName}"; give one of them another, because it is part of the addresses`,
      );
    names.add(runner.appName);
  }
  if (options.webhooks !== undefined) checkWebhookOptions(options.webhooks);
  if (options.live !== undefined && typeof options.live.createHost !== 'function')
    throw wrongOption('createServer', 'live', 'a live endpoint', options.live, LIVE);
  if (options.relay !== undefined && typeof options.relay.attach !== 'function')
    throw wrongOption('createServer', 'relay', 'a run relay', options.relay, RELAY);
  for (const origin of options.origins ?? []) checkOrigin(origin);
  if (options.limits !== undefined) checkOptions('createServer: limits', LIMITS, options.limits);
  const { maxLlmCalls = 1, maxParallelToolCalls = 1 } = options.limits ?? {};
  for (const [limit, value] of Object.entries({ maxLlmCalls, maxParallelToolCalls }))
    if (value !== Infinity && !Number.isSafeInteger(value))
      throw wrongOption('createServer: limits', limit, COUNT.wanted, value, COUNT.write);
}

function checkOrigin(origin: string): void {
  if (origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)) return;
  throw new ConfigurationError(
    `createServer: origins: ${JSON.stringify(origin)} is not an origin; write it like https://app.example, without a path`,
  );
}
