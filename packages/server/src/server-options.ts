import { ConfigurationError, type Platform } from '@eventloom/core';
import { checkOptions, wrongOption, type OptionRules } from '@eventloom/core/internal';
import { Runner } from '@eventloom/runner';
import { isBasePath } from './http/base-path.ts';
import { originToWrite } from './http/request-body.ts';
import type { RunConfigHook } from './http/run-policy.ts';
import type { Protocol } from './protocol.ts';
import type { LiveEndpoint } from './live-endpoint.ts';
import type { RunRelay } from './runs/run-relay.ts';
import type { OnUnfinishedRuns } from './runs/unfinished-runs.ts';
import { checkWebhookOptions, type WebhookOptions } from './runs/webhook-options.ts';
import { DEFAULT_LIMITS, MAX_TIME_MS, type ServerLimits } from './server-limits.ts';

/** The user that a request comes from. */
export interface AuthenticatedUser {
  /** The only user whose sessions, runs and artifacts the request can name. */
  readonly userId: string;
  /**
   * True lets the request write state under `app:`, which all users of the app share. Default false: such a request is refused with 403.
   * Agents can always write it in runs.
   */
  readonly mayWriteAppState?: boolean | undefined;
}

/** Options of `createServer`. */
export interface ServerOptions {
  /** The runners of the apps, each with a different `appName`. The server does not close their services. */
  readonly runners: readonly Runner[];
  /**
   * Returns the user that a request comes from; undefined or null refuses the request. Called for every request except the probes
   * `/health`, `/livez` and `/readyz`. It must not read the request's body. A request that it keeps waiting for ten seconds is refused
   * with 500.
   */
  readonly authenticate?:
    | ((request: Request) => AuthenticatedUser | null | undefined | Promise<AuthenticatedUser | null | undefined>)
    | undefined;
  /**
   * Access to a server without `authenticate`. False (default) answers only requests to a loopback host (`localhost`, `127.0.0.1`,
   * `[::1]`), so that no web page can reach the server under its own host name. True answers requests to every host: any client that can
   * reach the server can do everything.
   */
  readonly allowUnauthenticated?: boolean | undefined;
  /**
   * True trusts the `events` with which a client creates a session: runs resume the calls and questions in them, so a client that can
   * create sessions can make tools run with arguments of its choice. Default false: events that a run could resume are refused with 403.
   * Models read the other events as history, and no run resumes them, even after a rewind.
   */
  readonly trustImportedEvents?: boolean | undefined;
  /**
   * The path below which an application mounts the server, such as `/agents`. Requests may come with it, or without it if the framework
   * removes it. Addresses in answers have it. Default: none; the server's routes begin at `/`.
   */
  readonly basePath?: string | undefined;
  /**
   * Web origins that may call the server, e.g. `https://app.example`, also with cookies; `*` for all, without cookies. Default: only the
   * server's own origin.
   */
  readonly origins?: readonly string[] | undefined;
  /**
   * Returns options of each run that a request starts or resumes, live runs included, such as `maxLlmCalls` or the
   * voice. They take precedence over the fields of the request, which take precedence over the `runConfig` of the
   * runner; `customMetadata` is merged by key. `limits.maxLlmCalls`, `limits.maxRunMs` and
   * `limits.maxParallelToolCalls` limit them. An invalid option is reported, and the request is answered with 500. A
   * thrown error refuses the run (ForbiddenError: 403). Default: the request and the runner decide.
   */
  readonly runConfig?: RunConfigHook | undefined;
  /**
   * Accepts `webhook: { url }` in a request for a run (`POST …/sessions/{sessionId}/runs`): the server sends a signed message to the URL
   * when the run has ended. The webhook is stored with the run, so any server with this option and the same sessions sends the message if
   * this process is lost: at least once, and a repeated message has the same `webhook-id`. Default: such a request is refused.
   */
  readonly webhooks?: WebhookOptions | undefined;
  /** Further APIs in addition to the ADK's routes: see `Protocol`. Default: none. */
  readonly protocols?: readonly Protocol[] | undefined;
  /** Serves live runs at `/run_live`: `liveEndpoint()` of `@eventloom/live/server`. Default: none; requests to that path get 404. */
  readonly live?: LiveEndpoint | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /**
   * Connects processes with the same apps and sessions, so that a run of one process can be followed and cancelled through every other one.
   * The caller owns the relay, and closes it after `drain`. Default: none; the chunks of a run can be read only from its own process.
   */
  readonly relay?: RunRelay | undefined;
  /**
   * The treatment of resumable runs whose process was lost: an earlier process of this server, or another one with the same sessions.
   * `resume` (default) continues them as runs of this server, which can be followed and cancelled; a run whose process ends at each attempt
   * is closed after `limits.maxRunAttempts`. `close` closes them: their sessions get an event with the code `RUN_ABANDONED`. `leave` does
   * nothing. The server searches for such runs when it starts and every `limits.unfinishedRunsEveryMs`, and waits until the lease of a
   * session has expired.
   */
  readonly onUnfinishedRuns?: OnUnfinishedRuns | undefined;
  /** Further fields of the response of `/version`. Default: only the server's own version. */
  readonly version?: Readonly<Record<string, string>> | undefined;
  /** Clock and timers, to be replaced in tests. Default: those of the system. */
  readonly platform?: Platform | undefined;
  /**
   * Called with every failure of the server itself (status 500 and above), but at most once a minute while the server
   * is full, and with the storage failure of each run that stays open without an end, or that can be neither resumed
   * nor closed. If it throws or returns a promise that rejects, that error is reported through `platform.background`. A
   * runner reports failures of its background work, such as the renewal of a lease, through `background` of its own
   * platform. Default: `console.error`.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const RUNNERS = '[new Runner({ appName, agent, sessionService })]';
const OPTIONS: OptionRules<ServerOptions> = {
  runners: { is: 'list', wanted: 'a list of runners', write: RUNNERS },
  authenticate: { is: 'function', write: 'jwtAuthenticate({ secret, issuer, audience })' },
  allowUnauthenticated: 'flag',
  trustImportedEvents: 'flag',
  basePath: { is: 'text', write: "'/agents'" },
  runConfig: { is: 'function', write: '() => ({ maxLlmCalls: 50 })' },
  webhooks: 'object',
  origins: { is: 'list', write: "['https://app.example']" },
  protocols: 'list',
  live: {
    is: 'object',
    has: 'createHost',
    wanted: 'a live endpoint',
    write: 'liveEndpoint(), of @eventloom/live/server',
  },
  limits: { is: 'object', write: '{ maxRuns: 200 }' },
  relay: {
    is: 'object',
    has: 'attach',
    wanted: 'a run relay',
    write: 'new PostgresRunRelay({ pool }), of @eventloom/server/postgres',
  },
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
const AMOUNT = { is: 'number', min: 0 };
/** The rule for times: a day and several times as much are delays that timers can have; a longer one would end immediately. */
const TIME = { ...AMOUNT, max: MAX_TIME_MS };
const LIMITS = {
  ...Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((limit) => [limit, limit.endsWith('Ms') ? TIME : AMOUNT])),
  heartbeatMs: { ...TIME, min: 1 },
  maxLlmCalls: COUNT,
  maxRunMs: COUNT,
  maxParallelToolCalls: COUNT,
  maxRunAttempts: COUNT,
};

