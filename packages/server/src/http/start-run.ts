import {
  InvalidRequestError,
  RUN_CONFIG_DEFAULTS,
  type RunConfig,
  type SessionKey,
  type StreamingMode,
} from '@eventloom/core';
import { isRecord, mergeRunConfigs } from '@eventloom/core/internal';
import { readRunRequest, type RunBody } from '@eventloom/core/wire';
import type { RunAsyncParams, Runner } from '@eventloom/runner';
import { within } from '../runs/run-hub.ts';
import type { RunLog } from '../runs/run-log.ts';
import type { FrontContext } from '../server-context.ts';
import type { ServerRequest } from './server-request.ts';
import { requireSameUser } from './authentication.ts';
import { checkId, runnerOf } from './check-names.ts';
import { checkCounts } from './request-body.ts';
import { decideRunConfig } from './run-policy.ts';

/**
 * Reads and checks the body of a request for a run: the request's user may start it.
 * @throws InvalidRequestError @throws BodyTooLargeError @throws ForbiddenError @throws UserLimitError
 */
export async function readRunBody<Server extends FrontContext>(call: ServerRequest<Server>): Promise<RunBody> {
  const json = await call.json();
  if (json === undefined) throw new InvalidRequestError('body: is missing');
  checkCounts(json, call.server.limits);
  for (const [name, advice] of NOT_IN_BODIES) {
    if (isRecord(json) && Object.hasOwn(json, name)) throw new InvalidRequestError(`${name}: ${advice}`);
  }
  return checkRunRequest(call, readRunRequest(json));
}

/** Fields that this body would ignore although a client relies on them, and where they belong instead. */
const NOT_IN_BODIES = [
  ['webhook', 'is taken by POST /apps/{appName}/users/{userId}/sessions/{sessionId}/runs alone'],
] as const;

/** Checks a request for a run: its ids are valid, and the user of the HTTP request may start the run. `startRun` checks the app. */
export function checkRunRequest<Server extends FrontContext>(call: ServerRequest<Server>, body: RunBody): RunBody {
  if (body.newMessage === undefined && body.invocationId === undefined)
    throw new InvalidRequestError(
      'newMessage: is missing; write "newMessage": { "parts": [{ "text": "Hello" }] }, or the invocationId of a run to resume',
    );
  if (body.ifKnown !== undefined && body.requestId === undefined)
    throw new InvalidRequestError('ifKnown: needs a requestId, by which the server knows a request that is sent again');
  checkId('userId', body.userId);
  checkId('sessionId', body.sessionId);
  if (call.user) requireSameUser(call.user, body.userId);
  else call.quota.chargeTo(body.userId);
  if (body.stateDelta) call.checkStateAccess('stateDelta', Object.keys(body.stateDelta));
  return body;
}

/**
 * Starts a run, or resumes one. Answers to calls continue the run that asked, if it can be resumed, whether the client names it or not.
 * While that run is in flight here, they wait for its end, as others wait for their session. If the client does not name the run, the
 * runner decides, once it has the session; the run that is looked up here is only the expected one.
 * @throws AppNotFoundError @throws UserLimitError @throws ServerBusyError, and the errors of the server's hook `runConfig`
 */
export async function startRun(call: ServerRequest, body: RunBody, streamingMode: StreamingMode): Promise<RunLog> {
  const { server, quota } = call;
  const { appName, userId, sessionId, newMessage, stateDelta, invocationId } = body;
  const { requestId, customMetadata, completionEvent, onBusy } = body;
  const runner = runnerOf(server, appName);
  quota.take('runs');
  quota.take('queued');
  const policy = server.runConfig && (await decideRunConfig(server.runConfig, call.request, call.user, appName));
  const asked: RunConfig = { streamingMode, requestId, customMetadata, completionEvent, onBusy };
  const runConfig = policy ? mergeRunConfigs(policy, asked) : asked;
  const params: RunAsyncParams = { userId, sessionId, newMessage, invocationId, stateDelta, runConfig };
  const isAnswer = newMessage?.parts?.some(({ functionResponse }) => functionResponse !== undefined);
  if (invocationId === undefined && !isAnswer) return server.runs.start(runner, params, { quota });
  return resume(call, runner, params, runConfig);
}

async function resume(
  { server: { runs, platform }, quota }: ServerRequest,
  runner: Runner,
  params: RunAsyncParams,
  runConfig: RunConfig,
): Promise<RunLog> {
  const { userId, sessionId, newMessage, invocationId } = params;
  const key: SessionKey = { appName: runner.appName, userId, sessionId };
  const { onBusy = RUN_CONFIG_DEFAULTS.onBusy, busyWaitMs = RUN_CONFIG_DEFAULTS.busyWaitMs } = mergeRunConfigs(
    runConfig,
    runner.runConfig,
  );
  const giveUpMs = platform.now() + busyWaitMs;
  const { requestId } = runConfig;
  const known = requestId === undefined ? undefined : await runner.sessionService.findRun({ ...key, id: requestId });
  // Not waited for: the run that has the message is the one in flight.
  if (known && runs.inFlightRun(key, known.invocationId)) return runs.start(runner, params, { quota });
  for (;;) {
    const resumes = invocationId ?? (newMessage && (await runner.findAnsweredRun({ userId, sessionId, newMessage })));
    const before = newMessage && resumes !== undefined ? runs.inFlightRun(key, resumes) : undefined;
    const waitMs = giveUpMs - platform.now();
    if (!before || onBusy !== 'queue' || waitMs <= 0) return runs.start(runner, params, { resumes, quota });
    await within(platform, before.ended, waitMs);
  }
}
