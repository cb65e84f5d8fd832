import type { LlmResponse } from '@eventloom/core';
import { callsToRun, INCOMPLETE_CALL, withoutCalls } from '@eventloom/core/internal';
import type { GenerateContentResponse } from '@google/genai';

/** Details about the end of a reply that are not part of the reply. */
interface ReplyEnd {
  /** The reason for which the service refused the prompt. */
  readonly promptFeedback: GenerateContentResponse['promptFeedback'] | undefined;
  /** The service's explanation of its finish reason. */
  readonly finishMessage: string | undefined;
  /** True if the response had a candidate. */
  readonly answered: boolean;
  /** True for a streamed reply, which is complete only with a finish reason. A reply that was not streamed may lack it. */
  readonly stream: boolean;
}

/**
 * Adds the reason for a truncated reply as `errorCode`: the reason why the prompt was blocked, or a finish reason other
 * than STOP. Two codes are Eventloom's own, for replies without a reason: `UNKNOWN_ERROR` (the ADK's) for an empty
 * reply, `NO_FINISH_REASON` for a stream of text that stopped. A stream that stopped after calls, or inside one, has
 * the code `INCOMPLETE_CALL` and no calls.
 */
export function withFinishError(reply: LlmResponse, end: ReplyEnd): LlmResponse {
  if (reply.errorCode === INCOMPLETE_CALL) return reply;
  const calls = end.stream && reply.finishReason === undefined ? callsToRun(reply.content?.parts) : [];
  // The stream stopped after these calls, so others may be missing.
  if (calls.length > 0 && end.promptFeedback?.blockReason === undefined)
    return withoutCalls(
      reply,
      calls.map(({ name = '' }) => name),
    );
  const fault = faultOf(reply, end);
  return fault ? { ...reply, ...fault } : reply;
}

function faultOf(reply: LlmResponse, end: ReplyEnd): Pick<LlmResponse, 'errorCode' | 'errorMessage'> | undefined {
  const { promptFeedback, finishMessage, answered, stream } = end;
  const { finishReason } = reply;
  if (promptFeedback?.blockReason !== undefined) {
    const { blockReason, blockReasonMessage } = promptFeedback;
    return { errorCode: blockReason, errorMessage: blockReasonMessage ?? `the prompt was blocked: ${blockReason}` };
  }
  if (!answered) return { errorCode: 'UNKNOWN_ERROR', errorMessage: 'the service gave no candidate and no reason' };
  if (finishReason === undefined) {
    return stream
      ? { errorCode: 'NO_FINISH_REASON', errorMessage: 'the reply stopped without a finish reason' }
      : undefined;
  }
  if (finishReason === 'STOP') return undefined;
  return { errorCode: finishReason, errorMessage: finishMessage ?? `the model stopped: ${finishReason}` };
}
