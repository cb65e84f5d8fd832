import {
  type Content,
  createEventActions,
  type Event,
  type EventParams,
  type FunctionCall,
  type InvocationContext,
  type LiveLlmResponse,
  type LlmResponse,
  type Part,
  type Transcription,
} from '@eventloom/core';
import { createErrorEvent, ResponseAggregator } from '@eventloom/core/internal';
import type { ModelCall } from '@eventloom/llm-agent/internal';

/**
 * Turns the responses of a live connection into events, each with one piece of information: chunks of text and speech
 * as they come, the whole text at its end, audio, calls, token counts, errors, and the signals that end a turn, after
 * all other events of the turn.
 */
export class ResponseEvents {
  readonly #context: InvocationContext;
  /** The callbacks of the open connection. */
  call: ModelCall | undefined;
  readonly #heard: LiveSpeech;
  readonly #spoken: LiveSpeech;
  #text: ResponseAggregator | undefined;
  #responseId: string | undefined;
  /** True if the connection marked pieces of the open text with `partial`, so that it sends the whole after them. */
  #awaitsWhole = false;
  /** The text of such pieces that was yielded before its whole came, because of an interruption or a call. */
  #flushedText: string | undefined;
  #isSpeaking = false;
  /** Fields of the current response that its events have unchanged. */
  #others: EventParams = {};

  constructor(context: InvocationContext) {
    this.#context = context;
    this.#heard = new LiveSpeech(context, 'inputTranscription');
    this.#spoken = new LiveSpeech(context, 'outputTranscription');
  }

  /** True while a turn of the model has begun and not ended. */
  get isSpeaking(): boolean {
    return this.#isSpeaking;
  }

  /** Yields the events of one response, in order. */
  *take(response: LiveLlmResponse): Generator<Event, void, void> {
    const { content, partial, inputTranscription, outputTranscription } = response;
    const { turnComplete, interrupted, generationComplete } = response;
    this.#others = othersIn(response);
    if (turnComplete === true || interrupted === true) this.#isSpeaking = false;
    else if (content || outputTranscription) this.#isSpeaking = true;
    if (inputTranscription) yield* this.#heard.take(inputTranscription, partial);
    if (content) yield* this.#said(content, partial);
    if (outputTranscription) yield* this.#spoken.take(outputTranscription, partial);
    if (generationComplete === true || turnComplete === true || interrupted === true) {
      yield* this.#heard.flush();
      yield* this.#flushText(interrupted === true);
    }
    if (turnComplete === true) this.#flushedText = undefined;
    yield* this.#reports(response);
    if (turnComplete === true || interrupted === true) yield* this.#ended(response);
  }

  /** Yields the words so far of a turn that ends with its connection or with the run. */
  *flush(isInterrupted: boolean): Generator<Event, void, void> {
    yield* this.#heard.flush();
    yield* this.#flushText(isInterrupted);
    this.#flushedText = undefined;
    yield* this.#spoken.flush(isInterrupted);
  }

  /** Yields the words so far of a turn that a lost connection interrupts. */
  interrupt(): Generator<Event, void, void> {
    this.#isSpeaking = false;
    return this.flush(true);
  }

  *#said({ role = 'model', parts = [] }: Content, partial: boolean | undefined): Generator<Event, void, void> {
    const whole: Part[] = [];
    const others: Part[] = [];
    const calls: FunctionCall[] = [];
    const flushed = this.#flushedText;
    this.#flushedText = undefined;
    const awaitsWhole = this.#awaitsWhole || flushed !== undefined;
    for (const part of parts) {
      if (isText(part) && isWhole(partial, awaitsWhole)) whole.push(part);
      else if (isText(part)) yield this.#textChunk(role, part, partial);
      else if (part.inlineData) yield this.#event(role, [part]);
      else {
        others.push(part);
        if (part.functionCall) calls.push(part.functionCall);
      }
    }
    const text = textOf(whole);
    if (text !== '' && text !== flushed)
      yield this.#wholeText({ ...this.#text?.finish(), ...this.#others, content: { role, parts: whole } });
    if (others.length === 0) return;
    if (!this.#heard.awaitsWhole) yield* this.#heard.flush();
    yield* this.#flushText(false);
    if (!this.#spoken.awaitsWhole) yield* this.#spoken.flush();
    yield calls.length > 0 ? this.#callEvent({ role, parts: others }) : this.#event(role, others);
  }

  /** The event with calls and their ids, without timing, because the model was not called for it. */
  #callEvent(content: Content): Event {
    const call = this.call?.toReplyEvent({ content }, createEventActions()) ?? this.#context.createEvent({ content });
    const { usageMetadata: _, ...event } = call;
    return event;
  }

