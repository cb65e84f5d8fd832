import {
  callsToRun,
  type Event,
  type EventActions,
  type FunctionCall,
  getOwn,
  isTransfer,
  type LlmRequest,
  type LlmResponse,
  type Part,
  ResponseAggregator,
  type TimingInfo,
  TRANSFER_TAG,
  CallbackContext,
  firstAnswer,
  toError,
  setOwn,
} from '@eventloom/core';
import { Calls, observeGenerator, type ObservedOperation, startOperation } from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import { withCodeTags } from './code-execution/code-run.ts';

/** Turns the responses of one model call into events: chunks with one `responseId`, and the whole with the time it took. */
export class ModelReply {
  readonly #turn: AgentTurn;
  readonly #toolsDict: LlmRequest['toolsDict'];
  readonly #startMs: number;
  #aggregator: ResponseAggregator | undefined;
  #responseId: string | undefined;
  #firstTokenMs: number | undefined;
  #thoughtMs: number | undefined;
  #answerMs: number | undefined;

  constructor(turn: AgentTurn, toolsDict: LlmRequest['toolsDict']) {
    this.#turn = turn;
    this.#toolsDict = toolsDict;
    this.#startMs = turn.context.platform.now();
  }

  /** The event of a chunk. */
  chunk(response: LlmResponse): Event {
    const { context } = this.#turn;
    if (this.#answerMs === undefined) this.#clock(response, context.platform.now());
    // Whoever gets the event may write to it, and the whole is made of what the model said.
    this.#aggregator ??= new ResponseAggregator();
    this.#aggregator.add(response.content?.parts?.every(isOnlyText) ? response : copyPlain(response));
    this.#responseId ??= response.responseId ?? `r-${context.platform.newUuid()}`;
    const event: { responseId?: string } & Event = context.createEvent(response);
    event.responseId = this.#responseId;
    return this.#tagged(event);
  }

  #tagged(event: Event): Event {
    return this.#turn.agent.codeExecutor ? withCodeTags(event) : event;
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

  /** What came of a reply that broke off, without calls. */
  broken(): LlmResponse {
    const broken = this.#aggregator?.finishBroken() ?? {};
    return this.#responseId === undefined ? broken : { ...broken, responseId: this.#responseId };
  }

  /** The event of a whole response. `actions` are what callbacks changed on the way. */
  whole(response: LlmResponse, actions: EventActions): Event {
    const { context } = this.#turn;
    const { content } = response;
    const event: { -readonly [K in keyof Event]: Event[K] } = context.createEvent(response);
    event.actions = actions;
    if (event.partial !== undefined) delete event.partial;
    const calls = callsToRun(content?.parts);
    if (content?.parts && calls.length > 0) {
      if (calls.some(isTransfer)) event.tags = [TRANSFER_TAG];
      const parts = this.#withCallIds(content.parts, new Set(calls));
      event.content = { ...content, role: content.role ?? 'model', parts };
      const longRunningToolIds = this.#longRunningIds(parts);
      if (longRunningToolIds.length > 0) event.longRunningToolIds = longRunningToolIds;
    }
    if (this.#responseId !== undefined) event.responseId = this.#responseId;
    event.usageMetadata = { ...response.usageMetadata, timingInfo: this.#timing(context.platform.now()) };
    if (isCutShort(response)) {
      event.errorCode = response.finishReason ?? '';
      event.errorMessage = response.errorMessage ?? `the model stopped with ${response.finishReason}`;
    }
    return this.#tagged(event);
  }

  /**
   * Gives an id to each call to run that has none, or that of an earlier call on this branch, so that a response names one call: some
   * models number the calls of every reply alike.
   */
  #withCallIds(parts: readonly Part[], calls: ReadonlySet<FunctionCall>): Part[] {
    const { session, invocation, branch, platform } = this.#turn.context;
    const known = Calls.of(session, invocation.derived);
    const ids = new Map<string, number>();
    return parts.map((part) => {
      const call = part.functionCall;
      if (!call || !calls.has(call)) return part;
      if (!call.id) return { ...part, functionCall: { ...call, id: `adk-${platform.newUuid()}` } };
      const times = ids.get(call.id) ?? 0;
      ids.set(call.id, times + 1);
      if (times === 0 && !known.newest(call.id, branch)) return part;
      // Not random: a run that is killed and resumed names its calls alike.
      const id = `adk-${call.id}-${known.named(call.id).length + times + 1}`;
      return { ...part, functionCall: { ...call, id } };
    });
  }

  #longRunningIds(parts: readonly Part[]): string[] {
    const ids: string[] = [];
    for (const { functionCall } of parts) {
      if (functionCall?.id && getOwn(this.#toolsDict, functionCall.name ?? '')?.isLongRunning)
        ids.push(functionCall.id);
    }
    return ids;
  }

  #timing(nowMs: number): TimingInfo {
    const timing: TimingInfo = { timeToFirstTokenMs: (this.#firstTokenMs ?? nowMs) - this.#startMs };
    if (this.#thoughtMs !== undefined) timing.reasoningDurationMs = (this.#answerMs ?? nowMs) - this.#thoughtMs;
    return timing;
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

/** The callbacks around one model call; their state changes gather in the actions of the event to come. */
export class ModelCall {
  readonly request: LlmRequest;
  /** Whether there are callbacks for responses. */
  readonly asksAfter: boolean;
  /** What the callbacks did to state and artifacts. */
  actions: EventActions;
  readonly #turn: AgentTurn;
  readonly #asksBefore: boolean;
  /** Observes the call. */
  #operation: ObservedOperation | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @param actions that the request was prepared with */
  constructor(turn: AgentTurn, request: LlmRequest, actions: EventActions) {
    const { agent, context } = turn;
    this.#turn = turn;
    this.actions = actions;
    this.#asksBefore = agent.beforeModelCallback.length > 0 || context.plugins.has('beforeModelCallback');
    this.asksAfter = agent.afterModelCallback.length > 0 || context.plugins.has('afterModelCallback');
    this.request = this.#asksBefore ? copyRequest(request) : request;
  }

  get #context(): CallbackContext {
    return new CallbackContext({ invocationContext: this.#turn.context, eventActions: this.actions });
  }

  /** Asks the callbacks before the call. A response is used instead of the model's. */
  before(): Promise<LlmResponse | undefined> | undefined {
    return this.#asksBefore ? this.#before() : undefined;
  }

  async #before(): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const { request } = this;
    const callbackContext = this.#context;
    return (
      (await context.plugins.first('beforeModelCallback', { callbackContext, llmRequest: request })) ??
      firstAnswer(agent.beforeModelCallback, { context: callbackContext, request })
    );
  }

  /** Asks the model. Instrumentation observes the call, if there is any. */
  generate(streaming: boolean): AsyncGenerator<LlmResponse, void, void> {
    const { model, context } = this.#turn;
    const { abortSignal, invocation } = context;
    const { request } = this;
    if (!invocation.instrumentation) return model.generateContentAsync(request, streaming, abortSignal);
    const operation = startOperation(invocation, { kind: 'model', context, request });
    const ask = (): AsyncGenerator<LlmResponse, void, void> =>
      model.generateContentAsync(request, streaming, abortSignal);
    this.#operation = operation;
    return operation ? observeGenerator(operation, operation.run(ask), abortSignal) : ask();
  }

  /** The response as the callbacks want it. */
  after(response: LlmResponse): LlmResponse | Promise<LlmResponse> {
    this.#operation?.response(response);
    return this.asksAfter ? this.#after(response) : response;
  }

  /** True for what a callback threw after a response: it is no failure of the model. */
  isOwnFailure(error: unknown): boolean {
    return this.#failure !== undefined && this.#failure.error === error;
  }

  async #after(response: LlmResponse): Promise<LlmResponse> {
    const { agent, context } = this.#turn;
    const callbackContext = this.#context;
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

  /** What the callbacks make of a failed call; undefined lets it fail. */
  async onError(thrown: unknown): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const error = toError(thrown);
    const request = this.#asksBefore ? this.request : copyRequest(this.request);
    const callbackContext = this.#context;
    return (
      (await context.plugins.first('onModelErrorCallback', { callbackContext, llmRequest: request, error })) ??
      firstAnswer(agent.onModelErrorCallback, { context: callbackContext, request, error })
    );
  }
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
