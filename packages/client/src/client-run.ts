import { type Content, type Event, EventloomError } from '@eventloom/core';
import { ConnectionLostError, ServerError } from './errors.ts';
import { type Frame, framesOf } from './event-stream.ts';
import { messageEvent } from './messages.ts';
import { errorIn, type HttpConnection, isRecord, notEventloom, parseRecord, queryOf, toServerError } from './http.ts';

/** State of a run, as `GET …/runs/{id}` returns it. */
export interface ClientRunState {
  readonly invocationId: string;
  /**
   * `queued`: the run waits for its session. `waiting`: it ended with calls that wait for an answer. `interrupted`: it was cancelled,
   * aborted or abandoned.
   */
  readonly state: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'interrupted';
  /** Message of the error that ended the run. Absent if none did. */
  readonly error?: string;
  /** Code of that error, e.g. `LLM_CALL_LIMIT`. */
  readonly code?: string;
  /** Text of the answer of a run that completed: of its last final response. Absent if that has no text. */
  readonly output?: string;
  /** Ids of the function calls without an answer, in the state `waiting`. */
  readonly waitingFor?: readonly string[];
}

/** Options of a run. */
export interface RunOptions {
  /** True (default) yields text in chunks as well, as events with `partial: true`. */
  readonly streaming?: boolean;
  /**
   * Id of the request. A second request with the same id starts no run, and yields the events of the first one.
   * Default: a new random id.
   */
  readonly requestId?: string;
  /** State to write together with the message: new values by key. Default: none. */
  readonly stateDelta?: Readonly<Record<string, unknown>>;
  /** Added to `customMetadata` of every event of the run. Default: nothing. */
  readonly customMetadata?: Readonly<Record<string, unknown>>;
  /**
   * Behaviour while another run of the session is in progress: `queue` (default) waits for its end, `reject` throws a ServerError with
   * the code `SESSION_BUSY`, `interrupt` stops it.
   */
  readonly onBusy?: 'queue' | 'reject' | 'interrupt';
  /**
   * True creates the session before the message is sent, if it does not exist. Default false, which needs a session
   * that exists, or a runner with `autoCreateSession`.
   */
  readonly createSession?: boolean;
  /**
   * Stops reading when it fires, and iterating throws its reason. A message that is being sent is sent to its end meanwhile, and the run
   * continues on the server; `cancel` ends it.
   */
  readonly signal?: AbortSignal;
  /** Called when the connection is being opened, is open, and was closed or lost. */
  readonly onConnection?: (state: ConnectionState) => void;
}

/** State of the connection to a run. `connecting` also while a lost connection is opened again. */
export type ConnectionState = 'connecting' | 'open' | 'closed';

/** Options of `session.follow`. */
export interface FollowOptions extends Pick<RunOptions, 'signal' | 'onConnection'> {
  /** The `lastEventId` of an earlier `ClientRun`: only later events are yielded. Default: all events of the run. */
  readonly lastEventId?: string;
}

/** The addresses and options of a run. */
interface RunParams {
  readonly http: HttpConnection;
  /** Path of the session, encoded. */
  readonly path: string;
  /** The request id of a run that is started, or the invocation id of one that is followed. */
  readonly id: string;
  /** The body of `/run_sse`; absent for a run that is only followed. */
  readonly body?: { readonly requestId: string; readonly newMessage?: Content };
  readonly options: RunOptions & FollowOptions;
}

/**
 * A run on the server. Iterating yields its events, each once, however often the connection is lost; the run begins with the iteration.
 * A message with answers to requests is the first event, once the server has accepted it; other messages of the user are not repeated. A
 * run that is followed has the answers of all clients. When the reader leaves early the run continues on the server. Iterate only once;
 * `session.follow` reads a run again.
 *
 * @throws ServerError while iterating, if the server refuses the request or the run fails
 * @throws ConnectionLostError while iterating
 */
export class ClientRun implements AsyncIterable<Event> {
  readonly #params: RunParams;
  #invocationId: string | undefined;
  #lastEventId: string;
  /** True until the server has accepted or refused the message. */
  #isSending = false;
  #needsSession: boolean;

  constructor(params: RunParams) {
    this.#params = params;
    this.#lastEventId = params.options.lastEventId ?? '0';
    this.#needsSession = !!params.options.createSession;
    if (!params.body) this.#invocationId = params.id;
  }

  /** The id of the request, or of the run that is followed. `session.follow` takes it. */
  get id(): string {
    return this.#params.id;
  }

  /** The invocation id; undefined until the server has answered. */
  get invocationId(): string | undefined {
    return this.#invocationId;
  }

