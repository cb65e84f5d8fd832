import { ConfigurationError, type Content, type Event, type SessionKey } from '@eventloom/core';
import { ConnectionLostError, ServerError } from '../errors.ts';
import { checkOptions, errorIn, parseRecord, serverAddress } from '../http.ts';
import { type ClientMessage, toContent } from '../messages.ts';
import { SpeechReader } from './speech-reader.ts';

/** Options of a `LiveCall`. */
export interface LiveCallOptions extends SessionKey {
  /** Address of the server. Default in a browser: the origin of the page. Elsewhere required. */
  readonly baseUrl?: string;
  /** Class that opens the connection. Default: the global `WebSocket`. */
  readonly WebSocket?: typeof WebSocket;
  /** Modality of the model's answers. Default `AUDIO`. */
  readonly modality?: 'AUDIO' | 'TEXT';
  /** True yields the user's speech as text as well, in `inputTranscription`. Default true. */
  readonly inputAudioTranscription?: boolean;
  /** True yields the model's speech as text as well, in `outputTranscription`. Default true. */
  readonly outputAudioTranscription?: boolean;
  /** True saves the audio of both sides as artifacts. Default false. */
  readonly saveLiveBlob?: boolean;
  /**
   * Behaviour while another run of the session is in progress: `queue` (default) waits up to 5 seconds, `reject` ends the call with
   * `SESSION_BUSY`, `interrupt` stops that run.
   */
  readonly onBusy?: 'queue' | 'reject' | 'interrupt';
  /** Further query parameters of `/run_live`, which the server's hook `runConfig` can read. Default: none. */
  readonly query?: Readonly<Record<string, string>>;
  /**
   * WebSocket subprotocols to offer beside `eventloom`, which the server accepts: `bearer.` and a token, because a browser cannot set
   * headers. Default: none.
   */
  readonly protocols?: readonly string[];
}

/** The subprotocol that the server accepts. */
const PROTOCOL = 'eventloom';

/**
 * Close codes of a socket: of a call that ended normally, and of a lost connection, a restart and a full server, after
 * which a call may be repeated.
 */
const ENDED = 1000;
/** The connection was not made, or was lost without a frame of its end. */
const LOST = 1006;
const TRY_AGAIN = new Set([1012, 1013]);

/** A call without a frame for this time, three heartbeats of the server, is lost. In milliseconds. */
const IDLE_MS = 45_000;
/** The server stores the end of a call within this time, in milliseconds. Afterwards nobody waits for it. */
const CLOSE_MS = 2000;

const OPTIONS = [
  'appName',
  'userId',
  'sessionId',
  'baseUrl',
  'WebSocket',
  'modality',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'saveLiveBlob',
  'onBusy',
  'query',
  'protocols',
] as const;

/**
 * A voice call with an agent. Iterating yields the events; `onAudio` gets the model's speech. A lost connection ends the call, also one on
 * which nothing has come for 45 seconds. The conversation is in the session: create another call to continue.
 *
 * @example
 * const call = new LiveCall({ appName: 'demo', userId: 'ann', sessionId: 'first' });
 * call.onAudio = (samples, sampleRate) => player.play(samples, sampleRate);
 * for await (const event of call) show(event);
 */
export class LiveCall implements AsyncIterable<Event> {
  /**
   * Called with the model's speech: 16-bit samples of one channel, and the number of samples a second, 24,000 for most
   * models. Audio that is neither raw nor a WAV file of 16 bits is left out.
   */
  onAudio: ((samples: Int16Array, sampleRate: number) => void) | undefined;
  readonly #address: string;
  readonly #socket: WebSocket;
  #wasOpen = false;
  readonly #opened = Promise.withResolvers<void>();
  readonly #events: Event[] = [];
  #failure: Error | undefined;
  readonly #speech = new SpeechReader();
  /** The audio of the next event. Its media types are in the event. */
  #audio: ArrayBuffer[] = [];
  #isClosed = false;
  /** True once the caller has ended the call. */
  #hasHungUp = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Resolves when the call has another event, or has ended. Undefined while no reader waits. */
  #waiting: PromiseWithResolvers<void> | undefined;

