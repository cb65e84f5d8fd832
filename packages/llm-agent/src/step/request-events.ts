import {
  askedCallId,
  enclosureOf,
  type Event,
  type EventActions,
  type FunctionCall,
  inputRequestOf,
  type InvocationContext,
  type Part,
} from '@eventloom/core';
import { personRequests } from '@eventloom/core/internal';

/**
 * What the model is told of a call while a person is asked about it: what the tool said, or that it waits. An agent that is called
 * as a tool can wait in a resumable run only: in others its questions are taken back, and its model is told so.
 */
export function whileAsking(
  context: InvocationContext,
  actions: EventActions,
  response: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (enclosureOf(context.branch) !== '' && !context.isResumable) {
    delete actions.requestedAuthConfigs;
    delete actions.requestedToolConfirmations;
    delete actions.requestedInputs;
    return {
      error:
        'This tool call needs an answer of a person, for which an agent that is a tool can wait in a resumable run only.',
    };
  }
  if (response) return response;
  return { error: `This tool call requires ${whatIsAsked(actions)}.` };
}

function whatIsAsked({ requestedToolConfirmations, requestedAuthConfigs }: EventActions): string {
  if (requestedToolConfirmations) return 'confirmation, please approve or reject';
  return requestedAuthConfigs ? 'a credential' : 'input of a person';
}

/**
 * The events by which a client is asked, for credentials first: calls of the runtime's own that are answered by function
 * responses. What was asked before is not asked again.
 * @throws ConfigurationError as `personRequests`
 */
export function requestEvents(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
  before: readonly FunctionCall[] = [],
): Event[] {
  const isNew = ({ functionCall: call = {} }: Part): boolean =>
    !before.some(
      (earlier) =>
        call.name === earlier.name &&
        askedCallId(call) === askedCallId(earlier) &&
        inputRequestOf(call)?.key === inputRequestOf(earlier)?.key,
    );
  return personRequests(context, calls, actions).flatMap((requests) => {
    const parts = requests.filter(isNew);
    const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
    return parts.length > 0 ? context.createEvent({ content: { role: 'model', parts }, longRunningToolIds }) : [];
  });
}
