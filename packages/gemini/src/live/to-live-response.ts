import type { LiveLlmResponse, Part, Transcription, UsageMetadata } from '@eventloom/core';
import { statusCode } from '@eventloom/core/internal';
import type { LiveMessage, LiveServerContent, LiveUsage } from './live-message.ts';

/** Reasons for the end of a turn that are not errors. */
const PLAIN_REASONS: readonly string[] = ['TURN_COMPLETE_REASON_UNSPECIFIED', 'NEED_MORE_INPUT', 'STOP'];

/**
 * Converts a message of the service to one response with all of its content; undefined for a message without any (`setupComplete`, an empty
 * `serverContent`, signals of voice activity). Parts and transcriptions are unchanged.
 */
export function toLiveResponse(message: LiveMessage): LiveLlmResponse | undefined {
  const response: LiveLlmResponse = {};
  const { serverContent, toolCall, toolCallCancellation, usageMetadata, sessionResumptionUpdate, goAway } = message;
  if (serverContent) addServerContent(response, serverContent);
  const calls = toolCall?.functionCalls;
  if (calls?.length) {
    const parts: Part[] = calls.map((functionCall) => ({ functionCall }));
    response.content = { role: 'model', parts: [...(response.content?.parts ?? []), ...parts] };
  }
  if (toolCallCancellation?.ids?.length) response.toolCallCancellation = { ids: [...toolCallCancellation.ids] };
  if (usageMetadata) response.usageMetadata = toUsage(usageMetadata);
  if (sessionResumptionUpdate) {
    const { newHandle, resumable } = sessionResumptionUpdate;
    response.liveSessionResumptionUpdate = {
      ...(newHandle !== undefined && { newHandle }),
      ...(resumable !== undefined && { resumable }),
    };
  }
  if (goAway) {
    const timeLeftMs = toMs(goAway.timeLeft);
    response.goAway = timeLeftMs === undefined ? {} : { timeLeftMs };
  }
  if (message.error) {
    const { status, code, message: text } = message.error;
    response.errorCode = status ?? (code === undefined ? 'UNKNOWN' : errorCodeOfStatus(code));
    if (text !== undefined) response.errorMessage = text;
  }
  for (const _ in response) return response;
  return undefined;
}

function addServerContent(response: LiveLlmResponse, content: LiveServerContent): void {
  const { modelTurn, inputTranscription, outputTranscription, turnCompleteReason } = content;
  const { groundingMetadata, urlContextMetadata } = content;
  if (modelTurn?.parts?.length) response.content = { role: modelTurn.role ?? 'model', parts: modelTurn.parts };
  if (saysSomething(inputTranscription)) response.inputTranscription = inputTranscription;
  if (saysSomething(outputTranscription)) response.outputTranscription = outputTranscription;
  if (content.generationComplete) response.generationComplete = true;
  if (content.interrupted) response.interrupted = true;
  if (content.turnComplete) response.turnComplete = true;
  if (groundingMetadata) response.groundingMetadata = groundingMetadata;
  if (urlContextMetadata) response.urlContextMetadata = urlContextMetadata;
  if (turnCompleteReason === undefined) return;
  response.finishReason = turnCompleteReason;
  if (PLAIN_REASONS.includes(turnCompleteReason)) return;
  response.errorCode = turnCompleteReason;
  response.errorMessage = `the model ended its turn: ${turnCompleteReason}`;
}

/** Returns the error code for an HTTP status, and any other number as text. */
export function errorCodeOfStatus(code: number): string {
  return code >= 400 && code < 600 ? statusCode(code) : String(code);
}

/** True for a transcription that has text or marks its end. The service also sends empty ones. */
function saysSomething(transcription: Transcription | undefined): transcription is Transcription {
  return transcription !== undefined && (Boolean(transcription.text) || transcription.finished === true);
}

/** Renames the count of output tokens, which has a different name in each service. */
function toUsage(usage: LiveUsage): UsageMetadata {
  const { responseTokenCount, responseTokensDetails, ...rest } = usage;
  return {
    ...rest,
    ...(responseTokenCount !== undefined && { candidatesTokenCount: responseTokenCount }),
    ...(responseTokensDetails !== undefined && { candidatesTokensDetails: responseTokensDetails }),
  };
}

/** Converts a protobuf duration to milliseconds. Undefined for any other value. */
function toMs(duration: string | undefined): number | undefined {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(duration ?? '')?.[1];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}
