import { type Event, EventloomError, type Session } from '@eventloom/core';
import type { ClientRun, RunOptions } from '../client-run.ts';
import {
  type Conversation,
  emptyConversation,
  endRun,
  type Message,
  type PersonRequest,
  reduceEvents,
} from '../conversation.ts';
import { checkOptions, isRecord, newId, wrongValue } from '../http.ts';
import { ServerError } from '../errors.ts';
import type { ClientSession } from '../eventloom-client.ts';
import { answerPart, type ClientMessage, messageEvent, type PersonAnswer, toContent } from '../messages.ts';

/** The state of an `AgentChat` at one moment: a new object after each change. */
export interface ChatSnapshot {
  readonly conversation: Conversation;
  /**
   * The events of the session, and those of later runs, oldest first and without chunks. The conversation is computed
   * from them, and has also the messages that could not be sent, until the session is read again.
   */
  readonly events: readonly Event[];
  /**
   * `loading`: the session is being read. `running`: a run is in progress. `reconnecting`: the connection to it was
   * lost, or its message has not reached the server yet.
   */
  readonly status: 'loading' | 'idle' | 'running' | 'reconnecting';
  /** Error of the last action; undefined once the next action has begun. */
  readonly error: Error | undefined;
  /**
   * Subject of `error`; undefined without an error. `run`: a message could not be sent, or its run failed. `session`:
   * the session could not be read or rewound, which says nothing about its runs.
   */
  readonly failed: 'run' | 'session' | undefined;
  /** Ids of the requests whose answers the server has neither accepted nor refused yet. */
  readonly answering: ReadonlySet<string>;
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
 * import { EventloomClient } from '@eventloom/client';
 * import { AgentChat } from '@eventloom/client/chat';
 *
 * const client = new EventloomClient();
 * const chat = new AgentChat(client.session({ appName: 'demo', userId: 'ann', sessionId: 'first' }));
 * chat.subscribe(() => render(chat.snapshot));
 * await chat.load();
 * await chat.send('Hello');
 */
export class AgentChat {
  readonly session: ClientSession;
  readonly #options: AgentChatOptions;
  readonly #listeners = new Set<() => void>();
  #snapshot: ChatSnapshot = {
    conversation: emptyConversation,
    events: [],
    status: 'idle',
    error: undefined,
    failed: undefined,
    answering: new Set(),
  };
  /** The runs that are read. */
  readonly #runs = new Set<ClientRun>();
  #reading: AbortController | undefined;
  /** Number of actions in progress. */
  #actions = 0;
  /** Number of the newest action, from 1. */
  #newest = 0;
  /** Resolves when the session has been read or rewound; undefined if neither is in progress. */
  #loaded: Promise<void> | undefined;
  /** True if the session is known to exist. */
  #exists = false;
  /** The session as it was read last; undefined before, and if it does not exist. */
  #stored: StoredConversation | undefined;
  /** True if the session could not be read when it was to be: it is read before the next message is sent. */
  #isUnread = false;
  /** The answers that the server has neither accepted nor refused, by the ids of their requests: each resolves when its run has ended. */
  readonly #answers = new Map<string, Promise<void>>();
  /** Resolves when the server has accepted or refused the newest message; undefined afterwards. */
  #sent: Promise<void> | undefined;

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
   * Reads the session once the messages before have been sent, or after 5 seconds, and follows its newest run if that is in progress.
   * A session that does not exist is shown as empty. After the first time only the newest 50 events are read if they continue those that
   * were read before: a session that was deleted and created again with the same newest 50 events keeps its older ones. Resolves when the
   * run has ended.
   */
  async load(): Promise<void> {
    await this.#do('loading', async (signal) => {
      await this.#holdMessages(this.#readSession(signal));
      await this.#followNewest(signal);
    });
  }

  /**
   * Reads the session again if it has events that the chat does not show, because another page or program wrote them, or if it was deleted.
   * Does nothing while the session or a run is read, and if the server cannot be asked.
   */
  async refresh(): Promise<void> {
    if (this.#actions > 0) return;
    let session: Session | undefined;
    try {
      session = await this.session.get({ ifExists: true, numRecentEvents: MAX_COMPARED });
    } catch {
      // The page shows what it has. The next action reports that the server cannot be reached.
      return;
    }
    if (this.#actions > 0 || (!session && !this.#exists)) return;
    const events = session?.events ?? [];
    const known = this.#stored?.events ?? [];
    const read = endOfKnown(known, events);
    const isUnread = read < 0 && (known.length > 0 || events.length === MAX_COMPARED);
    if (!session || isUnread || !this.#hasNewest(events) || !this.#shows(events.slice(read + 1))) await this.load();
  }

  /** True if the newest event of the chat is one of these, the newest of the session. */
  #hasNewest(stored: readonly Event[]): boolean {
    const newest = this.#snapshot.events.at(-1)?.id;
    return newest === undefined || stored.some(({ id, requestId }) => newest === id || newest === `local-${requestId}`);
  }

  /** True if the chat has all of these stored events. Its runs do not stream all of theirs, of which only the newest is compared. */
  #shows(stored: readonly Event[]): boolean {
    const { events } = this.#snapshot;
    const ids = new Set(events.map(({ id }) => id));
    const runs = new Set(events.map(({ invocationId }) => invocationId));
    return stored.every(({ id, author, invocationId, requestId }, at) => {
      if (ids.has(id)) return true;
      return author === 'user' ? ids.has(`local-${requestId}`) : runs.has(invocationId) && at < stored.length - 1;
    });
  }

  /**
   * Reads the session once the messages before have been sent, or after 5 seconds.
   * @param isWanted called with the new conversation; false leaves the snapshot as it is
   */
  async #readSession(signal: AbortSignal, isWanted: (now: Conversation) => boolean = () => true): Promise<boolean> {
    if (this.#sent) {
      const { promise: waited, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, MAX_WAIT_MS);
      await Promise.race([this.#sent, waited]);
      clearTimeout(timer);
    }
    this.#isUnread = true;
    const stored = await this.#readStored(signal);
    if (signal.aborted) return false;
    this.#isUnread = false;
    const { events, conversation } = stored ?? { events: [], conversation: emptyConversation };
    if (!isWanted(conversation)) return false;
    this.#exists = stored !== undefined;
    this.#stored = stored;
    this.#set({ events, conversation });
    return true;
  }

  /** Reads the session, after the first time only its newest events, if they follow those that were read. */
  async #readStored(signal: AbortSignal): Promise<StoredConversation | undefined> {
    const known = this.#stored;
    let session = await this.#getSession(signal, known && MAX_COMPARED);
    const at = known && session ? endOfKnown(known.events, session.events) : -1;
    if (known && session && at >= 0) {
      const newer = session.events.slice(at + 1);
      const conversation = { ...reduceEvents(known.conversation, newer), state: session.state };
      return { events: [...known.events, ...newer], conversation };
    }
    if (known && session) session = await this.#getSession(signal);
    if (!session) return undefined;
    const { events, state } = session;
    // The present state: other sessions and requests write it too, without an event of this session.
    return { events, conversation: { ...reduceEvents(emptyConversation, events), state } };
  }

  /** Reads the session, and tries again after lost connections and answers that ask for it. */
  async #getSession(signal: AbortSignal, numRecentEvents?: number): Promise<Session | undefined> {
    for (let delayMs = FIRST_DELAY_MS; ; delayMs *= 4) {
      try {
        return await this.session.get({ ifExists: true, ...(numRecentEvents && { numRecentEvents }) });
      } catch (error) {
        const isTemporary = EventloomError.isInstance(error) && error.retryable;
        if (!isTemporary || delayMs > MAX_DELAY_MS || signal.aborted) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }

  /** Reads the session if one of these requests, whose answers were refused, no longer waits. @returns true if it does not */
  async #readIfAnswered(signal: AbortSignal, ids: readonly string[]): Promise<boolean> {
    const hasAnswer = ({ requests }: Conversation): boolean =>
      !ids.every((id) => requests.some((request) => request.id === id));
    // The refusal is the error to show, also if the session cannot be read.
    return ids.length > 0 && this.#readSession(signal, hasAnswer).catch(() => false);
  }

  /** Reads the run of the newest event, if it is in progress. */
  async #followNewest(signal: AbortSignal): Promise<void> {
    const newest = this.#snapshot.events.at(-1)?.invocationId;
    if (signal.aborted || !newest) return;
    // The newest event may not belong to a run, if a client imported the session.
    const run = await this.session.follow(newest).state({ ifExists: true });
    if (run?.state === 'running' || run?.state === 'queued')
      await this.#read(signal, (options) => this.session.follow(newest, options));
  }

  /**
   * Sends a message of the user, shows it at once, and resolves when the run has ended. While the session is read, the
   * message waits for that. While another run is in progress, both are read, and `run.onBusy` decides about the other
   * one. A failure is in `snapshot.error`, and a message that the server did not accept has the status `failed`.
   * Answers to requests are shown when the server has accepted them: after a refusal the requests still wait, and can
   * be answered again. If they do not, because somebody else has answered them, the session is read again.
   */
  async send(message: ClientMessage): Promise<void> {
    const content = toContent(message);
    const answered = content.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#sent;
    this.#sent = promise;
    const settle = (): void => {
      resolve();
      if (this.#sent === promise) this.#sent = undefined;
      if (answered.some((id) => this.#answers.delete(id))) this.#set({ answering: new Set(this.#answers.keys()) });
    };
    const send = async (signal: AbortSignal): Promise<void> => {
      if (this.#loaded) await this.#loaded;
      if (this.#isUnread && !before) await this.#readSession(signal).catch(ignore);
      const requestId = newId();
      const sent = messageEvent(requestId, content);
      // The run yields answers once the server has accepted them: if it refuses them, their requests wait as before.
      if (!content.parts?.[0]?.functionResponse) this.#add(sent, 'sending');
      if (before) await before;
      const createSession = this.#options.createSession === true && !this.#exists;
      let status: Message['status'] = 'failed';
      try {
        await this.#read(
          signal,
          (options) => this.session.run(content, { ...this.#options.run, ...options, requestId, createSession }),
          (invocationId = sent.id) => {
            this.#exists = true;
            status = 'complete';
            this.#changeMessage(sent.id, { invocationId, status });
            settle();
          },
        );
      } finally {
        if (status === 'failed') this.#changeMessage(sent.id, { status });
      }
    };
    const sendOrRead = async (signal: AbortSignal): Promise<void> => {
      try {
        await send(signal).finally(settle);
      } catch (error) {
        // Somebody has deleted it: `createSession` creates it for the next message.
        if (ServerError.isInstance(error) && error.serverCode === 'SESSION_NOT_FOUND') this.#exists = false;
        if (!signal.aborted && ServerError.isInstance(error) && (await this.#readIfAnswered(signal, answered))) {
          this.#set({ error, failed: 'run' });
          await this.#followNewest(signal);
        }
        throw error;
      }
    };
    await this.#do('running', sendOrRead, true);
  }

  /** Notes the run of a message, which is known when the server has accepted it, or that the message failed: it is no event then. */
  #changeMessage(id: string, change: Partial<Pick<Message, 'invocationId' | 'status'>>): void {
    const changed = <T extends { readonly id: string }>(each: T): T => (each.id === id ? { ...each, ...change } : each);
    const { events, conversation } = this.#snapshot;
    const { invocationId } = change;
    this.#set({
      events: invocationId
        ? events.map((event) => (event.id === id ? { ...event, invocationId } : event))
        : events.filter((event) => event.id !== id),
      conversation: { ...conversation, messages: conversation.messages.map(changed) },
    });
  }

  /** Removes a message with the status `failed`, for example before its text is sent again. Does nothing for other messages. */
  discard(id: string): void {
    const { conversation } = this.#snapshot;
    const messages = conversation.messages.filter((message) => message.id !== id || message.status !== 'failed');
    this.#set({ conversation: { ...conversation, messages } });
  }

  /**
   * Answers one or more requests to the person in one message. Answer requests of the same reply together. Resolves
   * when the run has ended. An answer to a request whose answer is being sent is not sent: see `answering`.
   * @throws ConfigurationError for an answer whose `kind` is not that of its request: nothing is sent
   */
  async answer(...answers: readonly (readonly [request: PersonRequest, answer: PersonAnswer])[]): Promise<void> {
    const earlier = answers.flatMap(([{ id }]) => this.#answers.get(id) ?? []);
    const further = answers.filter(([{ id }]) => !this.#answers.has(id));
    if (further.length > 0) {
      const sending = this.send(further.map(([request, answer]) => answerPart(request, answer)));
      for (const [{ id }] of further) this.#answers.set(id, sending);
      this.#set({ answering: new Set(this.#answers.keys()) });
      earlier.push(sending);
    }
    await Promise.all(earlier);
  }

  /** Ends the runs that are in progress, also those whose message is being sent. Does nothing if there is none. @throws ServerError */
  async stop(): Promise<void> {
    const stopped = [...this.#runs].reverse();
    // The newest first, because a message that is queued would begin when the run before it ends.
    for (const run of stopped) await run.cancel();
    // A run that began to wait at this moment had ended for its reader, and its requests were then cancelled.
    const { requests } = this.#snapshot.conversation;
    if (requests.some((request) => stopped.some(({ invocationId }) => invocationId === request.invocationId)))
      await this.load();
  }

  /** Takes the session back to before a run, and reads it again. */
  async rewind(invocationId: string): Promise<void> {
    await this.#do('loading', async () => void (await this.#holdMessages(this.session.rewind(invocationId))));
    if (this.#snapshot.error === undefined) await this.load();
  }

  /** Messages wait until the request has been answered. */
  async #holdMessages<T>(request: Promise<T>): Promise<T> {
    const answered = request.then(ignore, ignore);
    this.#loaded = answered;
    try {
      return await request;
    } finally {
      if (this.#loaded === answered) this.#loaded = undefined;
    }
  }

  /** Stops reading. A run continues on the server, and a message is sent to its end. */
  close(): void {
    this.#leave();
    if (this.#snapshot.status !== 'idle') this.#set({ status: 'idle' });
  }

  #leave(): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#actions = 0;
    this.#runs.clear();
  }

  /** @param isFurther true for an action that does not end the others */
  async #do(
    status: ChatSnapshot['status'],
    action: (signal: AbortSignal) => Promise<void>,
    isFurther = false,
  ): Promise<void> {
    if (!isFurther) this.#leave();
    const { signal } = (this.#reading ??= new AbortController());
    this.#actions++;
    const number = ++this.#newest;
    this.#set({ status, error: undefined, failed: undefined });
    try {
      await action(signal);
    } catch (thrown) {
      // A message that cannot be sent is an error also if nobody waits for its run. A later message may have interrupted the run.
      const isInterrupted = this.#options.run?.onBusy === 'interrupt' && number < this.#newest && hasEnded(thrown);
      if (thrown !== signal.reason && !isInterrupted)
        this.#set({
          error: thrown instanceof Error ? thrown : new Error(String(thrown)),
          failed: status === 'loading' && this.#snapshot.status === 'loading' ? 'session' : 'run',
        });
    }
    // Another action has begun, or the chat was closed.
    if (signal.aborted || --this.#actions > 0) return;
    this.#reading = undefined;
    this.#set({ status: 'idle' });
  }

  /** Reads a run to its end. @param onAccepted called once, when the server has answered, before the first event */
  async #read(
    signal: AbortSignal,
    start: (options: RunOptions) => ClientRun,
    onAccepted?: (invocationId: string | undefined) => void,
  ): Promise<void> {
    const leaving = new AbortController();
    // The outcome of a message that is being sent is awaited, although its run will not be read.
    const leave = (): void => {
      if (signal.aborted && (isOpened || !onAccepted)) leaving.abort(signal.reason);
    };
    const onConnection: RunOptions['onConnection'] = (state) => {
      if (state === 'open' && !isOpened) onAccepted?.(run.invocationId);
      isOpened ||= state === 'open';
      leave();
      if (state === 'connecting') attempts++;
      if (!signal.aborted && state !== 'closed')
        this.#set({ status: state === 'connecting' && attempts > 1 ? 'reconnecting' : 'running' });
    };
    let isOpened = false;
    let attempts = 0;
    signal.addEventListener('abort', leave);
    const run = start({ signal: leaving.signal, onConnection });
    if (!signal.aborted) this.#runs.add(run);
    try {
      for await (const event of run) {
        if (signal.aborted) return;
        this.#options.onEvent?.(event);
        this.#add(event);
      }
    } finally {
      this.#runs.delete(run);
      if (!signal.aborted && this.#runs.size === 0) this.#set({ conversation: endRun(this.#snapshot.conversation) });
    }
  }

  /** @param status status of the message in the event; default: that of `reduceEvents` */
  #add(event: Event, status?: Message['status']): void {
    const { conversation, events } = this.#snapshot;
    let next = reduceEvents(conversation, [event]);
    if (status)
      next = { ...next, messages: next.messages.map((each) => (each.id === event.id ? { ...each, status } : each)) };
    if (next !== conversation) this.#set({ conversation: next, events: event.partial ? events : [...events, event] });
  }

  #set(changes: Partial<ChatSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

/** The events of a session, as they were read, and what they say. */
interface StoredConversation {
  readonly events: readonly Event[];
  readonly conversation: Conversation;
}

/**
 * Returns the index of the last known event among the newest ones of the session. Returns -1 if it is not there, or if
 * others are before it: then the session may have been deleted, and created again with some of its events.
 */
function endOfKnown(known: readonly Event[], newest: readonly Event[]): number {
  const last = known.at(-1)?.id;
  const at = newest.findLastIndex(({ id }) => id === last);
  const before = newest.length < MAX_COMPARED ? known : known.slice(-1 - at);
  return JSON.stringify(before) === JSON.stringify(newest.slice(0, at + 1)) ? at : -1;
}

/** Maximum number of events that are compared with the known ones. */
const MAX_COMPARED = 50;
/** The delay before the session is read again, in milliseconds. It grows four times with each attempt. */
const FIRST_DELAY_MS = 250;
/** Maximum delay of the last attempt. */
const MAX_DELAY_MS = 4000;
/**
 * Maximum time that a load waits for a message that is being sent: the server may never answer it, or queue it for
 * long. In milliseconds.
 */
const MAX_WAIT_MS = 5000;

const ignore = (): void => undefined;

/** True for the error of a run that was stopped, or that a later message interrupted. */
function hasEnded(error: unknown): boolean {
  return ServerError.isInstance(error) && /^RUN_(ABORTED|ABANDONED)$/.test(error.serverCode);
}
