import {
  CallbackContext,
  ConfigurationError,
  type Event,
  type EventActions,
  type FunctionCall,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
  type Part,
  type TimingInfo,
  type Content,
  toError,
} from '@eventloom/core';
import {
  Calls,
  callsToRun,
  copyPlain,
  copyRequest,
  describeKind,
  firstReplacement,
  getOwn,
  isRecord,
  isTransfer,
  NO_PARTS,
  type ObservedOperation,
  openInside,
  type ReplyInProgress,
  ResponseAggregator,
  TRANSFER_TAG,
} from '@eventloom/core/internal';
import { GROUNDING_METADATA_KEY } from '@eventloom/multi-agent';
import type { AgentTurn } from './agent-turn.ts';
import type { LlmAgent } from './llm-agent.ts';
import { withCodeTags } from './code-execution/code-run.ts';
import { responsesInTime } from './responses-in-time.ts';
import { isDeeperThan } from '@eventloom/core/wire';

/**
 * One model call with the callbacks around it. It converts the responses to events: chunks, which share one
 * `responseId`, and the whole reply, which has the timing.
 */
export class ModelCall implements ReplyInProgress {
  readonly request: LlmRequest;
  /** True if there are callbacks that run before the call; `before` runs them. */
  readonly hasBeforeCallbacks: boolean;
  /** True if there are callbacks for responses; `after` runs them. */
  readonly hasAfterCallbacks: boolean;
  /** The calls to run, with their ids. Empty until `toReplyEvent` is called. */
  calls: FunctionCall[] = [];
  /** State and artifact changes made by processors and callbacks. They become the actions of the whole reply's event. */
  actions: EventActions;
  /** Observes the call of the model: its reader ends it. Undefined if nothing observes it, and before `generate`. */
  operation: ObservedOperation | undefined = undefined;
  readonly #turn: AgentTurn;
  /** Start of the model call, in epoch milliseconds. Undefined if a callback gave the reply. */
  #startMs: number | undefined;
  #timeToFirstTokenMs: number | undefined;
  #thoughtMs: number | undefined;
  #replyMs: number | undefined;
  /** Id that all events of the reply have; undefined before the first chunk. */
  responseId: string | undefined = undefined;
  /** The known ids of the reply's calls, in order. */
  readonly #callIds: NamedCall[] = [];
  /** Number of calls in the chunks so far. */
  #streamedCalls = 0;
  /** Merges the chunks received so far; undefined before the first. */
  #aggregator: ResponseAggregator | undefined;
  /** The error that a callback for responses threw. */
  #failure: { readonly error: unknown } | undefined;

  /** @param actions the actions that `prepareRequest` was called with */
  constructor(turn: AgentTurn, request: LlmRequest, actions: EventActions) {
    const { agent, context } = turn;
    this.#turn = turn;
    this.actions = actions;
    this.hasBeforeCallbacks = agent.beforeModelCallback.length > 0 || context.plugins.has('beforeModelCallback');
    this.hasAfterCallbacks = agent.afterModelCallback.length > 0 || context.plugins.has('afterModelCallback');
    this.request = this.hasBeforeCallbacks ? copyRequest(request) : request;
  }

  get #callbackContext(): CallbackContext {
    return new CallbackContext({ invocationContext: this.#turn.context, eventActions: this.actions });
  }

  /** Runs the callbacks before the call. Returns the first response of a callback, which replaces the model call, or undefined. */
  async before(): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const { request } = this;
    const callbackContext = this.#callbackContext;
    const replacement = await firstReplacement(
      context.plugins.first('beforeModelCallback', { callbackContext, llmRequest: request }),
      agent.beforeModelCallback,
      { context: callbackContext, request },
    );
    return checkedResponse(agent, 'beforeModelCallback', replacement);
  }

  /**
   * Calls the model. If the runner has an instrumentation, it observes the call: the reader notifies `operation` of the responses and the
   * end.
   */
  generate(streaming: boolean): AsyncGenerator<LlmResponse, void, void> {
    const { agent, model, context } = this.#turn;
    const { modelTimeoutMs: timeoutMs } = agent;
    const { abortSignal, invocation, platform } = context;
    const { request } = this;
    this.#startMs = platform.now();
    const operation = invocation.operations?.start({ kind: 'model', context, model, request, live: false });
    if (!operation && timeoutMs === undefined) return model.generateContentAsync(request, streaming, abortSignal);
    const ask = (): AsyncGenerator<LlmResponse, void, void> =>
      timeoutMs === undefined
        ? model.generateContentAsync(request, streaming, abortSignal)
        : responsesInTime({ model, request, streaming, abortSignal, timeoutMs, platform });
    if (!operation) return ask();
    this.operation = operation;
    return openInside(operation, context.abortGuard, ask);
  }

