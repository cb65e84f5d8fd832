import {
  type Event,
  InvalidRequestError,
  RequestKnownError,
  SessionBusyError,
  type SessionKey,
  SessionNotFoundError,
  StorageError,
  StreamingMode,
} from '@eventloom/core';
import { type ErrorBody, readRunRequest, type RunBody } from '@eventloom/core/wire';
import { RunEventsGoneError } from '../errors.ts';
import type { ServerRequest } from '../http/server-request.ts';
import { errorResponse, errorStatus } from '../http/error-response.ts';
import { jsonTextResponse, EVENT_IDS_HEADER, INVOCATION_ID_HEADER, sseResponse } from '../http/responses.ts';
import type { BodySpec, Route } from '../http/route.ts';
import { preferredWait } from '../http/preferred-wait.ts';
import { checkRunRequest, readRunBody, startRun } from '../http/start-run.ts';
import { eventPosition } from '../runs/frame-position.ts';
import { within } from '../runs/run-hub.ts';
import type { RunLog } from '../runs/run-log.ts';
import { type FrameEncoder, NUMBERED_SSE_FRAMES, SSE_FRAMES } from '../runs/run-reader.ts';
import { RUN_STATE_SCHEMA, type RunState } from '../runs/run-state.ts';

const RUN = { component: 'RunBody', read: readRunRequest } satisfies BodySpec;

/** A run body without what is in the address. */
const START_BODY = {
  type: 'object',
  description: 'A RunBody without appName, userId and sessionId, which are in the address.',
  properties: {
    newMessage: { $ref: '#/components/schemas/ContentInput' },
    streaming: { type: 'boolean', description: 'True: readers of the run get chunks, too.' },
    stateDelta: { type: 'object', additionalProperties: true },
    invocationId: { type: 'string', description: 'The run to resume: one that was cut off, or waits for an answer.' },
    requestId: { type: 'string', description: "The caller's own id for the request." },
    ifKnown: { enum: ['follow', 'resume', 'reject'], description: 'What to do when the requestId is known.' },
    customMetadata: { type: 'object', additionalProperties: true, description: 'Put on every event of the run.' },
    onBusy: { enum: ['queue', 'reject', 'interrupt'] },
    webhook: {
      type: 'object',
      properties: { url: { type: 'string', format: 'uri', maxLength: 2048 } },
      required: ['url'],
      description: 'Where a signed message is sent when the run has ended, if the server allows the origin.',
    },
  },
};

async function run(call: ServerRequest): Promise<Response> {
  const { limits, platform } = call.server;
  const body = await readRunBody(call);
  const log = await startRun(call, body, StreamingMode.NONE);
  await log.recording;
  const known = log.failure && (await knownRun(call, body, log));
  if (known) return knownEvents(call, log, known);
  if (log.publication) await within(platform, log.publication.announced, limits.answerAfterMs);
  const failure = log.failure ?? (log.gonePosition > log.beginPosition ? tooLong(log) : undefined);
  if (failure) return failedResponse(log, failure);
  const events = log.framesAfter(log.beginPosition, Infinity).map(({ json }) => json);
  return jsonTextResponse(`[${events.join(',')}]`, { [INVOCATION_ID_HEADER]: log.invocationId });
}

async function runSse(call: ServerRequest): Promise<Response> {
  const { runs } = call.server;
  const { headers } = call.request;
  const body = await readRunBody(call);
  const log = await startRun(call, body, body.streaming ? StreamingMode.SSE : StreamingMode.NONE);
  // The header names the run. Whether the request is known, and which run its answers belong to, is only certain once the run has its session.
  const hasAnswers = body.newMessage?.parts?.some(({ functionResponse }) => functionResponse !== undefined);
  if (body.requestId !== undefined || hasAnswers) await log.whenStored();
  await runs.opened(log);
  // A client that follows runs by number says so; an EventSource, with the header that it sends by itself.
  const hasEventIds = headers.get(EVENT_IDS_HEADER) === '1' || headers.has('Last-Event-ID');
  const frames = hasEventIds ? NUMBERED_SSE_FRAMES : SSE_FRAMES;
  const known = log.failure && (await knownRun(call, body, log));
  if (known) {
    const { invocationId, position } = known;
    const followed = await runs.readers.follow(
      call.runner(body.appName),
      log.key,
      invocationId,
      eventPosition(position),
      frames,
    );
    return sseResponse(followed.invocationId, followed.body ?? '');
  }
  if (log.failure && !log.hasEvents) return failedResponse(log, log.failure);
  return sseResponse(log.invocationId, runs.readers.read(log, undefined, frames));
}

