import type { Event } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { LARGE_CHARS, LargeText, MAX_WRITE_CHARS } from '../runs/large-text.ts';
import { formatPosition } from '../runs/run-log.ts';
import type { RunFormat, RunReader, RunSink, StreamEnd } from '../runs/run-reader.ts';
import type { RunFrame } from '../runs/run-relay.ts';

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

/** Returns a response with the frames of a run. */
export function sseResponse(invocationId: string, body: SseBody): Response {
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

/** A comment that keeps a silent connection open. It is a separate block, so that the next frame still begins with `data: `. */
export const SSE_HEARTBEAT = ': heartbeat\n\n';
/** Line of a stream that asks the client to reconnect after two seconds. */
const SSE_RETRY = 'retry: 2000\n\n';

/** Writes the frames of a run in the format of one protocol. */
interface FrameEncoder {
  /**
   * Writes one frame. Returns an empty text to omit the frame.
   *
   * @param json an event, or `{error, code}` as the last frame of a run that failed
   * @param position undefined for an error that is not a frame of the run: the stream ends, and the run may continue
   */
  encode(json: string, position: number | undefined): string;
  /** True to write what the user said, typed and answered: see `RunFrame.isOfUser`. Default false. */
  readonly hasUser?: boolean;
  /** Text that is written when the stream ends. */
  readonly end?: string | undefined;
}

/**
 * Writes frames as server-sent events for clients of the ADK. They accept a frame only if it begins with `data: `, and
 * treat a frame with `error` as the end of the run. Events are therefore written without `error`; their `errorCode` and
 * `errorMessage` contain the same.
 */
const PLAIN_FRAMES: FrameEncoder = {
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

/** Creates the `SSE_FRAMES` of an app whose runner is the one of `@eventloom/adk`, without errors that are only events. */
export function framesOfAdkRunner(): SseFormat {
  let last = '{}';
  return new SseFormat({
    encode(json, position) {
      const isEnd = position !== undefined && json.startsWith('{"error":');
      const { error, errorCode }: Partial<Event> = isEnd ? (JSON.parse(last) as Event) : {};
      // The failure of a workflow has another code than the event of the node whose model failed.
      const isRepeated = error && isOfModel(error) && errorCode === (JSON.parse(json) as { code?: unknown }).code;
      last = json;
      return isRepeated ? '' : PLAIN_FRAMES.encode(json, position);
    },
  });
}

/** The body of a response with the frames of a run. */
export type SseBody = ReadableStream<Uint8Array<ArrayBuffer>> | string;

/** The frames of a run as the body of a response, in the format of one protocol. */
export class SseFormat implements RunFormat<SseBody> {
  readonly #encoder: FrameEncoder;

  constructor(encoder: FrameEncoder) {
    this.#encoder = encoder;
  }

  whole(frames: readonly RunFrame[]): SseBody {
    let text = '';
    for (const { position, json, isOfUser } of frames)
      if (!isOfUser || this.#encoder.hasUser) text += this.#encoder.encode(json, position);
    return text + (this.#encoder.end ?? '');
  }

  open(reader: RunReader): SseBody {
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => reader.start(new SseSink(controller, this.#encoder, reader)),
        pull: () => reader.pull(),
        cancel: () => reader.cancel(),
      },
      // Nothing is read before the connection asks for it, so the log is the only buffer.
      { highWaterMark: 0 },
    );
  }
}

/** Writes the frames of a protocol as bytes. The parts of a large text are written as the connection takes them. */
class SseSink implements RunSink {
  readonly #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly #encoder: FrameEncoder;
  readonly #reader: RunReader;
  readonly #bytes = new TextEncoder();
  #large: LargeText | undefined;

  constructor(
    controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>,
    encoder: FrameEncoder,
    reader: RunReader,
  ) {
    this.#controller = controller;
    this.#encoder = encoder;
    this.#reader = reader;
  }

  /** @throws SlowReaderError, and the errors of the protocol's encoder */
  send(frames: readonly RunFrame[], end?: StreamEnd): 'nothing' | 'sent' | 'ended' {
    let text = '';
    for (const { position, json, isOfUser } of frames)
      if (!isOfUser || this.#encoder.hasUser) text += this.#encoder.encode(json, position);
    const isLast = end !== undefined && text.length <= MAX_WRITE_CHARS;
    if (isLast) text += this.#endOf(end);
    if (text !== '') this.#write(text);
    if (isLast) return 'ended';
    return text === '' ? 'nothing' : 'sent';
  }

  #endOf({ error, reconnects = false }: StreamEnd): string {
    // The error is not a frame of the run. It has no number, so a client that reconnects skips no frame.
    const reason = error === undefined ? '' : this.#encoder.encode(JSON.stringify(error), undefined);
    return (reconnects ? SSE_RETRY : '') + reason + (this.#encoder.end ?? '');
  }

  sendHeartbeat(): void {
    this.#write(SSE_HEARTBEAT);
  }

  sendRetry(): void {
    this.#write(SSE_RETRY);
  }

  get hasParts(): boolean {
    return this.#large !== undefined;
  }

  sendPart(): boolean {
    const large = this.#large;
    if (!large) return false;
    const { part, isLast } = large.next();
    if (isLast) this.#large = undefined;
    this.#controller.enqueue(this.#bytes.encode(part));
    return true;
  }

  #write(text: string): void {
    if (this.#large) {
      this.#large.add(text);
    } else if (text.length > LARGE_CHARS) {
      this.#large = new LargeText(text, this.#reader.holdChars(text.length));
      this.sendPart();
    } else {
      this.#controller.enqueue(this.#bytes.encode(text));
    }
  }

  release(): void {
    this.#large?.drop();
    this.#large = undefined;
  }

  close(): void {
    this.#controller.close();
  }

  fail(error: Error): void {
    this.#controller.error(error);
  }
}

/** The frames for clients that request no numbers, such as those of the ADK: see `PLAIN_FRAMES`. */
export const SSE_FRAMES: SseFormat = new SseFormat(PLAIN_FRAMES);

/** Frames as server-sent events with their numbers, which clients send as `Last-Event-ID`. */
export const NUMBERED_SSE_FRAMES: SseFormat = new SseFormat({
  hasUser: true,
  encode: (json, position) =>
    position === undefined ? `data: ${json}\n\n` : `id: ${formatPosition(position)}\ndata: ${json}\n\n`,
});
