import {
  callsToRun,
  contentText,
  createEventActions,
  type Event,
  type FunctionCall,
  type InvocationContext,
  isEmptyActions,
  type LiveLlmResponse,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { type ModelCall, ModelReply, saveOutput, type Step } from '@eventloom/llm-agent/internal';
import type { CloseTimeout } from './close-timeout.ts';
import type { LiveRecordings } from './live-recordings.ts';
import { LiveTurn } from './live-turn.ts';

/** What the output of a live run is made of. */
export interface LiveOutputParams {
  readonly step: Step;
  readonly recordings: LiveRecordings | undefined;
  readonly closeTimeout: CloseTimeout;
  /** Passes an event on; settles when it was committed. */
  readonly emit: (event: Event) => Promise<void>;
  /** An event holds calls, and is about to be passed on. */
  readonly onCalls: (calls: readonly FunctionCall[]) => void;
  /** The event with the calls is committed. */
  readonly run: (eventId: string, calls: readonly FunctionCall[]) => void;
}

/** What the model says, passed on as events. */
export class LiveOutput {
  readonly #params: LiveOutputParams;
  readonly #context: InvocationContext;
  readonly #turn: LiveTurn;
  /** The callbacks of the connection that is read. */
  #call: ModelCall | undefined;
  #tools: LlmRequest['toolsDict'] = {};

  constructor(params: LiveOutputParams) {
    this.#params = params;
    this.#context = params.step.context;
    this.#turn = new LiveTurn(this.#context, (content) => {
      const event = new ModelReply(params.step, this.#tools).whole({ content }, createEventActions());
      const { usageMetadata: _, ...callEvent } = event;
      return callEvent;
    });
  }

  /** True while the model has begun a turn and not ended it. */
  get isSpeaking(): boolean {
    return this.#turn.isSpeaking;
  }

  /** A connection is about to be made. The answer of a callback, when it is to be used instead. */
  async begin(call: ModelCall): Promise<LlmResponse | undefined> {
    this.#call = call;
    const answer = await call.before();
    this.#tools = call.request.toolsDict;
    if (!answer) await this.#tellChanges();
    return answer;
  }

  /** Passes on what a callback said in the model's place. */
  async answer(response: LlmResponse): Promise<void> {
    const reply = new ModelReply(this.#params.step, {});
    await this.#params.emit(reply.whole(response, this.#call?.actions ?? createEventActions()));
  }

  /** Passes on what a response tells, and runs what it calls. */
  async take(raw: LiveLlmResponse): Promise<void> {
    const { recordings, onCalls, run } = this.#params;
    const response = this.#call?.asksAfter && saysSomething(raw) ? await this.#asCallbacksWant(raw, this.#call) : raw;
    for (const event of this.#turn.take(response)) {
      const calls = event.partial === true ? [] : callsToRun(event.content?.parts);
      if (calls.length > 0) onCalls(calls);
      if (recordings) await recordings.said(event);
      await this.#pass(event);
      if (calls.length > 0 && !this.#context.isEnded) run(event.id, calls);
    }
    if (response.generationComplete === true) await recordings?.completed();
  }

  /** Passes on what was said so far of a turn that ends here, because its connection or the run does. */
  async flush(isInterrupted: boolean): Promise<void> {
    for (const event of this.#turn.flush(isInterrupted)) await this.#pass(event);
  }

  /** Passes on what was said so far of a turn that does not go on: what another connection says is another turn. */
  async cutOff(): Promise<void> {
    for (const event of this.#turn.cutOff()) await this.#pass(event);
    await this.#params.recordings?.completed();
  }

  /** Passes an event on; what the agent said as a whole is kept under its output key. */
  #pass(event: Event): Promise<void> {
    const { step, emit } = this.#params;
    if (step.agent.outputKey !== undefined && event.partial !== true && event.author !== 'user') {
      const text = contentText(event.content) || event.outputTranscription?.text;
      if (text) saveOutput(step, event.actions, text);
    }
    return emit(event);
  }

  /** Callbacks say what the model said, and not what the service says of the connection and of the turn. */
  async #asCallbacksWant(raw: LiveLlmResponse, call: ModelCall): Promise<LiveLlmResponse> {
    const { interrupted, turnComplete, generationComplete } = raw;
    const said = await this.#params.closeTimeout.until(call.after(raw), 'afterModelCallback');
    await this.#tellChanges();
    if (said === raw) return raw;
    return {
      ...said,
      ...(interrupted === undefined ? {} : { interrupted }),
      ...(turnComplete === undefined ? {} : { turnComplete }),
      ...(generationComplete === undefined ? {} : { generationComplete }),
    };
  }

  /** What callbacks wrote goes out by itself: an event of what the model says may never come. */
  async #tellChanges(): Promise<void> {
    const call = this.#call;
    if (!call || isEmptyActions(call.actions)) return;
    const { actions } = call;
    call.actions = createEventActions();
    await this.#params.emit(this.#context.createEvent({ actions }));
  }
}

/** True for what the model says, of which there may be none in what the service says. */
function saysSomething({ content, inputTranscription, outputTranscription, errorCode }: LiveLlmResponse): boolean {
  return (content ?? inputTranscription ?? outputTranscription ?? errorCode) !== undefined;
}