/** A line with each whole event, and with the failure of a run. */
const LINES: FrameEncoder = { encode: (json) => (json.includes('"partial":true') && isChunk(json) ? '' : `${json}\n`) };

function isChunk(json: string): boolean {
  return (JSON.parse(json) as Event).partial === true;
}

/** The run that a request is answered with, because its id is known. A run that was left is taken up first where the client asks for that. */
async function knownRun(
  call: ServerRequest,
  { ifKnown }: RunBody,
  { failure, key }: RunLog,
): Promise<RequestKnownError | undefined> {
  if (!RequestKnownError.isInstance(failure) || ifKnown === 'reject') return undefined;
  if (ifKnown === 'resume') await call.server.runs.takeUp(call.runner(key.appName), key, failure.invocationId);
  return failure;
}

/** Answers the events of a run behind the message of a request, once it is over. */
async function knownEvents(
  call: ServerRequest,
  { key }: RunLog,
  { invocationId, position }: RequestKnownError,
): Promise<Response> {
  const { runs, limits } = call.server;
  const headers = { [INVOCATION_ID_HEADER]: invocationId };
  const { body = '' } = await runs.readers.follow(
    call.runner(key.appName),
    key,
    invocationId,
    eventPosition(position),
    LINES,
  );
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of new Response(body).body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > limits.maxRunChars) return errorResponse(tooLong({ invocationId, key }), headers);
  }
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  const last = lines.at(-1) ?? '';
  if (!last.startsWith('{"error":')) return jsonTextResponse(`[${lines.join(',')}]`, headers);
  return jsonTextResponse(last, headers, errorStatus((JSON.parse(last) as ErrorBody).code));
}

/** The fields of a run body that the address has. */
const IN_ADDRESS = ['appName', 'app_name', 'userId', 'user_id', 'sessionId', 'session_id'];

/**
 * Starts a run and answers as soon as its message is stored: from then on the run comes to its end without readers. A
 * known request id is answered with its run. A run that does not get its session within the client's waiting time is
 * not begun: nothing is stored.
 */
async function begin(call: ServerRequest): Promise<Response> {
  const { limits, platform, runs, webhooks } = call.server;
  const { pathname } = new URL(call.request.url);
  const key = call.sessionKey();
  const json = call.counted(await call.json());
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new InvalidRequestError('body: must be an object with a newMessage');
  for (const name of IN_ADDRESS) {
    if (Object.hasOwn(json, name))
      throw new InvalidRequestError(`${name}: is in the address; leave it out of the body`);
  }
  const body = checkRunRequest(call, readRunRequest({ ...json, ...key }));
  const waitS = preferredWait(call.request.headers.get('prefer'));
  const url = await readWebhook(call, key, json);
  const log = await startRun(call, body, body.streaming ? StreamingMode.SSE : StreamingMode.NONE);
  let state: RunState = { invocationId: log.invocationId, state: 'running' };
  await within(platform, log.whenStored(), waitS * 1000);
  if (!log.isStored && !log.isEnded) {
    log.abort(stillBusy(waitS));
    // Its message may have been stored just now. Then it is a run like every other, which was interrupted.
    await log.whenStored();
  }
  const known = log.failure && (await knownRun(call, body, log));
  if (known) {
    state = await runs.state(call.runner(), key, known.invocationId);
  } else {
    if (log.failure && !log.hasEvents) return failedResponse(log, log.failure);
    if (log.publication) await within(platform, log.publication.announced, limits.answerAfterMs);
    state = { ...state, invocationId: log.invocationId };
  }
  const { invocationId } = state;
  const headers = { location: `${pathname}/${encodeURIComponent(invocationId)}`, [INVOCATION_ID_HEADER]: invocationId };
  // If the request is known and its run has ended, this answer has the end, and no webhook is sent.
  if (url !== undefined && webhooks && state.state === 'running') {
    try {
      await webhooks.add(call.runner().sessionService, key, invocationId, url);
    } catch (error) {
      return errorResponse(withoutWebhook(invocationId, error), headers);
    }
    const ended = runs.inFlightRun(key, invocationId)?.ended ?? Promise.resolve();
    platform.background(ended.then(() => webhooks.look()));
  }
  return jsonTextResponse(JSON.stringify(state), headers, 202);
}

function stillBusy(waitS: number): SessionBusyError {
  return new SessionBusyError(
    `the session has a run that did not end within ${waitS} s, so this one was not begun and nothing was stored: ` +
      'send the request again, or end the other run first',
  );
}

