import {
  type Event,
  EventloomError,
  InvalidRequestError,
  RequestKnownError,
  SessionBusyError,
  type SessionKey,
  SessionNotFoundError,
  StorageError,
  StreamingMode,
  UnfinishedRunError,
} from '@eventloom/core';
import { describeKind, isRecord, within } from '@eventloom/core/internal';
import type { RunAsyncParams } from '@eventloom/runner';
import { readRunBody, wireSchemas } from '@eventloom/core/wire';
import { RunEventsGoneError } from '../errors.ts';
import type { ServerRequest } from '../http/server-request.ts';
import { errorResponse, errorStatus } from '../http/error-response.ts';
import { jsonTextResponse, runPath } from '../http/responses.ts';
import {
  ADK_RUNNER,
  framesOfAdkRunner,
  EVENT_IDS_HEADER,
  INVOCATION_ID_HEADER,
  invocationHeader,
  isOfModel,
  NUMBERED_SSE_FRAMES,
  SSE_FRAMES,
  sseResponse,
} from '../http/run-response.ts';
import type { BodySpec, HttpRoute } from '../http/route.ts';
import { noSessionError } from '../http/session-text.ts';
import { parseFrame } from '../http/hosted-run.ts';
import {
  parseRunBody,
  readRequestedRun,
  type RequestedRun,
  requestRun,
  runnerOf,
  startReadableRun,
} from '../http/start-run.ts';
import { FRAMES, readFrames } from '../runs/run-frames.ts';
import type { RunHub } from '../runs/run-hub.ts';
import type { RunLog } from '../runs/run-log.ts';
import { RUN_STATE_SCHEMA, type RunState } from '../runs/run-state.ts';
import { quotedName } from '../http/request-body.ts';

const RUN = { component: 'RunBody', read: readRunBody } satisfies BodySpec;

/** The fields of a run body that the path has. */
const IN_ADDRESS = ['appName', 'app_name', 'userId', 'user_id', 'sessionId', 'session_id'];

/** A run body without the fields that are in the path. */
const START_BODY = {
  type: 'object',
  description: 'A RunBody without appName, userId and sessionId, which are in the address.',
  properties: {
    ...Object.fromEntries(
      Object.entries(wireSchemas().RunBody.properties ?? {}).filter(([name]) => !IN_ADDRESS.includes(name)),
    ),
    newMessage: { $ref: '#/components/schemas/ContentInput' },
    webhook: {
      type: 'object',
      properties: { url: { type: 'string', format: 'uri', maxLength: 2048 } },
      required: ['url'],
      description: 'The URL that gets a signed message when the run has ended, if the server allows the origin.',
    },
  },
  additionalProperties: false,
};

async function run(request: ServerRequest): Promise<Response> {
  const { limits, platform, runs } = request.server;
  const requested = await requestRun(request, parseRunBody(request, await request.json()), StreamingMode.NONE);
  const { known } = requested;
  const { log } = requested.run;
  if (known) return runEvents(request, requested, known.invocationId);
  await log.ended;
  if (log.publication && !runs.isDraining) await within(platform, log.publication.announced, limits.respondAfterMs);
  const { end } = log;
  const isCopied = end?.kind === 'copied' && !end.failure;
  if (isCopied || (EventloomError.isInstance(end?.failure) && isOnlyEvent(request, log, end.failure)))
    return runEvents(request, requested, log.invocationId);
  const failure = end?.failure ?? (log.gonePosition > log.beginPosition ? tooLong(log) : undefined);
  if (failure) return failedResponse(request, log, failure);
  const events = log.framesAfter(log.beginPosition, Infinity).map(({ json }) => json);
  return request.server.responses.respondWithText(
    log.key.userId,
    `[${events.join(',')}]`,
    invocationHeader(log.invocationId),
  );
}

