import {
  type Event,
  type FunctionCall,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  REQUEST_INPUT,
  type VendorValue,
} from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { recordOf, requireEvent, requireEvents } from './check-arguments.ts';

/** The kind of answer that an agent waits for. */
export type UserInputKind = 'input' | 'credential' | 'confirmation';

/** A question of an agent to a person. */
export interface UserInputRequest {
  /** The id of the function call, to which the answer is a function response. */
  readonly interruptId: string;
  readonly functionCallName: string;
  readonly author: string;
  readonly kind: UserInputKind;
  readonly message?: string | undefined;
  readonly payload?: unknown;
  /** JSON Schema of the answer to a request for input. */
  readonly responseSchema?: unknown;
  /** The `AuthConfig` of a request for a credential. */
  readonly authConfig?: VendorValue;
  /** The tool whose call is to be confirmed. */
  readonly toolName?: string | undefined;
}

/** Returns the requests for input in an event, in the order of its parts. */
export function getUserInputRequests(event: Event): UserInputRequest[] {
  requireEvent('getUserInputRequests', event);
  return (event.content?.parts ?? []).flatMap(({ functionCall }) => requestIn(functionCall, event.author) ?? []);
}

/** Returns the request that a call makes; undefined for a call of a tool. */
function requestIn({ name, id, args = {} }: FunctionCall = {}, author: string): UserInputRequest | undefined {
  const interruptId = id ?? textOf(args['interruptId']) ?? textOf(args['functionCallId']);
  if (name === undefined || interruptId === undefined) return undefined;
  const base = { interruptId, functionCallName: name, author };
  switch (name) {
    case REQUEST_INPUT:
      return {
        ...base,
        kind: 'input',
        message: textOf(args['message']),
        payload: args['payload'] ?? undefined,
        responseSchema: args['response_schema'] ?? args['responseSchema'] ?? undefined,
      };
    case REQUEST_CREDENTIAL: {
      const authConfig: unknown = args['authConfig'] ?? args['auth_config'] ?? undefined;
      return { ...base, kind: 'credential', message: textOf(args['message']), authConfig };
    }
    case REQUEST_CONFIRMATION: {
      const { hint, payload } = recordOf(args['toolConfirmation']);
      const toolName = textOf(recordOf(args['originalFunctionCall'])['name']);
      return { ...base, kind: 'confirmation', message: textOf(hint)?.trim() || undefined, payload, toolName };
    }
    default:
      return undefined;
  }
}

/** Returns true for an event with a request to a person. */
export function requiresUserInput(event: Event): boolean {
  requireEvent('requiresUserInput', event);
  return getUserInputRequests(event).length > 0;
}

/**
 * Returns the questions of these events that no function response among them answers, oldest first, each once. Leaves
 * out those of events that a rewind removed.
 */
export function getPendingUserInputRequests(events: readonly Event[]): UserInputRequest[] {
  requireEvents('getPendingUserInputRequests', events);
  const calls = new Calls(events);
  return calls.all.flatMap((call) => {
    const isPending = call.responses.length === 0 && !calls.isReplaced(call);
    return (isPending && requestIn(call.call, call.event.author)) || [];
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