  /** Connects to the server. @throws ConfigurationError for an unknown or invalid option, and if there is no WebSocket */
  constructor(options: LiveCallOptions) {
    checkOptions('LiveCall', options, 'new LiveCall({ appName, userId, sessionId })', OPTIONS);
    const { baseUrl, WebSocket = globalThis.WebSocket } = options;
    if (!WebSocket)
      throw new ConfigurationError(
        'LiveCall: this runtime has no WebSocket; write { WebSocket } with the class of a library such as ws',
      );
    this.#address = `${serverAddress('LiveCall', baseUrl).replace(/^http/, 'ws')}/run_live`;
    const { protocols = [] } = options;
    const offered = protocols.length > 0 ? new Set([PROTOCOL, ...protocols]) : [];
    this.#socket = new WebSocket(`${this.#address}?${queryOf(options).toString()}`, [...offered]);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.addEventListener('open', () => {
      this.#wasOpen = true;
      this.#expect(IDLE_MS);
    });
    this.#socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => this.#receive(data));
    this.#socket.addEventListener('close', ({ code, reason }) => this.#end(code, reason));
  }

  /** Resolves when the server has accepted the call and its session. Never settles if the server refuses it; then iterating throws. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /**
   * Sends speech: 16-bit samples, one channel, 16,000 samples a second. Does nothing before the call is connected and after it has ended.
   * @throws ConfigurationError for other samples
   */
  sendAudio(samples: Int16Array): void {
    if (!(samples instanceof Int16Array))
      throw new ConfigurationError(
        'sendAudio: expected an Int16Array, as openMicrophone gives it; convert the samples',
      );
    // TypeScript before 5.7 knows no other type of samples. Shared memory, which sockets refuse, throws.
    if (this.#isOpen) this.#socket.send(samples as Int16Array<ArrayBuffer>);
  }

  /** Sends an image or other media. @param data base64 */
  sendBlob(mimeType: string, data: string): void {
    this.#send({ blob: { mimeType, data } });
  }

  /** Sends a text, or the answers to calls. The call yields it as an event of the author `user` once the server has accepted it. */
  sendContent(message: ClientMessage): void {
    const content: Content = toContent(message);
    this.#send({ content });
  }

  /** Reports that the user begins to speak. Only if the server's run config disables the automatic detection of speech. */
  sendActivityStart(): void {
    this.#send({ activity_start: {} });
  }

  /** Reports that the user has finished speaking: see `sendActivityStart`. */
  sendActivityEnd(): void {
    this.#send({ activity_end: {} });
  }

  /**
   * Ends the call, for the caller at once: no speech is sent or received afterwards. Events that the server sends
   * within 2 seconds are still yielded. Iterating then ends without an error.
   */
  close(): void {
    if (this.#hasHungUp) return;
    const wasOpen = this.#isOpen;
    if (wasOpen) this.#send({ close: true });
    this.#hasHungUp = true;
    if (wasOpen) this.#expect(CLOSE_MS);
    else this.#socket.close();
  }

  /** Yields the events of the call. @throws ServerError if the server refuses or ends the call @throws ConnectionLostError */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    try {
      for (;;) {
        yield* this.#events.splice(0);
        if (this.#events.length > 0) continue;
        if (this.#isClosed) break;
        this.#waiting ??= Promise.withResolvers();
        await this.#waiting.promise;
      }
      if (this.#failure) throw this.#failure;
    } finally {
      this.#end(ENDED, '');
    }
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === 1 && !this.#hasHungUp;
  }

  /** Ends the call if nothing comes in this time. A socket whose network is gone reports nothing for minutes. */
  #expect(timeMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#end(LOST, ''), timeMs);
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #send(frame: object): void {
    if (!this.#isOpen)
      throw new ConnectionLostError('the call is not open; await call.opened before the first message');
    this.#socket.send(JSON.stringify(frame));
  }

  #receive(data: unknown): void {
    if (!this.#hasHungUp) this.#expect(IDLE_MS);
    if (data instanceof ArrayBuffer) return void this.#audio.push(data);
    const text = typeof data === 'string' ? data : '';
    const frame = parseRecord(text);
    if (!frame) return this.#fail(new ServerError('the server sent a frame that is not an event'));
    const error = errorIn(text);
    if (error) return this.#fail(error);
    // The server sends a ping when the call has its session.
    this.#opened.resolve();
    if ('ping' in frame) return this.#socket.send(JSON.stringify({ pong: frame['ping'] }));
    const event = frame as unknown as Event;
    this.#hear(event);
    // What the model said before belongs to no speech after it.
    if (event.interrupted) this.#speech.clear();
    this.#events.push(event);
    this.#wake();
  }

  /** Passes on the audio that came before its event, which has a part for each piece. */
  #hear({ content }: Event): void {
    const pieces = this.#audio;
    this.#audio = [];
    if (this.#hasHungUp) return;
    const types = content?.parts?.flatMap(({ inlineData }) =>
      inlineData?.mimeType?.startsWith('audio/') && inlineData.data === undefined ? inlineData.mimeType : [],
    );
    try {
      for (const [index, piece] of pieces.entries()) {
        const speech = this.#speech.read(piece, types?.[index] ?? '');
        if (speech) this.onAudio?.(speech.samples, speech.sampleRate);
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new TypeError(String(error)));
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#end(ENDED, '');
  }

  #end(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket.close();
    if (code !== ENDED && !this.#hasHungUp && !this.#failure) {
      const message = `the call ended with ${code}${reason === '' ? '' : `: ${reason}`}`;
      if (code === LOST && !this.#wasOpen)
        this.#failure = new ConnectionLostError(
          `no answer from ${this.#address}; does the server run, and has it the option live: liveEndpoint()?`,
        );
      else if (code === LOST)
        this.#failure = new ConnectionLostError('the connection of the call was lost; open another one to continue');
      else
        this.#failure = TRY_AGAIN.has(code)
          ? new ConnectionLostError(`${message}; open another one to continue`)
          : new ServerError(message);
    }
    this.#wake();
  }
}

function queryOf(options: LiveCallOptions): URLSearchParams {
  const {
    appName,
    userId,
    sessionId,
    modality,
    onBusy,
    inputAudioTranscription,
    outputAudioTranscription,
    saveLiveBlob,
    query,
  } = options;
  const flags = {
    input_audio_transcription: inputAudioTranscription,
    output_audio_transcription: outputAudioTranscription,
    save_live_blob: saveLiveBlob,
  };
  const named = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return new URLSearchParams({
    ...query,
    app_name: appName,
    user_id: userId,
    session_id: sessionId,
    audio: 'binary',
    ping: 'text',
    own_messages: 'true',
    ...(modality === undefined ? {} : { modalities: modality }),
    ...(onBusy === undefined ? {} : { on_busy: onBusy }),
    ...Object.fromEntries(named),
  });
}
