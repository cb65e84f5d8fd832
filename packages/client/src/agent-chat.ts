import type { Event } from '@eventloom/core';
import type { ClientRun, RunOptions } from './client-run.ts';
import { type Conversation, emptyConversation, endRun, type PersonRequest, reduceEvents } from './conversation.ts';
import { ServerError } from './errors.ts';
import { checkOptions, isRecord, newId, wrongValue } from './http.ts';
import type { ClientSession } from './eventloom-client.ts';
import { answerPart, type ClientMessage, messageEvent, type PersonAnswer, toContent } from './messages.ts';

/** The state of an `AgentChat` at one moment: a new object after each change. */
export interface ChatSnapshot {
  readonly conversation: Conversation;
  /** The events of the session, and those of later runs, oldest first and without chunks. The conversation is computed from them. */
  readonly events: readonly Event[];
  /** `loading`: the session is being read. `running`: a run is in progress. `reconnecting`: the connection to it was lost. */
  readonly status: 'loading' | 'idle' | 'running' | 'reconnecting';
  /** Error of the last action; undefined once the next action has begun. */
  readonly error: Error | undefined;
}

/** Options of an `AgentChat`. */
export interface AgentChatOptions {
  /** Options for all runs of the chat. Default: those of `RunOptions`. */
  readonly run?: Pick<RunOptions, 'streaming' | 'customMetadata' | 'onBusy'>;
  /**
   * True creates the session before the first message if it does not exist. Default false, which needs a runner with `autoCreateSession`.
   */
  readonly createSession?: boolean;
  /** Called with each event, chunks included, before the snapshot changes. Default: not called. */
  readonly onEvent?: (event: Event) => void;
}

/**
 * The state of a chat with an agent, for a user interface of any library: it reads the session, follows a run that is in progress, sends
 * messages and answers, and calls its subscribers after each change. `useAgent` of `@eventloom/client/react` uses it.
 *
 * @example
 * const chat = new AgentChat(client.session({ appName: 'demo', userId: 'ann', sessionId: 'first' }));
 * chat.subscribe(() => render(chat.snapshot));
 * await chat.load();
 * await chat.send('Hello');
 */
export class AgentChat {
  readonly session: ClientSession;
  readonly #options: AgentChatOptions;
  readonly #listeners = new Set<() => void>();
  #snapshot: ChatSnapshot = { conversation: emptyConversation, events: [], status: 'idle', error: undefined };
  /** The run that is read. */
  #run: ClientRun | undefined;
  #reading: AbortController | undefined;
  /** True until the session is known to exist. */
  #isMissing = true;

  /** @throws ConfigurationError for a value that is not a session, and for an unknown option */
  constructor(session: ClientSession, options: AgentChatOptions = {}) {
    const example = 'new AgentChat(client.session({ appName, userId, sessionId }))';
    checkOptions('AgentChat', options, example, ['run', 'createSession', 'onEvent']);
    if (!isRecord(session)) throw wrongValue('AgentChat', 'a session', session, example);
    this.session = session;
    this.#options = options;
  }

  get snapshot(): ChatSnapshot {
    return this.#snapshot;
  }