  #textChunk(role: string, part: Part, partial: boolean | undefined): Event {
    if (partial === true) this.#awaitsWhole = true;
    const content = { role, parts: [part] };
    this.#responseId ??= `r-${this.#context.platform.newUuid()}`;
    this.#text ??= new ResponseAggregator();
    this.#text.add({ ...this.#others, content: { role, parts: [{ ...part }] } });
    return this.#create({ ...authorOf(role), content, partial: true, responseId: this.#responseId });
  }

  *#flushText(isInterrupted: boolean): Generator<Event, void, void> {
    const reply = this.#text?.finish();
    this.#text = undefined;
    if (!reply?.content?.parts?.length) return;
    if (this.#awaitsWhole) this.#flushedText = textOf(reply.content.parts);
    yield this.#wholeText(reply, isInterrupted);
  }

  /** Ends the open text with the event of the whole, which has the other fields of the responses with its text. */
  #wholeText(reply: LlmResponse, isInterrupted = false): Event {
    const role = reply.content?.role ?? 'model';
    const responseId = this.#responseId ?? `r-${this.#context.platform.newUuid()}`;
    this.#text = undefined;
    this.#responseId = undefined;
    this.#awaitsWhole = false;
    const interrupted = isInterrupted ? { interrupted: true } : {};
    return this.#context.createEvent({ ...reply, ...authorOf(role), responseId, ...interrupted });
  }

  #event(role: string, parts: Part[]): Event {
    return this.#create({ ...authorOf(role), content: { role, parts } });
  }

  #create(params: EventParams): Event {
    return this.#context.createEvent({ ...this.#others, ...params });
  }

  /** Yields the reports of the service: handles, token counts, grounding, errors. */
  *#reports(response: LiveLlmResponse): Generator<Event, void, void> {
    const { usageMetadata, groundingMetadata, urlContextMetadata, citationMetadata } = response;
    const { errorCode, errorMessage, finishReason, liveSessionResumptionUpdate: update } = response;
    if (update?.newHandle !== undefined || update?.resumable !== undefined)
      yield this.#create({ liveSessionResumptionUpdate: { ...update } });
    if (usageMetadata || groundingMetadata || urlContextMetadata || citationMetadata) {
      yield this.#create({
        ...(usageMetadata && { usageMetadata }),
        ...(groundingMetadata && { groundingMetadata }),
        ...(urlContextMetadata && { urlContextMetadata }),
        ...(citationMetadata && { citationMetadata }),
      });
    }
    if (errorCode !== undefined)
      yield createErrorEvent(this.#create({}), errorCode, errorMessage ?? `the model failed: ${errorCode}`);
    // The rule of replies in other runs.
    else if (finishReason !== undefined && finishReason !== 'STOP')
      yield createErrorEvent(this.#create({ finishReason }), finishReason, `the model stopped with ${finishReason}`);
  }

  /** Yields the end of a turn as a separate event: both signals together are one end. */
  *#ended({ turnComplete, interrupted, finishReason, errorCode }: LiveLlmResponse): Generator<Event, void, void> {
    yield* this.#spoken.flush(interrupted === true);
    yield this.#create({
      ...(turnComplete === true ? { turnComplete } : {}),
      ...(interrupted === true ? { interrupted } : {}),
      ...(finishReason === 'STOP' || (finishReason && errorCode) ? { finishReason } : {}),
    });
  }
}

/** Fields of a response whose events are made one by one. */
const TURNED_INTO_EVENTS: ReadonlySet<string> = new Set<keyof LiveLlmResponse>([
  'content',
  'partial',
  'responseId',
  'inputTranscription',
  'outputTranscription',
  'turnComplete',
  'interrupted',
  'generationComplete',
  'finishReason',
  'usageMetadata',
  'groundingMetadata',
  'urlContextMetadata',
  'citationMetadata',
  'errorCode',
  'errorMessage',
  'liveSessionResumptionUpdate',
  'toolCallCancellation',
  'goAway',
  'consumedSends',
]);

/** Returns the other fields, such as `modelVersion` and those that only the service of the model knows. */
function othersIn(response: LiveLlmResponse): EventParams {
  const others = Object.entries(response).filter(([field]) => !TURNED_INTO_EVENTS.has(field));
  return others.length === 0 ? NO_OTHERS : Object.fromEntries(others);
}

const NO_OTHERS: EventParams = {};

function isText(part: Part): boolean {
  return part.text !== undefined && !part.inlineData && !part.functionCall;
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('');
}

/** True for a whole that ends its pieces. Without `partial` it is one only after pieces that had `partial: true`. */
function isWhole(partial: boolean | undefined, awaitsWhole: boolean): boolean {
  return partial === false || (partial === undefined && awaitsWhole);
}

/** Returns the author `user` for content in the user's role; otherwise no author. */
function authorOf(role: string): Pick<EventParams, 'author'> {
  return role === 'user' ? { author: 'user' } : {};
}

/** The transcription of one side: a partial event for each piece, and an event of the whole at the end. */
class LiveSpeech {
  readonly #context: InvocationContext;
  readonly #field: 'inputTranscription' | 'outputTranscription';
  #text = '';
  /** True if the connection marked pieces with `partial`, so that it sends the whole after them. */
  awaitsWhole = false;

  constructor(context: InvocationContext, field: 'inputTranscription' | 'outputTranscription') {
    this.#context = context;
    this.#field = field;
  }

  /** Yields the event of a piece, and after the last piece the event of the whole. */
  *take({ text, finished }: Transcription, partial: boolean | undefined): Generator<Event, void, void> {
    if (text && isWhole(partial, this.awaitsWhole)) {
      this.#text = text;
      return yield* this.flush();
    }
    if (text) {
      if (partial === true) this.awaitsWhole = true;
      this.#text += text;
      yield this.#event({ text, finished: false }, true);
    }
    if (finished === true) yield* this.flush();
  }

  /** Yields the event of the whole, if there were words since the last one. */
  *flush(isInterrupted = false): Generator<Event, void, void> {
    this.awaitsWhole = false;
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    yield this.#event({ text, finished: true }, false, isInterrupted);
  }

  #event(transcription: Transcription, partial: boolean, isInterrupted = false): Event {
    return this.#context.createEvent({
      ...(this.#field === 'inputTranscription' ? { author: 'user' } : {}),
      ...(partial ? { partial } : {}),
      ...(isInterrupted ? { interrupted: true } : {}),
      [this.#field]: transcription,
    });
  }
}
