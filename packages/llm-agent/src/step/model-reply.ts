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
} from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import type { AgentTurn } from '../agent-turn.ts';
import { withCodeTags } from '../code-execution/code-run.ts';
import { copyPlain } from './copy-request.ts';

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
