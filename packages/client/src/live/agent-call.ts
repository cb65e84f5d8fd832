import type { Event } from '@eventloom/core';
import { type Conversation, emptyConversation, endRun, type PersonRequest, reduceEvents } from '../conversation.ts';
import { ConnectionLostError, ServerError } from '../errors.ts';
import type { ClientSession } from '../eventloom-client.ts';
import { checkOptions, delayAfter, isRecord, pause, type ReconnectOptions, wrongValue } from '../http.ts';
import { answerPart, type ClientMessage, type PersonAnswer } from '../messages.ts';
import type { LiveCall } from './live-call.ts';

/** The state of an `AgentCall` at one moment: a new object after each change. */
export interface CallSnapshot {
  /** The conversation of the session, with what both sides have said in the call so far. */
  readonly conversation: Conversation;
  /** `reconnecting`: the connection was lost, and the call is being opened again. `ended` is final. */
  readonly status: 'connecting' | 'open' | 'reconnecting' | 'ended';
  /** The error that ended the call, or that of the last reading of the session; undefined without one. */
  readonly error: Error | undefined;
}

/** Options of an `AgentCall`. */
export interface AgentCallOptions {
  /** Opens a call in the session. Called at the beginning and after each lost connection, so that it can use a new token. */
  readonly connect: () => LiveCall;
  /** Called with each event of the call, before the snapshot changes. Default: not called. */
  readonly onEvent?: (event: Event) => void;
  /** Attempts in a row to open the call, and the delays between them. Default: those of `ClientOptions.retry`. */
  readonly retry?: Pick<ReconnectOptions, 'attempts' | 'firstDelayMs' | 'maxDelayMs'>;
}

/**
 * A voice call for a user interface of any library. It is opened again when its connection is lost, until it is closed or the server
 * refuses it. The microphone and the player stay open meanwhile; speech of that time is not sent. Each time that the call is open, the
 * session is read, which has the end of what was lost.
 *
 * @example
 * const call = new AgentCall(session, { connect: () => new LiveCall(session.key) });
 * call.onAudio = (samples, sampleRate) => player.play(samples, sampleRate);
 * const microphone = await openMicrophone({ onAudio: (samples) => call.sendAudio(samples) });
 * call.subscribe(() => render(call.snapshot));
 * await call.ended;
 * await microphone.close();
 */
export class AgentCall {
  readonly session: ClientSession;
  /** Called with the model's speech: see `LiveCall`. */
  onAudio: LiveCall['onAudio'];
  /** Resolves when the call has ended. Never rejects: see `snapshot.error`. */
  readonly ended: Promise<void>;
  readonly #options: AgentCallOptions;
  readonly #listeners = new Set<() => void>();
  readonly #leaving = new AbortController();
  #snapshot: CallSnapshot = { conversation: emptyConversation, status: 'connecting', error: undefined };
  #call: LiveCall | undefined;
  /** Number of attempts in a row that did not open a call. */
  #failures = 0;
  /** True once the call was open, or a connection was lost: the server may still keep that, and the session with it. */
  #mayBeKept = false;

  /** Opens the call. @throws ConfigurationError for an invalid or unknown option */
  constructor(session: ClientSession, options: AgentCallOptions) {
    const example = 'new AgentCall(session, { connect: () => new LiveCall(session.key) })';
    checkOptions('AgentCall', options, example, ['connect', 'onEvent', 'retry']);
    if (!isRecord(session)) throw wrongValue('AgentCall', 'a session', session, example);
    if (typeof options.connect !== 'function')
      throw wrongValue('AgentCall: connect', 'a function', options.connect, example);
    this.session = session;
    this.#options = options;
    this.ended = this.#run();
  }

  get snapshot(): CallSnapshot {
    return this.#snapshot;
  }

  /** Calls a function after each change. Returns the function that ends this. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Sends speech: see `LiveCall.sendAudio`. Does nothing while the call is not open. */
  sendAudio(samples: Int16Array): void {
    this.#call?.sendAudio(samples);
  }