/** True if a run failed in a call of its model, which clients of an ADK runner get as an event only. */
function isOnlyEvent(
  { server }: ServerRequest,
  { key }: Pick<RunLog, 'key'>,
  error: Parameters<typeof isOfModel>[0],
): boolean {
  return ADK_RUNNER in runnerOf(server, key.appName) && isOfModel(error);
}

/**
 * Returns a response with the events of a run after its message, once the run has ended. For a known request, or a run that ended in
 * another process.
 */
async function runEvents(request: ServerRequest, requested: RequestedRun, invocationId: string): Promise<Response> {
  const headers = invocationHeader(invocationId);
  const { body } = await readRequestedRun(request, requested, FRAMES);
  const events: string[] = [];
  let chars = 0;
  let last: Event | undefined;
  for await (const frame of readFrames(body)) {
    if (!frame) continue;
    const { position, json } = frame;
    const { event, error } = parseFrame(json);
    // The error event before the failure of the run has the code of the error's class, which determines the status. An error without a
    // position comes from reading, and the failure of a workflow has another code than the event of the node that failed.
    if (error) {
      const failed = position === undefined || last?.errorCode !== error.code ? undefined : last?.error;
      if (failed && isOnlyEvent(request, requested.run, failed)) break;
      return jsonTextResponse(JSON.stringify(error), headers, errorStatus(failed?.code ?? error.code));
    }
    last = event;
    if (!event || event.partial === true) continue;
    events.push(json);
    chars += json.length;
    request.quota.count('responseChars', json.length);
    if (chars > request.server.limits.maxRunChars)
      return errorResponse(tooLong({ invocationId, key: requested.run.key }), headers);
  }
  request.quota.count('responseChars', -chars);
  return request.server.responses.respondWithText(requested.run.key.userId, `[${events.join(',')}]`, headers);
}

async function runSse(request: ServerRequest): Promise<Response> {
  const { headers } = request.raw;
  const body = parseRunBody(request, await request.json());
  const requested = await startReadableRun(request, body);
  if (requested.failure) return failedResponse(request, requested.run.log, requested.failure);
  // A client requests numbers with the header; an EventSource sends `Last-Event-ID` when it reconnects.
  const hasEventIds = headers.get(EVENT_IDS_HEADER) === '1' || headers.has('Last-Event-ID');
  const plain = ADK_RUNNER in runnerOf(request.server, body.appName) ? framesOfAdkRunner() : SSE_FRAMES;
  request.quota.count('reservedReaders', -1);
  const read = await readRequestedRun(request, requested, hasEventIds ? NUMBERED_SSE_FRAMES : plain);
  return sseResponse(read.invocationId, read.body ?? '');
}

/**
 * Starts a run and answers as soon as its message is stored; the run then continues without readers. A known request id is answered with
 * its run. A run that does not get its session within the client's waiting time does not begin, and nothing is stored.
 */
async function startRun(request: ServerRequest): Promise<Response> {
  const { limits, platform, runs, webhooks } = request.server;
  const key = request.sessionKey();
  const json = await request.json();
  if (!isRecord(json))
    throw new InvalidRequestError(`body: expected an object with a newMessage, got ${describeKind(json)}`);
  for (const name of IN_ADDRESS) {
    if (Object.hasOwn(json, name)) throw new InvalidRequestError(`${name}: is in the address; remove it from the body`);
  }
  const { webhook: requested, ...fields } = json;
  const body = parseRunBody(request, { ...fields, ...key }, true);
  const waitMs = preferredWait(request.raw.headers.get('prefer')) * 1000;
  const webhook = await readWebhook(request, key, requested);
  const mode = body.streaming ? StreamingMode.SSE : StreamingMode.NONE;
  const { run, known } = await requestRun(request, body, mode, { waitMs, webhook });
  const { log } = run;
  let state: RunState;
  if (known) {
    state = await runs.follower.state(request.runner().sessionService, key, known.invocationId);
  } else {
    if (webhook) webhooks?.noteStored(key, log.ended);
    if (log.end?.failure && !run.hasBegun) return failedResponse(request, log, log.end.failure);
    if (log.publication) await within(platform, log.publication.announced, limits.respondAfterMs);
    state = await recordedState(request, log);
  }
  const { invocationId } = state;
  const headers = {
    location: `${request.path}/${encodeURIComponent(invocationId)}`,
    ...invocationHeader(invocationId),
  };
  // The run keeps the webhook of the request that began it. If the run of a known request has ended, this response has
  // the end, and no webhook is sent.
  if (known && webhook && webhooks && state.state === 'running') {
    try {
      await request.runner().sessionService.putRunWebhook({ ...key, ...webhook, invocationId });
    } catch (error) {
      return errorResponse(withoutWebhook(invocationId, error), headers);
    }
    webhooks.noteStored(key, runs.inFlightRun(key, invocationId)?.log.ended);
  }
  return jsonTextResponse(JSON.stringify(state), headers, 202);
}

