import {
  createEventActions,
  type Event,
  type EventParams,
  InvalidEventError,
  type InvocationContext,
  type MaybePromise,
  ObjectType,
  type Platform,
  type RunConfig,
  StreamingMode,
} from '@eventloom/core';
import {
  checkEventFields,
  fillKind,
  isBookkeeping,
  isYieldedAgain,
  toSeconds,
  toStreamedRecord,
} from '@eventloom/core/internal';
import { UnfinishedTexts } from './unfinished-texts.ts';

/** Stores committed events: those of a run in its session, those of a sub-invocation there and in its own view of the session. */
export interface EventSink {
  /** Stores a complete event. Returns it as it was stored. */
  append(event: Event): MaybePromise<Event>;
}

/**
 * Completes the events of a run, or of a sub-invocation, and gives those that are stored to its EventSink.
 *
 * | method        | event                                      | completes | asks plugins | stores               |
 * | ------------- | ------------------------------------------ | --------- | ------------ | -------------------- |
 * | `commit`      | of an agent                                | yes       | yes          | unless only streamed |
 * | `commitChunk` | a chunk of an agent, with no plugin to ask | yes       | no           | no                   |
 * | `appendNew`   | made here, of the runtime                  | yes       | no           | yes                  |
 */
export class EventCommitter {
  /** The author of events that name none: the agent that the run starts with. */
  agentName: string;
  readonly #context: InvocationContext;
  readonly #sink: EventSink;
  readonly #config: RunConfig;
  readonly #platform: Platform;
  readonly #invocationId: string;
  /** True if plugins are asked about each event. */
  readonly asksPlugins: boolean;
  readonly #isStamped: boolean;
  /** True if readers get chunks, and an abort stores the text of those that came. */
  readonly #keepsChunks: boolean;
  /** Undefined before the first chunk. */
  #texts: UnfinishedTexts | undefined;

  constructor(context: InvocationContext, sink: EventSink) {
    this.#context = context;
    this.#sink = sink;
    this.agentName = context.agent.name;
    this.#config = context.runConfig;
    this.#platform = context.platform;
    this.#invocationId = context.invocationId;
    this.asksPlugins = context.plugins.has('onEventCallback');
    this.#keepsChunks = this.#config.streamingMode === StreamingMode.SSE && !context.invocation.live;
    this.#isStamped = this.#config.requestId !== undefined || this.#config.customMetadata !== undefined;
  }