  /** Runs the callbacks for a response. Returns the replacement of a callback, or the response. */
  async after(response: LlmResponse): Promise<LlmResponse> {
    const { agent, context } = this.#turn;
    const callbackContext = this.#callbackContext;
    try {
      const replacement = await firstReplacement(
        context.plugins.first('afterModelCallback', { callbackContext, llmResponse: response }),
        agent.afterModelCallback,
        { context: callbackContext, response },
      );
      checkedResponse(agent, 'afterModelCallback', replacement);
      return replacement && replacement !== response ? withPartialOf(response, replacement) : response;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Returns true if a callback for responses threw this error, so it is not a failure of the model. */
  isOwnFailure(error: unknown): boolean {
    return this.#failure !== undefined && this.#failure.error === error;
  }

  /**
   * Runs the error callbacks for a failed model call. Returns the response of a callback, or undefined if the run has to fail.
   */
  async onError(thrown: unknown): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const error = toError(thrown);
    const request = this.hasBeforeCallbacks ? this.request : copyRequest(this.request);
    const callbackContext = this.#callbackContext;
    const replacement = await firstReplacement(
      context.plugins.first('onModelErrorCallback', { callbackContext, llmRequest: request, error }),
      agent.onModelErrorCallback,
      { context: callbackContext, request, error },
    );
    return checkedResponse(agent, 'onModelErrorCallback', replacement);
  }

  /** Creates the event of a chunk. */
  toChunkEvent(response: LlmResponse): Event {
    const { agent, context } = this.#turn;
    const timingInfo = this.#replyMs === undefined ? this.#clock(response, context.platform.now()) : undefined;
    // Readers of the event may modify it, so the whole reply is merged from copies.
    if (!this.#aggregator) {
      this.#aggregator = new ResponseAggregator();
      (context.progress.run.openReplies ??= new Set()).add(this);
    }
    const isText = response.content?.parts?.every(isOnlyText) ?? true;
    this.#aggregator.add(isText ? response : copyPlain(response));
    this.responseId ??= response.responseId ?? `r-${context.platform.newUuid()}`;
    const event: { -readonly [K in keyof Event]: Event[K] } = context.createEvent(response);
    event.responseId = this.responseId;
    if (!isText && response.content) event.content = this.#nameStreamedCalls(response.content);
    if (timingInfo) event.usageMetadata = { ...response.usageMetadata, timingInfo };
    return agent.codeExecutor ? withCodeTags(event) : event;
  }

  /** Notes the time of the first token, thought and reply. Returns the time to the first token for the chunk that has it. */
  #clock(response: LlmResponse, nowMs: number): TimingInfo | undefined {
    const isWaiting = this.#timeToFirstTokenMs === undefined;
    for (const part of response.content?.parts ?? []) {
      if (!part.functionCall && !part.text) continue;
      this.#timeToFirstTokenMs ??= nowMs - (this.#startMs ?? nowMs);
      if (part.thought === true) this.#thoughtMs ??= nowMs;
      else this.#replyMs ??= nowMs;
    }
    const timeToFirstTokenMs = this.#timeToFirstTokenMs;
    return isWaiting && timeToFirstTokenMs !== undefined ? { timeToFirstTokenMs } : undefined;
  }

