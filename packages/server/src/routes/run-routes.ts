import {
  RUN_CONFIG_DEFAULTS,
  type RunConfig,
  type SessionKey,
  SessionNotFoundError,
  StreamingMode,
  InvalidRequestError,
} from '@eventloom/core';
import { readRunRequest, type RunRequest } from '@eventloom/core/wire';
import { RunEventsGoneError } from '../errors.ts';
import type { Call } from '../http/call.ts';
import { checkId } from '../http/check-names.ts';
import { errorResponse } from '../http/error-response.ts';
import { jsonTextResponse, EVENT_IDS_HEADER, INVOCATION_ID_HEADER, sseResponse } from '../http/responses.ts';
import type { BodySpec, Route } from '../http/route.ts';
import type { HostedRun } from '../runs/hosted-run.ts';
import type { FrontContext } from '../server-context.ts';

const RUN = { component: 'RunBody', read: readRunRequest } satisfies BodySpec;

async function run(call: Call): Promise<Response> {
  const hosted = await start(call, await readRunBody(call), StreamingMode.NONE);
  await hosted.ended;
  await hosted.announcedWithin(call.server.limits.answerAfterMs);
  const failure = hosted.failure ?? (hosted.buffer.isWhole ? undefined : tooLong(hosted));
  if (failure) return failedResponse(hosted, failure);
  return jsonTextResponse(hosted.buffer.toJsonList(), { [INVOCATION_ID_HEADER]: hosted.invocationId });
}

async function runSse(call: Call): Promise<Response> {
  const { runs, limits } = call.server;
  const body = await readRunBody(call);
  const hosted = await start(call, body, body.streaming ? StreamingMode.SSE : StreamingMode.NONE);
  await hosted.openedWithin(limits.answerAfterMs);
  if (hosted.failure && hosted.buffer.isEmpty) return failedResponse(hosted, hosted.failure);
  return sseResponse(hosted, runs.read(hosted, 0, wantsEventIds(call)));
}

/** A client that follows runs by number says so; an EventSource, with the header that it sends by itself. */
function wantsEventIds(call: Call): boolean {
  return call.header(EVENT_IDS_HEADER) === '1' || call.header('Last-Event-ID') !== undefined;
}

/** The host of the run has reported the failure; here it is only answered, with the name of the run whose events can be read. */
function failedResponse({ invocationId }: HostedRun, failure: Error): Response {
  return errorResponse(withRemedy(failure), { [INVOCATION_ID_HEADER]: invocationId });
}

/** Who begins with a run is told what comes before one. */
function withRemedy(failure: Error): Error {
  if (!SessionNotFoundError.isInstance(failure)) return failure;
  return new SessionNotFoundError(
    `${failure.message}; POST /apps/{appName}/users/{userId}/sessions/{sessionId} makes it`,
    {
      cause: failure,
    },
  );
}

/**
 * Starts a run, or goes on with one. Answers to calls go on with the run that asked, if it can be resumed: whether the client names it
 * or not. While that is in flight here, they wait for its end, as others wait for their session. If the client does not name the run, the
 * runner decides, once it has the session; the run that is looked up here is only the expected one.
 */
async function start(call: Call, body: RunRequest, streamingMode: StreamingMode): Promise<HostedRun> {
  const { appName, userId, sessionId, newMessage, stateDelta, onBusy = RUN_CONFIG_DEFAULTS.onBusy } = body;
  const runner = call.runner(appName);
  const key: SessionKey = { appName, userId, sessionId };
  const runConfig: RunConfig = {
    streamingMode,
    requestId: body.requestId,
    customMetadata: body.customMetadata,
    completionEvent: body.completionEvent,
    onBusy,
  };
  const { runs, platform } = call.server;
  const giveUpMs = platform.now() + RUN_CONFIG_DEFAULTS.busyWaitMs;
  for (;;) {
    const expectedId =
      body.invocationId ?? (newMessage && (await runner.findAnsweredRun({ userId, sessionId, newMessage })));
    const before = newMessage && expectedId !== undefined ? runs.inFlightRun(key, expectedId) : undefined;
    const waitMs = giveUpMs - platform.now();
    if (before && onBusy === 'queue' && waitMs > 0) {
      await before.endedWithin(waitMs);
      continue;
    }
    return runs.start(
      key,
      (abortSignal, onBegin) => {
        const { invocationId } = body;
        const params = { userId, sessionId, newMessage, invocationId, stateDelta, runConfig, abortSignal };
        const stream = runner.runAsync(params);
        void stream
          .whenStarted()
          .then((isStarted) => isStarted && onBegin(runner.resumable || stream.invocationId === expectedId));
        return stream;
      },
      expectedId === undefined ? undefined : { invocationId: expectedId },
    );
  }
}

function tooLong({ invocationId, key }: HostedRun): RunEventsGoneError {
  return new RunEventsGoneError(
    `the run ${invocationId} was done, and its events are more than is kept for one answer; ` +
      `read session ${JSON.stringify(key.sessionId)}, or use /run_sse`,
  );
}

/** Starts runs. */
export const runRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/run',
    operationId: 'run',
    summary: 'Runs the agent on a message, or goes on with a run, and answers all events when it is done',
    body: RUN,
    answer: { component: 'Event', isList: true },
    errors: [409, 410, 422, 502, 503],
    handle: run,
  },
  {
    method: 'post',
    path: '/run_sse',
    operationId: 'runSse',
    summary: `Runs the agent on a message, or goes on with a run, and streams its events; the header ${INVOCATION_ID_HEADER} names the run, which goes on when the client leaves`,
    headers: {
      [EVENT_IDS_HEADER]:
        '1: each frame begins with a line id: <number of the event in the run>. Without it a frame is its data line.',
      'Last-Event-ID': 'Asks for numbers too; the run is streamed from its begin.',
    },
    body: RUN,
    answer: { stream: 'Event' },
    errors: [409, 422, 429, 502, 503],
    handle: runSse,
  },
];

/**
 * Reads and checks the body of a request for a run: the app exists, and the request's user may start the run.
 * @throws InvalidRequestError @throws BodyTooLargeError @throws ForbiddenError @throws AppNotFoundError
 */
export async function readRunBody<Server extends FrontContext>(call: Call<Server>): Promise<RunRequest> {
  const json = await call.json();
  if (json === undefined) throw new InvalidRequestError('body: is missing');
  const body = readRunRequest(call.counted(json));
  if (body.newMessage === undefined && body.invocationId === undefined)
    throw new InvalidRequestError(
      'newMessage: is missing; a run that is resumed can do without, and is named by invocationId',
    );
  checkId('userId', body.userId);
  checkId('sessionId', body.sessionId);
  call.requireSameUser(body.userId);
  call.checkStateAccess('stateDelta', Object.keys(body.stateDelta ?? {}));
  call.appName(body.appName);
  return body;
}
