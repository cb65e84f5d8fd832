import {
  AgentError,
  createErrorEvent,
  type Event,
  type EventParams,
  EventloomError,
  ModelError,
  toError,
} from '@eventloom/core';

/** What a run throws: why it was aborted, Eventloom's own errors as they are, anything else as the cause of an AgentError. */
export function toRunError(thrown: unknown, abortReason: EventloomError | undefined): EventloomError {
  // Work that was under way fails with an error of its own; the abort says why.
  if (abortReason) return abortReason;
  if (EventloomError.isInstance(thrown)) return thrown;
  const error = toError(thrown);
  return new AgentError(error.message === '' ? error.name : error.message, { cause: thrown });
}

/** The event that tells of a failed run. */
export function runErrorEvent(params: EventParams, error: EventloomError): Event {
  return createErrorEvent(params, ModelError.isInstance(error) ? error.errorCode : error.code, error.message);
}