  /** Gives the calls in a chunk the ids that they have in the whole reply. */
  #nameStreamedCalls(content: Content): Content {
    const calls = callsToRun(content.parts);
    if (calls.length === 0) return content;
    const parts = this.#withCallIds(content.parts ?? [], calls, this.#streamedCalls);
    this.#streamedCalls += calls.length;
    return { ...content, parts };
  }

  /** Returns the response merged from the chunks so far; empty if there were none. */
  mergedResponse(): LlmResponse {
    return this.#aggregator?.finish() ?? {};
  }

  toBrokenEvent(): Event {
    const broken = this.#aggregator?.finishBroken() ?? {};
    const responseId = this.responseId;
    return this.#turn.context.createEvent(responseId === undefined ? broken : { ...broken, responseId });
  }

  /** Creates the event of a whole response, in which each call to run has an id. */
  toReplyEvent(response: LlmResponse, actions: EventActions = this.actions): Event {
    const { agent, context, fixedParts } = this.#turn;
    const { content } = response;
    const nowMs = context.platform.now();
    const event: { -readonly [K in keyof Event]: Event[K] } = context.createEvent(
      isTruncated(response) ? withTruncationError(response) : response,
      actions,
      nowMs,
    );
    if (event.partial !== undefined) delete event.partial;
    this.calls = callsToRun(content?.parts);
    if (content?.parts && this.calls.length > 0) {
      if (this.calls.some(isTransfer)) event.tags = [TRANSFER_TAG];
      const named = this.#withCallIds(content.parts, this.calls, 0);
      if (named !== content.parts || content.role === undefined)
        event.content = { ...content, role: content.role ?? 'model', parts: named };
      let longRunning: string[] | undefined;
      for (let index = 0; index < this.calls.length; index++) {
        const { id = '', name = '' } = this.calls[index] as FunctionCall;
        if (getOwn(this.request.toolsDict, name)?.isLongRunning) (longRunning ??= []).push(id);
      }
      if (longRunning) event.longRunningToolIds = longRunning;
    }
    if (fixedParts.isGrounded && this.calls.length === 0) {
      const grounding = event.groundingMetadata ?? toolGrounding(context);
      if (grounding) event.groundingMetadata = grounding;
    }
    if (this.responseId !== undefined) event.responseId = this.responseId;
    const timeToFirstTokenMs = this.#timeToFirstTokenMs ?? nowMs - (this.#startMs ?? nowMs);
    const timingInfo: TimingInfo = { timeToFirstTokenMs };
    if (this.#thoughtMs !== undefined) timingInfo.reasoningDurationMs = (this.#replyMs ?? nowMs) - this.#thoughtMs;
    event.usageMetadata = { ...response.usageMetadata, timingInfo };
    return agent.codeExecutor ? withCodeTags(event) : event;
  }

  /**
   * Gives a new id to each call to run that has none, or that has the id of an earlier call on this branch, or of one
   * on another branch that waits for its reply. A response must identify one call, and some models restart their
   * numbering in every reply. A call of the whole reply keeps the id that it had in its chunk.
   * @param calls the calls to run among the parts; named calls take their place
   * @param first the number of calls of the reply before these parts
   */
  #withCallIds(parts: Part[], calls: FunctionCall[], first: number): Part[] {
    const ofSession = Calls.of(this.#turn.context.invocation);
    let named: Part[] | undefined;
    let next = 0;
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at];
      const call = part?.functionCall;
      if (!call || call !== calls[next]) continue;
      const id = this.#callId(call, first + next, ofSession);
      if (call.id !== id) {
        const functionCall = { ...call, id };
        calls[next] = functionCall;
        (named ??= [...parts])[at] = { ...part, functionCall };
      }
      next++;
    }
    return named ?? parts;
  }

  /** @param index the position of the call among the calls of the reply */
  #callId({ id, name }: FunctionCall, index: number, ofSession: Calls): string {
    const { branch, platform } = this.#turn.context;
    const streamed = this.#callIds[index];
    if (streamed && streamed.name === name && streamed.modelId === id) return streamed.id;
    let isRepeated = id !== undefined && ofSession.isTaken(id, branch);
    for (let at = 0; id && at < index; at++) {
      const earlier = this.#callIds[at];
      if (earlier?.modelId === id || earlier?.id === id) isRepeated = true;
    }
    const given = id ? (isRepeated ? this.#freeId(id, index, ofSession) : id) : `adk-${platform.newUuid()}`;
    this.#callIds[index] = { id: given, modelId: id, name };
    return given;
  }

  /**
   * Returns the first of `adk-<id>-2`, `adk-<id>-3`, … that no call on the agent's branch, no call that waits for its
   * answer, and no earlier call of the reply has. Derived from the model's id and not random, so that a run that was
   * killed and resumed gives the same ids.
   */
  #freeId(id: string, index: number, ofSession: Calls): string {
    const { branch } = this.#turn.context;
    const prefix = `adk-${id}-`;
    const isTaken = (number: number): boolean => {
      const name = `${prefix}${number}`;
      return ofSession.isTaken(name, branch) || this.#callIds.slice(0, index).some((call) => call.id === name);
    };
    let [taken, free] = [1, 2];
    while (isTaken(free)) [taken, free] = [free, 2 * free];
    while (free - taken > 1) {
      const between = Math.floor((taken + free) / 2);
      if (isTaken(between)) taken = between;
      else free = between;
    }
    return `${prefix}${free}`;
  }
}

/**
 * Returns a replacement by a callback.
 * @throws ConfigurationError for a replacement that is not a response
 */