/** Returns the state of a recorded run. A run that was left open is continued by this process or another one. */
async function recordedState(request: ServerRequest, log: RunLog): Promise<RunState> {
  const { invocationId, key, end } = log;
  const recorded: RunState = { invocationId, state: 'running' };
  if (!end || end.kind === 'continues') return recorded;
  try {
    return await request.server.runs.follower.state(request.runner().sessionService, key, invocationId);
  } catch (error) {
    // An error would suggest that the message can be sent again.
    if (StorageError.isInstance(error)) return recorded;
    throw error;
  }
}

/**
 * Returns the error for a run that has started although its webhook could not be stored; other errors unchanged. A
 * client that repeats its request with its `requestId` gets the run.
 */
function withoutWebhook(invocationId: string, error: unknown): unknown {
  if (!StorageError.isInstance(error)) return error;
  return new StorageError(
    `the run ${invocationId} has started, but its webhook could not be stored; request its state, or send the request again with its requestId`,
    { cause: error },
  );
}

/** @throws InvalidRequestError @throws ForbiddenError @throws UserLimitError @throws StorageError */
async function readWebhook(
  request: ServerRequest,
  key: SessionKey,
  webhook: unknown,
): Promise<RunAsyncParams['webhook']> {
  if (webhook === undefined || webhook === null) return undefined;
  const { webhooks } = request.server;
  if (webhooks) return webhooks.check(webhook, request.runner().sessionService, key);
  throw new InvalidRequestError(
    'webhook: this server sends no webhooks; give it the option webhooks, or request the state of the run',
  );
}

/**
 * Returns the response to a failed run, whose failure the hub has reported. The header names the run whose events can be read, and the body
 * has the address of the run that the client should follow instead of sending its message again, or cancel first.
 */
function failedResponse({ server: { runs } }: ServerRequest, log: RunLog, failure: Error): Response {
  const { invocationId, key } = log;
  const headers = invocationHeader(invocationId);
  if (SessionNotFoundError.isInstance(failure)) return errorResponse(noSessionError(key, failure), headers);
  const run = runToFollow(runs, log, failure);
  return errorResponse(failure, headers, run === undefined ? {} : { run: runPath(key, run) });
}

/** Returns the invocation id of the run that prevents the requested run, or of the requested run itself if that continues. */
function runToFollow(runs: RunHub, { key, invocationId, end }: RunLog, failure: Error): string | undefined {
  if (end?.kind === 'continues') return invocationId;
  if (UnfinishedRunError.isInstance(failure)) return failure.run.invocationId;
  if (RequestKnownError.isInstance(failure)) return failure.invocationId;
  return SessionBusyError.isInstance(failure) ? runs.holderOf(key) : undefined;
}

function tooLong({ invocationId, key }: Pick<RunLog, 'invocationId' | 'key'>): RunEventsGoneError {
  return new RunEventsGoneError(
    `the run ${invocationId} has completed, but its events exceed the maximum size of one response; ` +
      `read session ${JSON.stringify(key.sessionId)}, or use /run_sse`,
  );
}

