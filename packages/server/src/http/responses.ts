import { isRecord } from '@eventloom/core/internal';
import { formatPosition } from '../runs/run-log.ts';
import type { RunFrame } from '../runs/run-relay.ts';

/** A response whose body is JSON text already. */
export function jsonTextResponse(text: string, headers: Readonly<Record<string, string>> = {}, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** A response with a value as JSON. */
export function jsonResponse(value: unknown, headers?: Readonly<Record<string, string>>): Response {
  return jsonTextResponse(JSON.stringify(value), headers);
}

/** True for a request that asks for JSON and not for a stream of events. */
export function acceptsJson({ headers }: Request): boolean {
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  const names = (type: string): boolean => ranges.some((range) => isRange(range, type));
  return names('application/json') && !names('text/event-stream');
}

/** True for a media range that names the type, and does not refuse it with a weight of 0. */
function isRange(range: string, type: string): boolean {
  const [name = '', ...parameters] = range.split(';');
  return name.trim() === type && !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter.trim()));
}

/** Length in characters above which a text is streamed. */
const MAX_TEXT = 1024 * 1024;
type Headers = Readonly<Record<string, string>>;

/** A response with JSON text: in one piece, or streamed part by part when it is long. */
export function partsResponse(parts: Generator<string, void, undefined>, headers?: Headers): Response {
  let text = '';
  for (let next = parts.next(); next.done !== true; next = parts.next()) {
    if (text.length + next.value.length > MAX_TEXT)
      return streamedResponse(begunParts([text, next.value], parts), headers);
    text += next.value;
  }
  return jsonTextResponse(text, headers);
}

/** A response with JSON text whose parts are produced as the client reads them. */
export function streamedResponse(
  parts: Generator<string, void, undefined> | AsyncGenerator<string, void, undefined>,
  headers?: Headers,
): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      // A generator that fails to close rejects the cancellation, which the runtime awaits; ignored it would be an unhandled rejection.
      cancel: async () => void (await parts.return()),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'content-type': 'application/json', ...headers } });
}

function* begunParts(begun: string[], rest: Iterable<string>): Generator<string, void, undefined> {
  for (let part = begun.shift(); part !== undefined; part = begun.shift()) yield part;
  yield* rest;
}

/** The response header with the invocation id of the run. */
export const INVOCATION_ID_HEADER = 'Eventloom-Invocation-Id';

/** Characters that every HTTP server and client accepts in a header. */
export const IN_HEADER: RegExp = /^[\x21-\x7e]{1,256}$/;

/** The header that names a run. No header for an id that none can have: imported sessions may have runs with such ids. */
export function invocationHeader(invocationId: string): Record<string, string> {
  return IN_HEADER.test(invocationId) ? { [INVOCATION_ID_HEADER]: invocationId } : {};
}

/** Set to `1` by a client that wants the number of each event as the `id` of its frame. */
export const EVENT_IDS_HEADER = 'Eventloom-Event-Ids';

/** The response header with the cursor of the next page of a list. */
export const NEXT_CURSOR = 'Eventloom-Next-Cursor';

/** Keeps a silent connection open. A block of its own, so that the next frame still begins with `data: `. */
export const SSE_HEARTBEAT = ': heartbeat\n\n';
/** Line of a stream that asks the client to reconnect after two seconds. */
export const SSE_RETRY = 'retry: 2000\n\n';

/** Writes the frames of a run in the format of one protocol. */
export interface FrameEncoder {
  /**
   * Writes one frame. An empty text leaves it out.
   * @param json an event, or `{error, code}` as the last frame of a run that failed
   * @param position undefined for an error that is no frame of the run: the stream ends, and the run may go on
   */
  encode(json: string, position: number | undefined): string;
  /** Text that is written when the stream ends. */
  readonly end?: string | undefined;
}

/**
 * Frames as server-sent events for clients of the ADK. They take a frame only if it begins with `data: `, and end the run at a frame with `error`: events
 * are written without it, because `errorCode` and `errorMessage` say the same.
 */
export const SSE_FRAMES: FrameEncoder = {
  encode: (json) => `data: ${json.includes('"error":{') ? withoutErrorDetails(json) : json}\n\n`,
};

/** The text of a message may have the characters of an error as well: what is parsed decides. */
function withoutErrorDetails(json: string): string {
  const event: unknown = JSON.parse(json);
  if (!isRecord(event) || !isRecord(event['error'])) return json;
  const { error: _details, ...plain } = event;
  return JSON.stringify(plain);
}

/** Frames as server-sent events with their numbers, which clients send as `Last-Event-ID`. */
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

/** A response with the frames of a run. */
export function sseResponse(invocationId: string, body: ReadableStream<Uint8Array<ArrayBuffer>> | string): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // Keeps reverse proxies from holding the stream back.
      'x-accel-buffering': 'no',
      ...(IN_HEADER.test(invocationId) && { [INVOCATION_ID_HEADER]: invocationId }),
    },
  });
}