/**
 * Checks the options of a server.
 * @param owner the function that got the options, for error messages
 * @throws ConfigurationError for an invalid value, and for an unknown option
 */
export function checkServerOptions(options: ServerOptions, owner = 'createServer'): void {
  if (options instanceof Runner)
    throw new ConfigurationError('createServer: got a runner; write createServer({ runners: [runner] })');
  checkOptions(owner, OPTIONS, options, HINTS, EXAMPLE);
  if (options.runners === undefined) throw wrongOption(owner, 'runners', 'a list of runners', undefined, RUNNERS);
  const names = new Set<string>();
  for (const [index, runner] of options.runners.entries()) {
    if (!(runner instanceof Runner)) throw wrongOption(owner, `runners[${index}]`, 'a runner', runner, RUNNERS);
    if (names.has(runner.appName))
      throw new ConfigurationError(
        `${owner}: two runners have the appName "${runner.appName}"; give one of them another name, because it is part of the addresses`,
      );
    names.add(runner.appName);
  }
  if (options.basePath !== undefined && !isBasePath(options.basePath))
    throw wrongOption(
      owner,
      'basePath',
      'a path that begins with a slash and ends without one',
      options.basePath,
      "'/agents'",
    );
  if (options.webhooks !== undefined) checkWebhookOptions(options.webhooks);
  for (const origin of options.origins ?? []) checkOrigin(owner, origin);
  if (options.limits !== undefined) checkOptions(`${owner}: limits`, LIMITS, options.limits);
  const { maxLlmCalls = 1, maxRunMs = 1, maxParallelToolCalls = 1, maxRunAttempts = 1 } = options.limits ?? {};
  if (maxRunMs > MAX_TIME_MS && maxRunMs !== Infinity)
    throw wrongOption(`${owner}: limits`, 'maxRunMs', 'at most a day, or Infinity', maxRunMs, '600_000');
  for (const [limit, value] of Object.entries({ maxLlmCalls, maxRunMs, maxParallelToolCalls, maxRunAttempts }))
    if (value !== Infinity && !Number.isSafeInteger(value))
      throw wrongOption(`${owner}: limits`, limit, COUNT.wanted, value, COUNT.write);
}

function checkOrigin(owner: string, origin: string): void {
  if (origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)) return;
  throw new ConfigurationError(
    `${owner}: origins: ${JSON.stringify(origin)} is not an origin; ${originToWrite(origin, 'https://app.example')}`,
  );
}