/** The run goes on, and its end would not be told. A client that sends its request again under its `requestId` gets both. */
function withoutWebhook(invocationId: string, error: unknown): unknown {
  if (!StorageError.isInstance(error)) return error;
  return new StorageError(
    `the run ${invocationId} has begun, and its webhook could not be stored: ask for the state of the run, or send the request again with its requestId`,
    { cause: error },
  );
}

/** @throws InvalidRequestError @throws ForbiddenError @throws UserLimitError @throws StorageError */
async function readWebhook(call: ServerRequest, key: SessionKey, json: object): Promise<string | undefined> {
  if (!('webhook' in json) || json.webhook === undefined || json.webhook === null) return undefined;
  const { webhooks } = call.server;
  if (webhooks) return webhooks.check(json.webhook, call.runner().sessionService, key);
  throw new InvalidRequestError(
    'webhook: this server sends none; give createServer the option webhooks, or ask for the state of the run',
  );
}

/** The hub has reported the failure; here it is only answered, with the name of the run whose events can be read. */
function failedResponse({ invocationId, key }: RunLog, failure: Error): Response {
  const error = SessionNotFoundError.isInstance(failure) ? noSessionError(key, failure) : failure;
  return errorResponse(error, { [INVOCATION_ID_HEADER]: invocationId });
}

/** Tells a client that begins with a run how to create the session first. */
function noSessionError({ appName, userId, sessionId }: SessionKey, cause: Error): SessionNotFoundError {
  const path = `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}/sessions/${encodeURIComponent(sessionId)}`;
  return new SessionNotFoundError(
    `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)} does not exist; create it first with POST ${path}`,
    { cause },
  );
}

function tooLong({ invocationId, key }: Pick<RunLog, 'invocationId' | 'key'>): RunEventsGoneError {
  return new RunEventsGoneError(
    `the run ${invocationId} was done, and its events are more than is kept for one answer; ` +
      `read session ${JSON.stringify(key.sessionId)}, or use /run_sse`,
  );
}

/** The errors of a run that is not begun. */
const START_CODES = [
  'INVALID_MESSAGE',
  'STATE_KEY',
  'STATE_VALUE',
  'APP_NOT_FOUND',
  'SESSION_NOT_FOUND',
  'RUN_NOT_FOUND',
  'REQUEST_KNOWN',
  'RUN_ABORTED',
  'RUN_GOES_ON',
  'RUN_OPEN',
  'SESSION_BUSY',
  'STALE_WRITER',
  'BODY_TOO_LARGE',
  'SIZE_LIMIT',
  'MISSING_STATE_KEY',
  'REQUEST_ID_REUSED',
  'USER_LIMIT',
  'AGENT',
  'CONFIGURATION',
  'MODEL',
  'APP_STATE_UNREACHABLE',
  'RUN_RELAY',
  'SERVER_BUSY',
  'SHUTTING_DOWN',
  'STORAGE_UNAVAILABLE',
  'TOOLSET_UNAVAILABLE',
  'USER_OBJECT',
];

/** Starts runs. */
export const runRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/run',
    operationId: 'run',
    summary: 'Runs the agent on a message, or resumes a run, and answers with all events when it has ended',
    body: RUN,
    answer: { component: 'Event', isList: true },
    errors: [409, 410, 422, 502],
    owner: readRunBody,
    handle: run,
  },
  {
    method: 'post',
    path: '/run_sse',
    operationId: 'runSse',
    summary: `Runs the agent on a message, or resumes a run, and streams its events; the header ${INVOCATION_ID_HEADER} names the run, which continues when the client leaves`,
    headers: {
      [EVENT_IDS_HEADER]:
        '1: each frame begins with a line id: <number of the event in the run>. Without it a frame is its data line.',
      'Last-Event-ID': 'Asks for numbers too; the run is streamed from its begin.',
    },
    body: RUN,
    answer: { stream: 'Event' },
    errors: [409, 422, 502],
    owner: readRunBody,
    handle: runSse,
  },
  {
    method: 'post',
    path: '/apps/{appName}/users/{userId}/sessions/{sessionId}/runs',
    operationId: 'startRun',
    summary:
      'Runs the agent on a message, or resumes a run, and answers as soon as the message is stored; the header Location has the address at which the run can be followed, inspected and cancelled',
    headers: {
      Prefer:
        'wait=<seconds>: how long the client waits for a session that another run has. Default 30, at most 60. After that the run is not begun: SESSION_BUSY.',
    },
    bodySchema: START_BODY,
    answer: { schema: RUN_STATE_SCHEMA },
    answerHeaders: {
      Location: 'The address where the run is followed, asked for its state, and cancelled.',
      [INVOCATION_ID_HEADER]: 'The invocation id of the run.',
    },
    status: 202,
    codes: START_CODES,
    handle: begin,
  },
];
