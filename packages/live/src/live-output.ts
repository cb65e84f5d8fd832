import {
  contentText,
  createEventActions,
  type Event,
  type InvocationContext,
  type LiveLlmResponse,
  type LlmResponse,
} from '@eventloom/core';
import { callsToRun, isEmptyActions } from '@eventloom/core/internal';
import { type AgentTurn, type ModelCall, readResponse, saveOutput } from '@eventloom/llm-agent/internal';
import type { CloseTimeout } from './close-timeout.ts';
import type { LiveFlow } from './live-flow.ts';
import type { LiveRecordings } from './live-recordings.ts';
import { ResponseEvents } from './response-events.ts';

interface LiveOutputParams {
  readonly turn: AgentTurn;
  readonly recordings: LiveRecordings | undefined;
  readonly closeTimeout: CloseTimeout;
  readonly flow: LiveFlow;
}

/** Emits the model's responses as events. */
export class LiveOutput {
  readonly #params: LiveOutputParams;
  readonly #context: InvocationContext;
  readonly #events: ResponseEvents;

  constructor(params: LiveOutputParams) {
    this.#params = params;
    this.#context = params.turn.context;
    this.#events = new ResponseEvents(this.#context);
  }

  /** True while the model has begun a turn and not ended it. */
  get isSpeaking(): boolean {
    return this.#events.isSpeaking;
  }

  /**
   * Calls `beforeModelCallback` for a connection that is about to be opened. Returns the response that replaces the
   * connection, if there is one.
   */
  async begin(call: ModelCall): Promise<LlmResponse | undefined> {
    this.#events.call = call;
    const replacement = call.hasBeforeCallbacks ? await call.before() : undefined;
    if (!replacement) await this.#emitChanges();
    return replacement;
  }

  /** Emits the response of a callback in place of the connection. */
  async replace(call: ModelCall, response: LlmResponse): Promise<void> {
    await this.#params.flow.emit(call.toReplyEvent(response));
  }

  /** Emits the events of a response and runs its calls. */
  async take(received: LiveLlmResponse): Promise<void> {
    const { recordings, flow } = this.#params;
    const { call } = this.#events;
    const raw = readResponse(this.#params.turn.agent, received);
    const response = call?.hasAfterCallbacks && saysSomething(raw) ? await this.#afterCallbacks(raw, call) : raw;
    for (const event of this.#events.take(response)) {
      const calls = event.partial === true ? [] : callsToRun(event.content?.parts);
      if (calls.length > 0) flow.holdInput(calls);
      if (recordings) await recordings.said(event);
      await this.#pass(event);
      if (calls.length > 0 && !this.#context.endInvocation) flow.startCalls(event.id, calls);
    }
    if (response.generationComplete === true) await recordings?.completed();
  }

  /** Emits the words so far of a turn that ends with its connection or with the run. */
  async flush(isInterrupted: boolean): Promise<void> {
    for (const event of this.#events.flush(isInterrupted)) await this.#pass(event);
  }

  /** Emits the words so far of a turn that was interrupted: another connection starts another turn. */
  async interrupt(): Promise<void> {
    for (const event of this.#events.interrupt()) await this.#pass(event);
    await this.#params.recordings?.completed();
  }

  /** Emits an event. Keeps whole texts of the agent under its output key. */
  #pass(event: Event): Promise<void> {
    const { turn, flow } = this.#params;
    if (turn.agent.outputKey !== undefined && event.partial !== true && event.author !== 'user') {
      const text = contentText(event.content) || event.outputTranscription?.text;
      if (text) saveOutput(turn, event.actions, text);
    }
    return flow.emit(event);
  }

  /** Lets callbacks replace the model's content, but not the signals of the connection and the turn. */
  async #afterCallbacks(raw: LiveLlmResponse, call: ModelCall): Promise<LiveLlmResponse> {
    const { partial, interrupted, turnComplete, generationComplete } = raw;
    const said = await this.#params.closeTimeout.until(call.after(raw), 'afterModelCallback');
    await this.#emitChanges();
    if (said === raw) return raw;
    return {
      ...(partial === undefined ? {} : { partial }),
      ...said,
      ...(interrupted === undefined ? {} : { interrupted }),
      ...(turnComplete === undefined ? {} : { turnComplete }),
      ...(generationComplete === undefined ? {} : { generationComplete }),
    };
  }

  /** Emits state changes of callbacks in a separate event, because the model may never send another one. */
  async #emitChanges(): Promise<void> {
    const { call } = this.#events;
    if (!call || isEmptyActions(call.actions)) return;
    const { actions } = call;
    call.actions = createEventActions();
    await this.#params.flow.emit(this.#context.createEvent({ actions }));
  }
}

/** True for a response with words, media or an error of the model, and not only reports of the service. */
function saysSomething({ content, inputTranscription, outputTranscription, errorCode }: LiveLlmResponse): boolean {
  return (content ?? inputTranscription ?? outputTranscription ?? errorCode) !== undefined;
}