function checkedResponse(
  agent: LlmAgent,
  callback: string,
  replacement: LlmResponse | undefined,
): LlmResponse | undefined {
  if (replacement && !isRecord(replacement))
    throw new ConfigurationError(
      `agent "${agent.name}": ${callback}: expected a response or nothing as the result, got ${describeKind(replacement)}; write return ${RESPONSE}`,
    );
  return replacement;
}

/** Code of a response, for errors. */
export const RESPONSE = "{ content: { role: 'model', parts: [{ text: 'hello' }] } }";

/** The id that a call of the reply was given. */
interface NamedCall {
  readonly id: string;
  /** The id that the model gave it. */
  readonly modelId: string | undefined;
  readonly name: string | undefined;
}

/** Returns the sources that an agent found that was called as a tool in this run; undefined if there are none. */
function toolGrounding({ invocation: { session } }: InvocationContext): Event['groundingMetadata'] {
  const metadata = session.state[GROUNDING_METADATA_KEY];
  return isRecord(metadata) ? metadata : undefined;
}

/** Returns true for a reply that the model did not complete: its finish reason is not STOP, and it has no error code. */
export function isTruncated({ finishReason, errorCode }: LlmResponse): boolean {
  return finishReason !== undefined && finishReason !== 'STOP' && errorCode === undefined;
}

function withTruncationError(response: LlmResponse): LlmResponse {
  const { finishReason = '', errorMessage = `the model stopped with ${finishReason}` } = response;
  return { ...response, errorCode: finishReason, errorMessage };
}

/** Returns true for a part whose shallow copy is a full copy, because it holds only text. */
function isOnlyText(part: Part): boolean {
  for (const key in part) if (key !== 'text' && key !== 'thought') return false;
  return true;
}

/** Returns the response with the parts that the agent's planner makes of it. State changes of the planner go into `eventActions`. */
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

/** Returns the replacement with the `partial` flag of the original response, because callbacks replace content only. */
function withPartialOf({ partial }: LlmResponse, replacement: LlmResponse): LlmResponse {
  const { partial: _, ...whole } = replacement;
  return partial === undefined ? whole : { ...whole, partial };
}

/** Maximum nesting depth of arguments that an event can hold. */
const MAX_LEVELS = 195;

/** The only key of the note that replaces arguments that were left out. */
const LEFT_OUT = 'eventloom:leftOut';
const REASON = `the arguments were nested deeper than ${MAX_LEVELS} levels`;

/**
 * Reads a response of a model: returns it with a note in place of arguments that are nested too deep for an event. The
 * note is stored with the call, so the call is never run, not even in a resumed run; `deepArgsError` gives the response
 * for the model. Returns the same object if no arguments are too deep.
 * @throws ConfigurationError if the model yielded something other than a response
 */
export function readResponse<T extends Pick<LlmResponse, 'content' | 'alternatives'>>(agent: LlmAgent, response: T): T {
  if (!isRecord(response))
    throw new ConfigurationError(
      `agent "${agent.name}": model: expected responses, got ${describeKind(response)}; write yield ${RESPONSE}`,
    );
  const { content, alternatives } = response;
  let hasDeep = alternatives?.some((other) => other.content?.parts?.some(isDeep)) === true;
  const parts = content?.parts ?? NO_PARTS;
  for (let index = 0; index < parts.length; index++) {
    const args = parts[index]?.functionCall?.args;
    if (args && isDeeperThan(MAX_LEVELS, args)) hasDeep = true;
  }
  if (!hasDeep) return response;
  return {
    ...response,
    ...(content && { content: shallow(content) }),
    ...(alternatives && {
      alternatives: alternatives.map((other) =>
        other.content ? { ...other, content: shallow(other.content) } : other,
      ),
    }),
  };
}

/**
 * Returns the response for a call whose arguments were left out because they are nested too deep; undefined for other
 * calls.
 */
export function deepArgsError({ name, args }: FunctionCall): { readonly error: string } | undefined {
  if (!isRecord(args) || !Object.hasOwn(args, LEFT_OUT)) return undefined;
  return { error: `${name} was not called: ${REASON}; call it again with arguments that are nested less` };
}

function isDeep({ functionCall }: Part): boolean {
  return functionCall?.args !== undefined && isDeeperThan(MAX_LEVELS, functionCall.args);
}

function shallow(content: Content): Content {
  const parts = content.parts?.map((part) =>
    isDeep(part) ? { ...part, functionCall: { ...part.functionCall, args: { [LEFT_OUT]: REASON } } } : part,
  );
  return { ...content, ...(parts && { parts }) };
}
