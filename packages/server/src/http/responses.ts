import type { Event, SessionKey } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { formatPosition } from '../runs/run-log.ts';
import type { RunFrame } from '../runs/run-relay.ts';

/** Returns a response whose body is the given JSON text. */
export function jsonTextResponse(text: string, headers: Readonly<Record<string, string>> = {}, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** Returns a response with a value as JSON. */
export function jsonResponse(value: unknown, headers?: Readonly<Record<string, string>>): Response {
  return jsonTextResponse(JSON.stringify(value), headers);
}

/** True if the client accepts JSON and not a stream of events. */
export function acceptsJson({ headers }: Request): boolean {
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  const names = (type: string): boolean => ranges.some((range) => isRange(range, type));
  return names('application/json') && !names('text/event-stream');
}

/** True for a media range with this type, unless its weight is 0. */
function isRange(range: string, type: string): boolean {
  const [name = '', ...parameters] = range.split(';');
  return name.trim() === type && !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter.trim()));
}

/** The response header with the invocation id of the run. */
export const INVOCATION_ID_HEADER = 'Eventloom-Invocation-Id';

/** Characters that every HTTP server and client accepts in a header. */
const IN_HEADER = /^[\x21-\x7e]{1,256}$/;

/** Returns the header with the id of a run. Empty for an id that is not a valid header value, which runs of imported sessions may have. */
export function invocationHeader(invocationId: string): Record<string, string> {
  return IN_HEADER.test(invocationId) ? { [INVOCATION_ID_HEADER]: invocationId } : {};
}

/** Request header: `1` asks for the number of each event as the `id` of its frame. */
export const EVENT_IDS_HEADER = 'Eventloom-Event-Ids';

/** The response header with the cursor of the next page of a list. */
export const NEXT_CURSOR = 'Eventloom-Next-Cursor';

/** Returns the header with the cursor of the next page; none for the last page. */
export function cursorHeader(nextCursor: string | undefined): Record<string, string> {
  return nextCursor === undefined ? {} : { [NEXT_CURSOR]: nextCursor };
}

/** A comment that keeps a silent connection open. It is a separate block, so that the next frame still begins with `data: `. */
export const SSE_HEARTBEAT = ': heartbeat\n\n';
/** Line of a stream that asks the client to reconnect after two seconds. */
export const SSE_RETRY = 'retry: 2000\n\n';

/** Writes the frames of a run in the format of one protocol. */
export interface FrameEncoder {
  /**
   * Writes one frame. Returns an empty text to omit the frame.
   *
   * @param json an event, or `{error, code}` as the last frame of a run that failed
   * @param position undefined for an error that is not a frame of the run: the stream ends, and the run may continue
   */
  encode(json: string, position: number | undefined): string;
  /** Text that is written when the stream ends. */
  readonly end?: string | undefined;
}

/**
 * Writes frames as server-sent events for clients of the ADK. They accept a frame only if it begins with `data: `, and
 * treat a frame with `error` as the end of the run. Events are therefore written without `error`; their `errorCode` and
 * `errorMessage` contain the same.
 */
export const SSE_FRAMES: FrameEncoder = {
  encode: (json) => `data: ${json.includes(END_OF_ERROR_KEY) ? withoutErrorDetails(json) : json}\n\n`,
};

/**
 * The key `error` of an object, without its beginning: searching for a quotation mark, which is frequent in JSON, would take three times as
 * long.
 */
const END_OF_ERROR_KEY = 'rror":{';

/** Removes the error details of an event. The text of a message may look like an error, so the JSON is parsed. */
function withoutErrorDetails(json: string): string {
  const event: unknown = JSON.parse(json);
  if (!isRecord(event) || !isRecord(event['error'])) return json;
  const { error: _details, ...plain } = event;
  return JSON.stringify(plain);
}

/** The property by which a `Runner` of `@eventloom/adk` is known. */
export const ADK_RUNNER = '~eventloom.adk-runner';

/**
 * Codes of errors that are only an event in the ADK: a failed call of the model, and the call after the last allowed one. Clients of an ADK
 * runner get no error after the event, unless they ask for numbered frames.
 */
const MODEL_ENDS = ['MODEL', 'LLM_CALL_LIMIT'];

/** True for one of these errors. @param error the error of an event, or one that was thrown */
export function isOfModel({ type = '', code = type }: { readonly type?: string; readonly code?: string }): boolean {
  return MODEL_ENDS.includes(code);
}

/** Creates the `SSE_FRAMES` of an ADK runner, without errors that are only events. */
export function adkSseFrames(): FrameEncoder {
  let last = '{}';
  return {
    encode(json, position) {
      const isEnd = position !== undefined && json.startsWith('{"error":');
      const { error, errorCode }: Partial<Event> = isEnd ? (JSON.parse(last) as Event) : {};
      // The failure of a workflow has another code than the event of the node whose model failed.
      const isRepeated = error && isOfModel(error) && errorCode === (JSON.parse(json) as { code?: unknown }).code;
      last = json;
      return isRepeated ? '' : SSE_FRAMES.encode(json, position);
    },
  };
}

/** Writes frames as server-sent events with their numbers, which clients send as `Last-Event-ID`. */
export const NUMBERED_SSE_FRAMES: FrameEncoder = {
  encode: (json, position) =>
    position === undefined ? `data: ${json}\n\n` : `id: ${formatPosition(position)}\ndata: ${json}\n\n`,
};

/** Writes frames one after the other. */
export function encodeFrames(frames: readonly RunFrame[], encoder: FrameEncoder): string {
  let text = '';
  for (const { position, json } of frames) text += encoder.encode(json, position);
  return text;
}

/** Returns a response with the frames of a run. */
export function sseResponse(invocationId: string, body: ReadableStream<Uint8Array<ArrayBuffer>> | string): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // Prevents reverse proxies from buffering the stream.
      'x-accel-buffering': 'no',
      ...(IN_HEADER.test(invocationId) && { [INVOCATION_ID_HEADER]: invocationId }),
    },
  });
}

/** Returns the path of a session. */
export function sessionPath({ appName, userId, sessionId }: SessionKey): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}/sessions/${encodeURIComponent(sessionId)}`;
}

/** Returns the path at which a run is followed, asked for its state and cancelled. */
export function runPath(key: SessionKey, invocationId: string): string {
  return `${sessionPath(key)}/runs/${encodeURIComponent(invocationId)}`;
}