  /** Calls a function after each change. Returns the function that ends this. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Reads the session, and follows its newest run if that is in progress. A session that does not exist is shown as empty. Resolves when
   * the run has ended.
   */
  async load(): Promise<void> {
    await this.#do('loading', async (signal) => {
      const session = await this.session.get({ ifExists: true });
      if (signal.aborted) return;
      this.#isMissing = !session;
      const events = session?.events ?? [];
      // The present state: other sessions and requests write it too, without an event of this session.
      this.#set({ events, conversation: { ...reduceEvents(emptyConversation, events), state: session?.state ?? {} } });
      const newest = events.at(-1)?.invocationId;
      if (!newest) return;
      // The newest event may not belong to a run, if a client imported the session.
      const run = await this.session.follow(newest).state({ ifExists: true });
      if (run?.state === 'running' || run?.state === 'queued')
        await this.#read(signal, (options) => this.session.follow(newest, options));
    });
  }

  /**
   * Sends a message of the user, shows it at once, and resolves when the run has ended. A failure is in `snapshot.error`. Answers to requests are
   * shown when the server has accepted them: after a refusal the requests still wait, and can be answered again.
   */
  async send(message: ClientMessage): Promise<void> {
    const content = toContent(message);
    await this.#do('running', async (signal) => {
      const requestId = newId();
      const sent = messageEvent(requestId, content);
      const before = this.#snapshot;
      // The run yields answers once the server has accepted them: if it refuses them, their requests wait as before.
      if (!content.parts?.[0]?.functionResponse) this.#add(sent);
      if (this.#options.createSession && this.#isMissing) {
        await this.session.create().catch((error: unknown) => {
          // Another page may have created it.
          if (!ServerError.isInstance(error) || error.serverCode !== 'SESSION_ALREADY_EXISTS') throw error;
        });
        this.#isMissing = false;
      }
      await this.#read(
        signal,
        (options) => this.session.run(content, { ...this.#options.run, ...options, requestId }),
        (invocationId = sent.id) => this.#add({ ...sent, invocationId }, before),
      );
    });
  }

  /** Answers one or more requests to the person in one message. Answer requests of the same reply together. Resolves when the run has ended. */
  async answer(...answers: readonly (readonly [request: PersonRequest, answer: PersonAnswer])[]): Promise<void> {
    await this.send(answers.map(([request, answer]) => answerPart(request, answer)));
  }

  /** Ends the run that is in progress. Does nothing if there is none. @throws ServerError */
  async stop(): Promise<void> {
    await this.#run?.cancel();
  }

  /** Takes the session back to before a run, and reads it again. */
  async rewind(invocationId: string): Promise<void> {
    await this.#do('loading', () => this.session.rewind(invocationId).then(() => undefined));
    if (this.#snapshot.error === undefined) await this.load();
  }

  /** Stops reading. A run continues on the server. */
  close(): void {
    this.#reading?.abort();
    this.#reading = undefined;
  }

  async #do(status: ChatSnapshot['status'], action: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#reading?.abort();
    const reading = (this.#reading = new AbortController());
    this.#set({ status, error: undefined });
    let error: Error | undefined;
    try {
      await action(reading.signal);
    } catch (thrown) {
      error = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    // Another action has begun, or the chat was closed.
    if (reading.signal.aborted) return;
    this.#reading = undefined;
    this.#set({ status: 'idle', error });
  }

  /** Reads a run to its end. @param onAccepted called once, when the server has answered, before the first event */
  async #read(
    signal: AbortSignal,
    start: (options: RunOptions) => ClientRun,
    onAccepted?: (invocationId: string | undefined) => void,
  ): Promise<void> {
    const onConnection: RunOptions['onConnection'] = (state) => {
      if (signal.aborted || state === 'closed') return;
      if (state === 'open' && !isOpened) onAccepted?.(run.invocationId);
      this.#set({ status: state === 'connecting' && isOpened ? 'reconnecting' : 'running' });
      isOpened ||= state === 'open';
    };
    let isOpened = false;
    const run = start({ signal, onConnection });
    this.#run = run;
    try {
      for await (const event of run) {
        if (signal.aborted) return;
        this.#options.onEvent?.(event);
        this.#add(event);
      }
    } finally {
      if (!signal.aborted) {
        this.#run = undefined;
        this.#set({ conversation: endRun(this.#snapshot.conversation) });
      }
    }
  }

  /** Adds an event. @param before the conversation to add it to; default: the one that is shown */
  #add(event: Event, { conversation, events }: ChatSnapshot = this.#snapshot): void {
    const next = reduceEvents(conversation, [event]);
    if (next !== conversation) this.#set({ conversation: next, events: event.partial ? events : [...events, event] });
  }

  #set(changes: Partial<ChatSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...changes };
    for (const listener of this.#listeners) listener();
  }
}