/** Codes of errors that refuse a run. */
const START_CODES = [
  'INVALID_MESSAGE',
  'STATE_KEY',
  'STATE_VALUE',
  'APP_NOT_FOUND',
  'SESSION_NOT_FOUND',
  'RUN_NOT_FOUND',
  'REQUEST_KNOWN',
  'RUN_ABANDONED',
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
  'RUN_NOT_BEGUN',
  'RUN_RELAY',
  'SERVER_BUSY',
  'SHUTTING_DOWN',
  'STORAGE_UNAVAILABLE',
  'TOOLSET_UNAVAILABLE',
  'USER_OBJECT',
];

/** The routes that start runs. */
export const runRoutes: readonly HttpRoute[] = [
  {
    method: 'post',
    path: '/run',
    operationId: 'run',
    summary: 'Runs the agent on a message, or resumes a run, and returns all events when the run has ended',
    body: RUN,
    response: { component: 'Event', isList: true },
    errors: [409, 410, 422, 502],
    owner: async (request) => parseRunBody(request, await request.json()),
    handle: run,
  },
  {
    method: 'post',
    path: '/run_sse',
    operationId: 'runSse',
    summary: `Runs the agent on a message, or resumes a run, and streams its events; the header ${INVOCATION_ID_HEADER} names the run, which continues after the client disconnects`,
    headers: {
      [EVENT_IDS_HEADER]:
        '1: each frame begins with a line id: <number of the event in the run>. Without it a frame is only its data line.',
      'Last-Event-ID': 'Also requests the numbers; the run is streamed from its start.',
    },
    body: RUN,
    response: { stream: 'Event' },
    errors: [409, 422, 502],
    owner: async (request) => parseRunBody(request, await request.json()),
    handle: runSse,
  },
  {
    method: 'post',
    path: '/apps/{appName}/users/{userId}/sessions/{sessionId}/runs',
    operationId: 'startRun',
    summary: 'Runs the agent on a message, or resumes a run, and answers as soon as the message is stored',
    headers: {
      Prefer:
        'wait=<seconds>: the time that the client waits for a session that another run holds. Default 30, at most 60. After that the run does not begin: SESSION_BUSY.',
    },
    bodySchema: START_BODY,
    response: { schema: RUN_STATE_SCHEMA },
    responseHeaders: {
      Location: 'The address at which the run is followed, inspected and cancelled.',
      [INVOCATION_ID_HEADER]: 'The invocation id of the run.',
    },
    status: 202,
    codes: START_CODES,
    handle: startRun,
  },
];

/** Maximum wait that a client can request, and the default, in seconds. */
const MAX_WAIT_S = 60;
const DEFAULT_WAIT_S = 30;

/**
 * Reads from the header `Prefer: wait=<seconds>` (RFC 7240) how long a client waits for its run to begin. Other
 * preferences are ignored.
 *
 * @returns seconds, at most 60; 30 if the header has no wait
 * @throws InvalidRequestError for a wait that is not a number of seconds, or is given twice
 */
export function preferredWait(header: string | null): number {
  const waits = (header ?? '')
    .split(',')
    .map((preference) => preference.split(';')[0]?.trim() ?? '')
    .filter((preference) => /^wait(?:\s*=|$)/i.test(preference));
  const [wait] = waits;
  if (wait === undefined) return DEFAULT_WAIT_S;
  const [, seconds] = /^wait\s*=\s*"?([1-9]\d{0,5})"?$/i.exec(wait) ?? [];
  if (seconds === undefined || waits.length > 1)
    throw new InvalidRequestError(`Prefer: expected one wait=<seconds> of at least 1, got ${quotedName(header ?? '')}`);
  return Math.min(Number(seconds), MAX_WAIT_S);
}
