import {
  CallbackContext,
  type Event,
  type EventActions,
  type FunctionCall,
  isTransfer,
  type LlmRequest,
  type LlmResponse,
  type Part,
  ResponseAggregator,
  type TimingInfo,
  toError,
  TRANSFER_TAG,
} from '@eventloom/core';
import {
  Calls,
  callsToRun,
  firstAnswer,
  getOwn,
  observeGenerator,
  setOwn,
  startOperation,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import { withCodeTags } from './code-execution/code-run.ts';

/**
 * One model call: the callbacks around it, and its responses as events: chunks with one `responseId`, and the whole with the time it took.
 */
export class ModelCall {
  readonly request: LlmRequest;
  /** True if there are callbacks before the call: `before` asks them. */
  readonly asksBefore: boolean;
  /** True if there are callbacks for responses: `after` asks them. */
  readonly asksAfter: boolean;
  /** The calls of the whole reply that are to be run, once `whole` gave them their ids. */
  calls: FunctionCall[] = [];
  /** Changes of state and artifacts by processors and callbacks; they become the actions of the whole reply's event. */
  actions: EventActions;
  readonly #turn: AgentTurn;
  /** Time of the model call. Undefined for a reply of callbacks. */
  #startMs: number | undefined;
  #firstTokenMs: number | undefined;
  #thoughtMs: number | undefined;
  #answerMs: number | undefined;
  #responseId: string | undefined;
  /** The chunks so far. */
  #aggregator: ResponseAggregator | undefined;
  /** The error that a callback threw after a response. */
  #failure: { readonly error: unknown } | undefined;

  /** @param actions that the request was prepared with */
  constructor(turn: AgentTurn, request: LlmRequest, actions: EventActions) {
    const { agent, context } = turn;
    this.#turn = turn;
    this.actions = actions;
    this.asksBefore = agent.beforeModelCallback.length > 0 || context.plugins.has('beforeModelCallback');
    this.asksAfter = agent.afterModelCallback.length > 0 || context.plugins.has('afterModelCallback');
    this.request = this.asksBefore ? copyRequest(request) : request;
  }

  get #callbackContext(): CallbackContext {
    return new CallbackContext({ invocationContext: this.#turn.context, eventActions: this.actions });
  }

  /** Asks the callbacks before the call. A response is used instead of the model's. */
  async before(): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const { request } = this;
    const callbackContext = this.#callbackContext;
    return (
      (await context.plugins.first('beforeModelCallback', { callbackContext, llmRequest: request })) ??
      firstAnswer(agent.beforeModelCallback, { context: callbackContext, request })
    );
  }

  /** Asks the model. Instrumentation observes the call, if there is any. */
  generate(streaming: boolean): AsyncGenerator<LlmResponse, void, void> {
    const { model, context } = this.#turn;
    const { abortSignal, invocation, platform } = context;
    const { request } = this;
    this.#startMs = platform.now();
    const operation = invocation.instrumentation && startOperation(invocation, { kind: 'model', context, request });
    if (!operation) return model.generateContentAsync(request, streaming, abortSignal);
    const ask = (): AsyncGenerator<LlmResponse, void, void> =>
      model.generateContentAsync(request, streaming, abortSignal);
    return observeGenerator(operation, operation.run(ask), abortSignal, (response) => operation.response(response));
  }

  /** The response as the callbacks want it. */
  async after(response: LlmResponse): Promise<LlmResponse> {
    const { agent, context } = this.#turn;
    const callbackContext = this.#callbackContext;
    try {
      const answer =
        (await context.plugins.first('afterModelCallback', { callbackContext, llmResponse: response })) ??
        (await firstAnswer(agent.afterModelCallback, { context: callbackContext, response }));
      return answer && answer !== response ? withPartialOf(response, answer) : response;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** True for what a callback threw after a response: it is no failure of the model. */
  isOwnFailure(error: unknown): boolean {
    return this.#failure !== undefined && this.#failure.error === error;
  }

  /**
   * Calls the error callbacks for a failed model call. Returns their response, or undefined if the call has to fail.
   */
  async onError(thrown: unknown): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const error = toError(thrown);
    const request = this.asksBefore ? this.request : copyRequest(this.request);
    const callbackContext = this.#callbackContext;
    return (
      (await context.plugins.first('onModelErrorCallback', { callbackContext, llmRequest: request, error })) ??
      firstAnswer(agent.onModelErrorCallback, { context: callbackContext, request, error })
    );
  }

  /** The event of a chunk. */
  chunk(response: LlmResponse): Event {
    const { agent, context } = this.#turn;
    if (this.#answerMs === undefined) this.#clock(response, context.platform.now());
    // Readers of the event may modify it, and the whole reply is merged from the chunks of the model.
    this.#aggregator ??= new ResponseAggregator();
    this.#aggregator.add(response.content?.parts?.every(isOnlyText) ? response : copyPlain(response));
    this.#responseId ??= response.responseId ?? `r-${context.platform.newUuid()}`;
    const event: { responseId?: string } & Event = context.createEvent(response);
    event.responseId = this.#responseId;
    return agent.codeExecutor ? withCodeTags(event) : event;
  }

  #clock(response: LlmResponse, nowMs: number): void {
    for (const part of response.content?.parts ?? []) {
      if (!part.functionCall && !part.text) continue;
      this.#firstTokenMs ??= nowMs;
      if (part.thought === true) this.#thoughtMs ??= nowMs;
      else this.#answerMs ??= nowMs;
    }
  }

  /** The response that merges the chunks so far. */
  merged(): LlmResponse {
    return this.#aggregator?.finish() ?? {};
  }

  /** The event of a reply that broke off, without calls. */
  broken(): Event {
    const broken = this.#aggregator?.finishBroken() ?? {};
    const responseId = this.#responseId;
    return this.#turn.context.createEvent(responseId === undefined ? broken : { ...broken, responseId });
  }

  /** The event of a whole response, with an id for each call. */
  whole(response: LlmResponse, actions: EventActions = this.actions): Event {
    const { agent, context } = this.#turn;
    const { content } = response;
    const event: { -readonly [K in keyof Event]: Event[K] } = context.createEvent(response);
    event.actions = actions;
    if (event.partial !== undefined) delete event.partial;
    this.calls = callsToRun(content?.parts);
    if (content?.parts && this.calls.length > 0) {
      if (this.calls.some(isTransfer)) event.tags = [TRANSFER_TAG];
      event.content = { ...content, role: content.role ?? 'model', parts: this.#withCallIds(content.parts) };
      let longRunning: string[] | undefined;
      for (const { id = '', name = '' } of this.calls)
        if (getOwn(this.request.toolsDict, name)?.isLongRunning) (longRunning ??= []).push(id);
      if (longRunning) event.longRunningToolIds = longRunning;
    }
    if (this.#responseId !== undefined) event.responseId = this.#responseId;
    const nowMs = context.platform.now();
    const timingInfo: TimingInfo = { timeToFirstTokenMs: (this.#firstTokenMs ?? nowMs) - (this.#startMs ?? nowMs) };
    if (this.#thoughtMs !== undefined) timingInfo.reasoningDurationMs = (this.#answerMs ?? nowMs) - this.#thoughtMs;
    event.usageMetadata = { ...response.usageMetadata, timingInfo };
    if (isCutShort(response)) {
      event.errorCode = response.finishReason ?? '';
      event.errorMessage = response.errorMessage ?? `the model stopped with ${response.finishReason}`;
    }
    return agent.codeExecutor ? withCodeTags(event) : event;
  }

  /**
   * Gives an id to each call to run that has none, or that of an earlier call on this branch, so that a response names one call: some
   * models number the calls of every reply alike.
   */
  #withCallIds(parts: readonly Part[]): Part[] {
    const { session, invocation, branch, platform } = this.#turn.context;
    const { calls } = this;
    const known = Calls.of(session, invocation.derived);
    /** Number of times that each id occurred in this reply so far. */
    const times = calls.length > 1 ? new Map<string, number>() : undefined;
    const named: Part[] = [];
    let next = 0;
    for (const part of parts) {
      const call = part.functionCall;
      if (!call || call !== calls[next]) {
        named.push(part);
        continue;
      }
      const { id } = call;
      const before = id === undefined ? 0 : (times?.get(id) ?? 0);
      if (id) times?.set(id, before + 1);
      if (id && before === 0 && !known.newest(id, branch)) {
        next++;
        named.push(part);
        continue;
      }
      // Not random where the model gives ids: a run that is killed and resumed names its calls alike.
      const newId = id ? `adk-${id}-${known.named(id).length + before + 1}` : `adk-${platform.newUuid()}`;
      const functionCall = { ...call, id: newId };
      calls[next++] = functionCall;
      named.push({ ...part, functionCall });
    }
    return named;
  }
}

/** True for a reply that ended before it was done: a finish other than STOP is an error beside the content. */
export function isCutShort({ finishReason, errorCode }: LlmResponse): boolean {
  return finishReason !== undefined && finishReason !== 'STOP' && errorCode === undefined;
}

/** A part whose value is copied with it. */
function isOnlyText(part: Part): boolean {
  for (const key in part) if (key !== 'text' && key !== 'thought') return false;
  return true;
}

/** Lets the agent's planner change the parts of a whole response. State that the planner writes goes into the actions. */
export function plannedResponse(
  { agent: { planner }, context }: AgentTurn,
  response: LlmResponse,
  eventActions: EventActions,
): LlmResponse {
  const { content } = response;
  if (!planner || !content?.parts?.length) return response;
  const callbackContext = new CallbackContext({ invocationContext: context, eventActions });
  const parts = planner.processPlanningResponse(callbackContext, content.parts);
  return parts ? { ...response, content: { ...content, parts: [...parts] } } : response;
}

/** A response in the place of another is a chunk when that was one: callbacks say what, not which. */
function withPartialOf({ partial }: LlmResponse, replacement: LlmResponse): LlmResponse {
  const { partial: _, ...answer } = replacement;
  return partial === undefined ? answer : { ...answer, partial };
}

/**
 * A request that callbacks may change in place at any depth: its contents are those of the session's events, and much of its
 * config and its tools are the agent's own. What is neither a list nor a plain object (a tool, a signal, bytes) is shared.
 */
export function copyRequest(request: LlmRequest): LlmRequest {
  return {
    ...request,
    contents: copyPlain(request.contents),
    config: copyPlain(request.config),
    toolsDict: Object.assign(Object.create(null) as LlmRequest['toolsDict'], request.toolsDict),
  };
}

/** A copy at any depth of lists and plain objects. */
export function copyPlain<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyPlain) as T;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copied: Record<string, unknown> = {};
  for (const key in value) setOwn(copied, key, copyPlain<unknown>(value[key]));
  return copied as T;
}