  /**
   * Sends a text, or parts such as an image. It is shown once the server has accepted it. What the server has not accepted when the
   * connection is lost is not sent again, and is never shown.
   * @throws ConnectionLostError while the call is not open
   */
  send(message: ClientMessage): void {
    if (!this.#call) throw new ConnectionLostError('the call is not open; wait until its status is open');
    this.#call.sendContent(message);
  }

  /**
   * Answers a request to the person. It is shown as answered once the server has accepted the answer.
   * @throws ConnectionLostError while the call is not open
   * @throws ConfigurationError for an answer whose `kind` is not that of its request
   */
  answer(request: PersonRequest, answer: PersonAnswer): void {
    this.send([answerPart(request, answer)]);
  }

  /** Ends the call: see `LiveCall.close`. Does nothing for a call that has ended. */
  close(): void {
    this.#leaving.abort();
    this.#call?.close();
  }

  async #run(): Promise<void> {
    const { attempts = 12, firstDelayMs = 250, maxDelayMs = 10_000 } = this.#options.retry ?? {};
    const { signal } = this.#leaving;
    let error: Error | undefined;
    // The caller subscribes first.
    await Promise.resolve();
    while (!signal.aborted) {
      try {
        await this.#read(this.#options.connect());
        break;
      } catch (thrown) {
        error = thrown instanceof Error ? thrown : new Error(String(thrown));
        this.#mayBeKept ||= ConnectionLostError.isInstance(error);
        if (!this.#mayBeOpenedAgain(error) || ++this.#failures >= attempts) break;
      }
      if (this.#snapshot.status === 'open') this.#set({ status: 'reconnecting' });
      await pause(delayAfter(this.#failures, firstDelayMs, maxDelayMs), signal);
      error = undefined;
    }
    this.#set({ status: 'ended', error, conversation: endRun(this.#snapshot.conversation) });
  }

  /** True for a lost connection, a server that restarts, and a session that the server still keeps for a connection that was lost. */
  #mayBeOpenedAgain(error: Error): boolean {
    if (!ServerError.isInstance(error)) return ConnectionLostError.isInstance(error);
    const { serverCode } = error;
    return TEMPORARY.test(serverCode) || (serverCode === 'SESSION_BUSY' && this.#mayBeKept);
  }

  /** Reads a call to its end. */
  async #read(call: LiveCall): Promise<void> {
    /** The events of the call until the session has been read. */
    let unread: Event[] | undefined = [];
    const load = async (): Promise<void> => {
      this.#failures = 0;
      this.#mayBeKept = true;
      this.#call = call;
      this.#set({ status: 'open', error: undefined });
      try {
        const session = await this.session.get({ ifExists: true });
        const stored = reduceEvents(emptyConversation, session?.events ?? []);
        const conversation = reduceEvents({ ...stored, state: session?.state ?? {} }, unread ?? []);
        if (this.#call === call) this.#set({ conversation });
      } catch (error) {
        if (this.#call === call) this.#set({ error: error instanceof Error ? error : new Error(String(error)) });
      }
      unread = undefined;
    };
    call.onAudio = (samples, sampleRate) => this.onAudio?.(samples, sampleRate);
    void call.opened.then(load);
    const { signal } = this.#leaving;
    const leave = (): void => call.close();
    signal.addEventListener('abort', leave);
    try {
      for await (const event of call) {
        unread?.push(event);
        this.#options.onEvent?.(event);
        this.#set({ conversation: reduceEvents(this.#snapshot.conversation, [event]) });
      }
    } finally {
      signal.removeEventListener('abort', leave);
      this.#call = undefined;
    }
  }

  #set(changes: Partial<CallSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

/** The codes of errors after which a call can be opened again: the server restarts or has no room, or its storage does not answer. */
const TEMPORARY = /^(SHUTTING_DOWN|SERVER_BUSY|STORAGE_UNAVAILABLE)$/;
