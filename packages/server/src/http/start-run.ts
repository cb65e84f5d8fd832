import {
  InvalidRequestError,
  RequestKnownError,
  type RunConfig,
  SessionBusyError,
  StreamingMode,
} from '@eventloom/core';
import {
  copyJson,
  isRecord,
  mergeRunConfigs,
  otherWork,
  readTraceHeaders,
  RUN_CONFIG_DEFAULTS,
  within,
} from '@eventloom/core/internal';
import { readRunBody, type RunBody } from '@eventloom/core/wire';
import type { RunAsyncParams, Runner } from '@eventloom/runner';
import { AppNotFoundError, BodyTooLargeError, RunEventNotFoundError } from '../errors.ts';
import type { RunConnection } from '../runs/run-follower.ts';
import type { RunFormat } from '../runs/run-reader.ts';
import type { ActiveRun } from '../runs/active-run.ts';
import { eventPosition, MESSAGE_POSITION } from '../runs/run-log.ts';
import type { FrontContext, ServerContext } from '../server-context.ts';
import type { ServerRequest } from './server-request.ts';
import { requireSameUser } from './request-guard.ts';
import { checkCounts, checkId, quotedName } from './request-body.ts';
import { callRunConfigHook } from './run-policy.ts';

/**
 * Parses the JSON of a request for a run. Checks its ids, and that the user of the HTTP request may start the run.
 * `requestRun` checks the app.
 *
 * @param isStrict true refuses unknown fields, which clients of the ADK may send. Default false
 * @throws InvalidRequestError
 * @throws BodyTooLargeError
 * @throws ForbiddenError
 * @throws UserLimitError
 */
export function parseRunBody<Server extends FrontContext>(
  request: ServerRequest<Server>,
  json: unknown,
  isStrict = false,
): RunBody {
  if (json === undefined)
    throw new InvalidRequestError('body: is missing; send {"appName", "userId", "sessionId", "newMessage"} as JSON');
  checkCounts(json, request.server.limits);
  if (isRecord(json) && Object.hasOwn(json, 'webhook'))
    throw new InvalidRequestError(
      'webhook: belongs to POST /apps/{appName}/users/{userId}/sessions/{sessionId}/runs; send the request there',
    );
  const body = readRunBody(json, isStrict);
  if (body.newMessage === undefined && body.invocationId === undefined)
    throw new InvalidRequestError(
      'newMessage: is missing; write "newMessage": { "parts": [{ "text": "Hello" }] }, or the invocationId of a run to resume',
    );
  const metadata = body.customMetadata && copyJson(body.customMetadata);
  if (metadata && 'fault' in metadata)
    throw new InvalidRequestError(`customMetadata.${metadata.fault.path}: ${metadata.fault.reason}`);
  const { maxBodyMetadataChars } = request.server.limits;
  if (metadata && JSON.stringify(metadata.value).length > maxBodyMetadataChars)
    throw new BodyTooLargeError(
      `customMetadata: has more than ${maxBodyMetadataChars} characters as JSON, which is limits.maxBodyMetadataChars of this server; ` +
        'every event of the run stores it',
    );
  if (body.ifKnown !== undefined && body.requestId === undefined)
    throw new InvalidRequestError('ifKnown: needs a requestId, which identifies a repeated request');
  checkId('userId', body.userId);
  checkId('sessionId', body.sessionId);
  if (body.invocationId !== undefined) checkId('invocationId', body.invocationId);
  // The id is a segment of the address of the run.
  if (body.requestId !== undefined) checkId('requestId', body.requestId);
  if (request.user) requireSameUser(request.user, body.userId);
  else request.quota.chargeTo(body.userId);
  if (body.stateDelta) request.checkStateAccess('stateDelta', Object.keys(body.stateDelta));
  return body;
}

/** The run that answers a request. */
export interface RequestedRun {
  readonly run: ActiveRun;
  /**
   * The error for a repeated request, with the run that it began; undefined for a new request. The request is answered with the events of
   * that run after its message.
   */
  readonly known: RequestKnownError | undefined;
}

/** Options of `requestRun`. */
interface RequestOptions {
  /** Resolves only after the message is stored; a run that does not get its session in this time is aborted. Default: see `requestRun`. */
  readonly waitMs?: number | undefined;
  /** Stored with the run when it begins. Default: none. */
  readonly webhook?: RunAsyncParams['webhook'];
}

/**
 * Starts a run, or resumes one. Responses to calls continue the run that made the calls if it can be resumed, even if the client does not
 * name it; the runner decides once it has the session. Resolves when it is known which run's events the HTTP response has: for a request
 * with an id and for a message with responses, after the message is stored or refused.
 *
 * @throws AppNotFoundError
 * @throws UserLimitError
 * @throws ServerBusyError, and the errors of the server's hook `runConfig`
 */