  /**
   * Completes an event, lets the plugins replace it unless it only records agent state, and stores it unless its kind is only
   * streamed. Returns synchronously unless a plugin or the store is asynchronous.
   */
  commit(event: Event): MaybePromise<Event> {
    // Events of sub-invocations are already stored when they pass through the stream of the run.
    if (this.#context.progress.isCommitted(event)) return this.#recordYielded(event);
    const complete = this.complete(event);
    return this.asksPlugins && !isBookkeeping(complete) ? this.#commitAsAsked(complete) : this.#store(complete);
  }

  /** Completes a chunk, which is not stored. For runs without plugins to ask. */
  commitChunk(chunk: Event): Event {
    if (this.#context.progress.isCommitted(chunk)) return chunk;
    const complete = this.complete(chunk);
    if (this.#keepsChunks) this.#unfinishedTexts.keep(complete);
    return complete;
  }

  get #unfinishedTexts(): UnfinishedTexts {
    return (this.#texts ??= new UnfinishedTexts((this.#context.progress.run.openReplies ??= new Set())));
  }

  async #commitAsAsked(event: Event): Promise<Event> {
    const context = this.#context;
    const changed = await context.whileConnected(
      context.plugins.first('onEventCallback', { invocationContext: context, event }),
    );
    return this.#store(changed ? this.complete(withIdentityOf(event, changed)) : event, event);
  }

  /** @param given the event before plugins replaced it */
  #store(event: Event, given: Event = event): MaybePromise<Event> {
    if (event.partial === true) {
      if (this.#keepsChunks) this.#unfinishedTexts.keep(event, given);
      return event;
    }
    if (event.content) this.#texts?.drop(event.branch);
    const isOnlyStreamed =
      event.object === ObjectType.agentTransfer ||
      event.object === ObjectType.runnerCompletion ||
      Boolean(event.nodeEvent) ||
      (this.#context.invocation.live?.isOnlyStreamed(event) === true &&
        !(this.#config.saveLiveModelAudioToSession === true && isModelAudio(event)));
    if (isOnlyStreamed) return event;
    // A transfer takes effect once its event is stored.
    if (event.actions.transferToAgent !== undefined) this.#context.progress.noteTransfer(event);
    return this.#sink.append(event);
  }

  /** Stores a record that the run yields this event of a sub-invocation. Returns the event. */
  #recordYielded(event: Event): MaybePromise<Event> {
    if (event.partial === true || event.nodeEvent) return event;
    const { events, lastSeq } = this.#context.invocation.session;
    const index = events.findLastIndex(({ id }) => id === event.id);
    const stored = events[index];
    if (!stored) return event;
    const seq = lastSeq - (events.length - 1 - index);
    const record = toStreamedRecord({ id: event.id, seq, isTextless: event.content !== stored.content });
    const recorded = this.appendNew({ ...record, author: this.#context.appName });
    return recorded instanceof Promise ? recorded.then(() => event) : event;
  }

  /** Creates and stores an event of the runtime itself. */
  appendNew(params: EventParams): MaybePromise<Event> {
    return this.#sink.append(this.create(params));
  }

  /** Creates an event of the runtime itself, with the run's request id and metadata. */
  create(params: EventParams): Event {
    return stampEvent(this.#context.createEvent(params), this.#config);
  }

  /** Creates the event that records the end of a resumable run: all work is done, and no answer is expected. */
  endEvent(): Event {
    const { appName: author } = this.#context;
    return this.create({ author, object: ObjectType.runnerEnd, actions: { endOfAgent: true } });
  }

  /** Fills in the fields that an event lacks, and adds the run's request id and metadata. */
  complete(event: Event): Event {
    if (typeof event !== 'object' || event === null) {
      throw new InvalidEventError(
        `agent "${this.agentName}" yielded ${event === null || event === undefined ? String(event) : `a ${typeof event}`}, not an event; write yield context.createEvent({ content })`,
      );
    }
    const isComplete =
      Boolean(event.id) &&
      Boolean(event.timestamp) &&
      Boolean(event.author) &&
      event.executionId !== undefined &&
      event.actions !== undefined &&
      (event.errorCode === undefined || event.error !== undefined);
    if (isComplete && !this.#isStamped && event.invocationId === this.#invocationId) return event;
    if (!isComplete) checkEventFields(`agent "${this.agentName}"`, event);
    const isNew = event.executionId !== undefined || !isYieldedAgain(event);
    const completed = {
      ...event,
      id: (isNew && event.id) || this.#platform.newEventId(),
      invocationId: this.#invocationId,
      author: event.author || this.agentName,
      timestamp: (isNew && toSeconds(event.timestamp)) || this.#platform.now() / 1000,
      executionId: event.executionId ?? this.#invocationId,
      actions: createEventActions(event.actions),
    };
    fillKind(completed);
    return stampEvent(completed, this.#config);
  }
}

/** True if a model wrote the event and all of its parts are audio. */
function isModelAudio({ author, content }: Event): boolean {
  const parts = content?.parts ?? [];
  return (
    author !== 'user' && parts.length > 0 && parts.every(({ inlineData }) => inlineData?.mimeType?.startsWith('audio/'))
  );
}

/** Adds the run's request id and metadata to an event; the event's own metadata wins. */
export function stampEvent(event: Event, { requestId, customMetadata }: RunConfig): Event {
  if (requestId === undefined && customMetadata === undefined) return event;
  return {
    ...event,
    ...(requestId === undefined ? {} : { requestId }),
    ...(customMetadata === undefined ? {} : { customMetadata: { ...customMetadata, ...event.customMetadata } }),
  };
}

/** Gives a plugin's event the id, the time and the kind (chunk or whole) of the event that it replaces. */
function withIdentityOf(event: Event, replacement: Event): Event {
  const { id, invocationId, timestamp, partial } = event;
  const { partial: _, ...changed } = replacement;
  return { ...changed, id, invocationId, timestamp, ...(partial === undefined ? {} : { partial }) };
}