  /** The position after the newest yielded event. Store it to continue after a reload of the page. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /**
   * Ends the run, also one whose message has not reached the server yet. Its stored events stay. Resolves when the run
   * has ended, or was asked to end and needs more than a second. Rejects with a retryable error while its end cannot be
   * stored.
   */
  async cancel(): Promise<void> {
    const { http } = this.#params;
    for (let attempt = 2; ; attempt++) {
      const mayArrive = this.#isSending;
      try {
        await http.request(this.#address(), { method: 'DELETE' });
        return;
      } catch (error) {
        if (!mayArrive || !ServerError.isInstance(error) || error.status !== 404) throw error;
      }
      await http.wait(attempt);
    }
  }

  /**
   * Reads the state of the run from the server.
   * @param options `ifExists`: true returns undefined for a run that does not exist, without an error in the console of the browser
   * @throws ServerError with the `serverCode` RUN_NOT_FOUND if it does not exist
   */
  state(): Promise<ClientRunState>;
  state(options: { readonly ifExists: true }): Promise<ClientRunState | undefined>;
  state(options?: object): Promise<ClientRunState | undefined> {
    return this.#params.http.readJson(this.#address() + queryOf(options), { headers: { accept: 'application/json' } });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { signal } = this.#params.options;
    signal?.throwIfAborted();
    const events = this.#events();
    const first = events.next();
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    try {
      const { done, value } = await Promise.race([first, aborted.promise]);
      if (done) return;
      yield value;
      yield* events;
    } finally {
      signal?.removeEventListener('abort', abort);
      // A message that is being sent is sent to its end, and its run is not read.
      const leaving = first.then(() => events.return()).catch(() => undefined);
      if (!signal?.aborted) await leaving;
    }
  }

  /** Sends the message to its end, and then reads until the signal fires. */
  async *#events(): AsyncGenerator<Event, void, undefined> {
    const { http, options, body } = this.#params;
    const { attempts, idleMs } = http.retry;
    const { signal, onConnection } = options;
    let answers = body?.newMessage;
    let failure: unknown;
    let retryAfter = 0;
    this.#isSending = !!body;
    // Until the server has accepted the message, nothing stops the attempts.
    let stop = body ? undefined : signal;
    try {
      // Each attempt waits longer than the one before. Attempts without an answer of the run are counted apart.
      for (let attempt = 0, unanswered = 0; unanswered < attempts; attempt++, unanswered++) {
        onConnection?.('connecting');
        await http.wait(attempt, retryAfter, stop);
        retryAfter = 0;
        try {
          const response = await this.#connect(stop);
          if (response.status === 204) return;
          if (!response.ok) {
            // A date in the header is ignored: the client then uses its own delays.
            retryAfter = Number(response.headers.get('retry-after')) * 1000 || 0;
            throw await toServerError(response);
          }
          if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
            throw new ServerError(notEventloom('stream of events'));
          stop = signal;
          this.#isSending = false;
          onConnection?.('open');
          if (answers?.parts?.[0]?.functionResponse) yield messageEvent(this.id, answers, this.#invocationId);
          answers = undefined;
          let isComplete = false;
          for await (const frame of framesOf(response, idleMs, signal)) {
            const item = readFrame(frame);
            if (item instanceof ServerError) {
              if (frame.id || !RUN_CONTINUES.test(item.serverCode)) throw item;
              failure = item;
              // The server answers, and the run may work for long without an event.
              if (item.serverCode === 'RUN_GOES_ON') unanswered = -1;
              break;
            }
            this.#lastEventId = frame.id ?? this.#lastEventId;
            attempt = 0;
            unanswered = 0;
            if (item.object === 'runner.completion') isComplete = true;
            else yield item;
            signal?.throwIfAborted();
          }
          if (isComplete) return;
        } catch (error) {
          // `fetch` throws a TypeError when a connection fails or is interrupted.
          const isTemporary = EventloomError.isInstance(error) ? error.retryable : error instanceof TypeError;
          if (stop?.aborted || !isTemporary) throw error;
          failure = error;
        }
      }
    } finally {
      this.#isSending = false;
      onConnection?.('closed');
    }
    throw new ConnectionLostError(
      `no answer from ${http.baseUrl} in ${attempts} attempts; run ${this.#invocationId ?? this.id} may continue`,
      { cause: failure },
    );
  }

  /**
   * Sends the request, and sends it again until an event of the run arrives; the request id prevents a second run.
   * After that the run is followed.
   */
  async #connect(signal: AbortSignal | undefined): Promise<Response> {
    const { http, path, body } = this.#params;
    const abort = { signal: signal ?? null };
    if (this.#needsSession) {
      const created = await http.send(path, { method: 'POST', json: {}, ...abort });
      const error = created.ok ? undefined : await toServerError(created);
      // Another page, or an attempt whose answer was lost, may have created it.
      if (error && error.serverCode !== 'SESSION_ALREADY_EXISTS') throw error;
      this.#needsSession = false;
    }
    const response =
      body && this.#lastEventId === '0'
        ? await http.send('/run_sse', { method: 'POST', json: body, headers: { 'eventloom-event-ids': '1' }, ...abort })
        : await http.send(this.#address(), { headers: { 'last-event-id': this.#lastEventId }, ...abort });
    this.#invocationId = response.headers.get('eventloom-invocation-id') ?? this.#invocationId;
    return response;
  }

  #address(): string {
    return `${this.#params.path}/runs/${encodeURIComponent(this.#invocationId ?? this.id)}`;
  }
}

/**
 * The codes of a stream that ends before its run: the run continues in another process or when the storage is available again, or this
 * client was too slow. The error that ended a run has a number.
 */
const RUN_CONTINUES = /RUN_GOES_ON|NOT_BEGUN|SLOW_READER/;

/** Returns the event or the error of a frame; an error also for a frame that is not an event of Eventloom. */
function readFrame({ data }: Frame): Event | ServerError {
  const event = parseRecord(data);
  if (isEvent(event)) return event;
  return errorIn(data) ?? new ServerError(notEventloom('event'));
}

function isEvent(value: unknown): value is Event {
  return isRecord(value) && typeof value['id'] === 'string' && isRecord(value['actions']);
}
