import { ConfigurationError, type Event, type SessionKey, InvalidRequestError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import type { ErrorBody } from '@eventloom/core/wire';
import type { RunConnection } from '../runs/run-follower.ts';
import { FRAMES, readFrames } from '../runs/run-frames.ts';
import { formatPosition } from '../runs/run-log.ts';
import type { RunFormat } from '../runs/run-reader.ts';
import { invocationHeader, SseFormat, sseResponse } from './run-response.ts';

/** Opens a connection that reads a run. */
type OpenRunReader = <Body>(format: RunFormat<Body>) => RunConnection<Body> | Promise<RunConnection<Body>>;

/** Identifies a run of a user, and the event after which to read it. */
export interface FollowRunRequest extends SessionKey {
  /** The run's invocation id. */
  readonly invocationId: string;
  /** Id of the last item that the reader has; only later items are returned. Default: all items. */
  readonly lastEventId?: string | undefined;
}

/** One item of a run: an event, or the error that ends the stream. Has exactly one of `event` and `error`; a heartbeat has neither. */
export interface RunItem {
  /** Id of the item, to be passed as `lastEventId`. Absent for an error that is not part of the run itself. */
  readonly id?: string;
  readonly event?: Event;
  /**
   * Error that ends the stream. The run failed with it, unless its code is `RUN_GOES_ON`: then the run continues, and can be followed
   * again.
   */
  readonly error?: ErrorBody;
}

/**
 * Writes the items of a run as server-sent events in the format of a protocol. If a writer throws, its connection is closed and the error
 * is reported to `onError`; the run and its other readers continue.
 */
export interface RunWriter {
  /** Returns the text of one item as complete blocks, such as `data: …` with two line feeds. An empty text leaves the item out. */
  item(item: RunItem): string;
  /** Text that is written once, when the stream ends. Default: none. */
  readonly end?: string | undefined;
}

/**
 * A run on the server, for the routes of a protocol. It continues without readers, and can be read several times, by several readers at
 * once.
 */
export class HostedRun {
  readonly invocationId: string;
  readonly #open: OpenRunReader;

  /** @param open starts to read the run */
  constructor(invocationId: string, open: OpenRunReader) {
    this.invocationId = invocationId;
    this.#open = open;
  }

  /**
   * Returns the response that streams the run as server-sent events, with heartbeats, at the reader's own pace. Its status is 204 if the
   * run has ended and has no items after the last id.
   * @throws RunNotFoundError
   * @throws RunEventsGoneError
   * @throws TooManyReadersError
   * @throws UserLimitError for a second reader of a started run, or for the first one after the request was answered, if the user has no
   * further connection
   * @throws RunRelayError
   * @throws RunEventNotFoundError for a last id that the run does not have
   */
  async sse(writer: RunWriter): Promise<Response> {
    if (typeof writer?.item !== 'function')
      throw new ConfigurationError(
        `HostedRun.sse: expected a writer, got ${describeKind(writer)}; write run.sse({ item: (item) => \`data: \${JSON.stringify(item)}\\n\\n\` })`,
      );
    const format = new SseFormat({
      encode: (json, position) => textOf(writer.item(toItem(json, position))),
      end: writer.end,
    });
    const { invocationId, body } = await this.#open(format);
    if (body !== undefined) return asRunStream(sseResponse(invocationId, body));
    return new Response(null, { status: 204, headers: invocationHeader(invocationId) });
  }

  /**
   * Yields the items of the run as they come, until it has ended. Throws the errors of `sse`.
   * @param options.heartbeats true yields an empty item after each `limits.heartbeatMs` without an item, for a route that keeps its own
   * connection open. Default false
   * @param options.signal ends the reading, for example when a client disconnects while the run is silent; the run continues. Default:
   * none
   */
  async *items(
    options: { readonly heartbeats?: boolean | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<RunItem, void, undefined> {
    const { heartbeats = false, signal } = options;
    const { body } = await this.#open(FRAMES);
    for await (const frame of readFrames(body, signal)) {
      if (frame) yield toItem(frame.json, frame.position);
      else if (heartbeats) yield {};
    }
  }
}

const runStreams = new WeakSet<Response>();

function asRunStream(response: Response): Response {
  runStreams.add(response);
  return response;
}

/** True for a response of `HostedRun.sse`, whose connection reports its own failures. */
export function isRunStream(response: Response): boolean {
  return runStreams.has(response);
}

/** @throws ConfigurationError if a writer, for example one in JavaScript, returns no text */
function textOf(text: unknown): string {
  if (typeof text === 'string') return text;
  throw new ConfigurationError(
    `RunWriter: item: expected a text, got ${describeKind(text)}; return '' for an item to leave out`,
  );
}

function toItem(json: string, position: number | undefined): RunItem {
  return { ...(position === undefined ? {} : { id: formatPosition(position) }), ...parseFrame(json) };
}

/** Parses the JSON of a frame: an event has an author, an error body has none. */
export function parseFrame(json: string): Pick<RunItem, 'event' | 'error'> {
  const frame = JSON.parse(json) as Event | ErrorBody;
  return 'author' in frame ? { event: frame } : { error: frame };
}

/** @throws InvalidRequestError */
export function checkInvocationId(invocationId: unknown): string {
  if (typeof invocationId === 'string' && invocationId !== '') return invocationId;
  throw new InvalidRequestError('invocationId: expected the id of a run; write the invocationId of one of its events');
}
