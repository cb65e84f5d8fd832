import {
  type Event,
  type EventActions,
  type FunctionCall,
  type LlmRequest,
  type LlmResponse,
  type Part,
  ResponseAggregator,
  type TimingInfo,
} from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';

/** Turns the responses of one model call into events: chunks with one `responseId`, and the whole with the time it took. */
export class ModelReply {
  readonly #step: Step;
  readonly #toolsDict: LlmRequest['toolsDict'];
  readonly #startMs: number;
  readonly #aggregator = new ResponseAggregator();
  #responseId: string | undefined;
  #firstTokenMs: number | undefined;
  #thoughtMs: number | undefined;
  #answerMs: number | undefined;

  constructor(step: Step, toolsDict: LlmRequest['toolsDict']) {
    this.#step = step;
    this.#toolsDict = toolsDict;
    this.#startMs = step.context.platform.now();
  }

  /** True when chunks came and the whole did not. */
  get isOpen(): boolean {
    return this.#aggregator.chunks > 0;
  }

  /** The event of a chunk. */
  chunk(response: LlmResponse): Event {
    const { context } = this.#step;
    if (this.#answerMs === undefined) this.#clock(response, context.platform.now());
    this.#aggregator.add(response);
    this.#responseId ??= response.responseId ?? `r-${context.platform.newUuid()}`;
    return context.createEvent({ ...response, responseId: this.#responseId });
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
    return this.#aggregator.finish();
  }

  /** What came of a reply that broke off, without calls. */
  broken(): LlmResponse {
    return this.#aggregator.finishBroken();
  }

  /** The event of a whole response. `actions` are what callbacks changed on the way. */
  whole(response: LlmResponse, actions: EventActions): Event {
    const { context } = this.#step;
    const { partial: _, ...reply } = withCutShort(response);
    const parts = reply.content?.parts;
    const calls = parts?.some((part) => part.functionCall) ?? false;
    const named = calls && parts ? parts.map((part) => withCallId(part, () => context.platform.newUuid())) : parts;
    const longRunning = named ? longRunningIds(named, (name) => this.#toolsDict[name]?.isLongRunning === true) : [];
    const nowMs = context.platform.now();
    const usageMetadata = { ...reply.usageMetadata, timingInfo: this.#timing(nowMs) };
    return context.createEvent({
      ...reply,
      ...(named ? { content: { ...reply.content, role: reply.content?.role ?? 'model', parts: named } } : {}),
      ...(longRunning.length > 0 ? { longRunningToolIds: longRunning } : {}),
      ...(this.#responseId === undefined ? {} : { responseId: this.#responseId }),
      usageMetadata,
      timestamp: nowMs / 1000,
      actions,
    });
  }

  #timing(nowMs: number): TimingInfo {
    const timing: TimingInfo = { timeToFirstTokenMs: (this.#firstTokenMs ?? nowMs) - this.#startMs };
    if (this.#thoughtMs !== undefined) timing.reasoningDurationMs = (this.#answerMs ?? nowMs) - this.#thoughtMs;
    return timing;
  }
}

/** A finish other than STOP is an error beside the content. */
function withCutShort(response: LlmResponse): LlmResponse {
  const { finishReason, errorCode } = response;
  if (finishReason === undefined || finishReason === 'STOP' || errorCode !== undefined) return response;
  return {
    ...response,
    errorCode: finishReason,
    errorMessage: response.errorMessage ?? `the model stopped with ${finishReason}`,
  };
}

/** Every call has an id, so that its response finds it. */
function withCallId(part: Part, newUuid: () => string): Part {
  const call: FunctionCall | undefined = part.functionCall;
  return !call || call.id ? part : { ...part, functionCall: { ...call, id: `adk-${newUuid()}` } };
}

function longRunningIds(parts: readonly Part[], isLongRunning: (name: string) => boolean): string[] {
  return parts.flatMap(({ functionCall }) =>
    functionCall?.id && isLongRunning(functionCall.name ?? '') ? [functionCall.id] : [],
  );
}