export async function requestRun(
  { server, quota, raw, user }: ServerRequest,
  body: RunBody,
  streamingMode: StreamingMode,
  { waitMs, webhook }: RequestOptions = {},
): Promise<RequestedRun> {
  const { appName, userId, sessionId, newMessage, stateDelta, invocationId, ifKnown } = body;
  const { requestId, customMetadata, completionEvent, onBusy } = body;
  const runner = runnerOf(server, appName);
  quota.count('runs', 1);
  quota.count('queued', 1);
  const policy = server.runConfig && (await callRunConfigHook(server.runConfig, raw, user, appName, server.platform));
  const requested: RunConfig = { streamingMode, requestId, customMetadata, completionEvent, onBusy };
  const runConfig = policy ? mergeRunConfigs(policy, requested) : requested;
  const traceHeaders = runner.instrumentation && readTraceHeaders(raw.headers);
  const params: RunAsyncParams = {
    userId,
    sessionId,
    newMessage,
    invocationId,
    stateDelta,
    runConfig,
    traceHeaders,
    webhook,
  };
  const beganMs = server.platform.now();
  if (requestId !== undefined) {
    const key = { appName, userId, sessionId };
    const isQueued = (runConfig.onBusy ?? runner.runConfig.onBusy ?? RUN_CONFIG_DEFAULTS.onBusy) === 'queue';
    // A repeated request does not wait for the session again, because the session has the request's id once its message is stored.
    const stored = isQueued ? server.runs.inFlightRequest(key, requestId)?.whenBegun() : undefined;
    if (stored) await (waitMs === undefined ? stored : within(server.platform, stored, waitMs));
  }
  const run = server.runs.start(runner, params, { quota });
  if (waitMs !== undefined) await begunWithin(server, run, waitMs, server.platform.now() - beganMs);
  else if (requestId !== undefined || run.startKind === 'answers') await run.whenBegun();
  const failure = run.log.end?.failure;
  if (!failure || ifKnown === 'reject' || !RequestKnownError.isInstance(failure)) return { run, known: undefined };
  // If the client requests it, a run whose process ended is resumed first.
  if (ifKnown === 'resume') await server.runs.unfinished.resume(runner, run.key, failure.invocationId);
  return { run, known: failure };
}

/** A run whose response can begin. */
interface ReadableRun extends RequestedRun {
  /** The failure of a new run that ended before its first event. It is the response to the request, in place of the run's events. */
  readonly failure: Error | undefined;
}

/**
 * Starts a run whose events the client reads, with a connection reserved for the client: see `requestRun`. Resolves when the response can
 * begin: at the run's first frame or its end; with a relay, not before every process can find the run; and at the latest after
 * `limits.respondAfterMs`.
 *
 * @throws UserLimitError also for a user who has no further connection; and the errors of `requestRun`
 */
export async function startReadableRun(request: ServerRequest, body: RunBody): Promise<ReadableRun> {
  const { server, quota } = request;
  const { platform, limits } = server;
  server.runs.readers.checkUser(body.userId);
  // A protocol may start a run after its request was answered.
  quota.holds++;
  try {
    quota.count('reservedReaders', 1);
    const requested = await requestRun(request, body, body.streaming ? StreamingMode.SSE : StreamingMode.NONE);
    const { log } = requested.run;
    const { firstFrame, publication } = log;
    // A run that ends meanwhile is answered in one piece, without a stream.
    await otherWork(platform);
    if (!log.end || publication) {
      const readable = publication ? Promise.all([firstFrame, publication.announced]) : firstFrame;
      await within<unknown>(platform, readable, limits.respondAfterMs);
    }
    return { ...requested, failure: requested.known || log.hasEvents ? undefined : log.end?.failure };
  } finally {
    quota.release();
  }
}

/**
 * Opens a connection that reads the run that answers a request.
 *
 * @throws the errors of `RunFollower.follow` for a known request
 */
export function readRequestedRun<Body>(
  { server }: ServerRequest,
  { run, known }: RequestedRun,
  format: RunFormat<Body>,
): RunConnection<Body> | Promise<RunConnection<Body>> {
  const { runs } = server;
  const { log, key } = run;
  if (!known) return { invocationId: log.invocationId, body: runs.readers.read(log, undefined, format) };
  const { invocationId, offset } = known;
  const service = runnerOf(server, key.appName).sessionService;
  const position = eventPosition(offset) || MESSAGE_POSITION;
  return runs.follower.follow({ service, key, id: invocationId, position, format }).catch((error: unknown) => {
    // No event follows an answer while its run waits for further ones.
    if (RunEventNotFoundError.isInstance(error)) return { invocationId, body: undefined };
    throw error;
  });
}

/**
 * Waits until the message of a run is stored. A run that does not get its session in time is aborted, and nothing of it is stored.
 * @param waitedMs part of the time that has passed already
 */
async function begunWithin(
  { platform }: ServerRequest['server'],
  run: ActiveRun,
  waitMs: number,
  waitedMs: number,
): Promise<void> {
  await within(platform, run.whenBegun(), Math.max(0, waitMs - waitedMs));
  if (run.hasBegun || run.log.end) return;
  run.abort(
    new SessionBusyError(
      `another run of the session did not end within ${waitMs / 1000} s, so this run was not started and nothing was stored; ` +
        'send the request again, or end the other run first',
    ),
  );
  // The message may have been stored in the meantime. Then the run counts as interrupted, like any other stored run.
  await run.whenBegun();
}

/** Returns the name of an existing app. @throws AppNotFoundError */
export function checkAppName({ runners }: Pick<FrontContext, 'runners'>, appName: string): string {
  if (runners.has(appName)) return appName;
  throw appNotFound(appName);
}

function appNotFound(appName: string): AppNotFoundError {
  return new AppNotFoundError(`there is no app ${quotedName(appName)}; GET /list-apps lists the apps`);
}

/** Returns the runner of an app. @throws AppNotFoundError */
export function runnerOf({ runners }: Pick<ServerContext, 'runners'>, appName: string): Runner {
  const runner = runners.get(appName);
  if (runner) return runner;
  throw appNotFound(appName);
}
