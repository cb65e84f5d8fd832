import { ModelError } from '@eventloom/core';

/**
 * True for an error of a model's service, whose message is in the event of the agent: the ADK only yields the event.
 * The event does not have the message of an error that a model class of the program throws.
 */
export function isServiceError(error: unknown): error is ModelError {
  return ModelError.isInstance(error) && error.message === error.publicMessage;
}
