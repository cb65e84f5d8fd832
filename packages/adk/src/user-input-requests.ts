import { type Event, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT } from '@eventloom/core';
import { requireEvent, requireEvents } from './check-arguments.ts';

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
  /** The credential that a request for a credential needs. */
  readonly authConfig?: unknown;
  /** The tool whose call is to be confirmed. */
  readonly toolName?: string | undefined;
}

/** Returns the requests for input in an event, in the order of its parts. */
export function getUserInputRequests(event: Event): UserInputRequest[] {
  requireEvent('getUserInputRequests', event);
  return (event.content?.parts ?? []).flatMap(({ functionCall }): UserInputRequest[] => {
    const { name, id, args = {} } = functionCall ?? {};
    const interruptId = id ?? textOf(args['interruptId']) ?? textOf(args['functionCallId']);
    if (name === undefined || interruptId === undefined) return [];
    const base = { interruptId, functionCallName: name, author: event.author };
    switch (name) {
      case REQUEST_INPUT:
        return [
          {
            ...base,
            kind: 'input',
            message: textOf(args['message']),
            payload: args['payload'] ?? undefined,
            responseSchema: args['response_schema'] ?? args['responseSchema'] ?? undefined,
          },
        ];
      case REQUEST_CREDENTIAL: {
        const authConfig = args['authConfig'] ?? args['auth_config'] ?? undefined;
        return [{ ...base, kind: 'credential', message: textOf(args['message']), authConfig }];
      }
      case REQUEST_CONFIRMATION: {
        const { hint, payload } = recordOf(args['toolConfirmation']);
        const toolName = textOf(recordOf(args['originalFunctionCall'])['name']);
        return [{ ...base, kind: 'confirmation', message: textOf(hint)?.trim() || undefined, payload, toolName }];
      }
      default:
        return [];
    }
  });
}

/** Returns true for an event with a request to a person. */
export function requiresUserInput(event: Event): boolean {
  requireEvent('requiresUserInput', event);
  return getUserInputRequests(event).length > 0;
}

/** Returns the questions of these events that no function response among them answers, oldest first, each once. */
export function getPendingUserInputRequests(events: readonly Event[]): UserInputRequest[] {
  requireEvents('getPendingUserInputRequests', events);
  const answered = new Set(
    events.flatMap(({ content }) => content?.parts?.flatMap((part) => part.functionResponse?.id ?? []) ?? []),
  );
  const pending = new Map<string, UserInputRequest>();
  for (const request of events.flatMap(getUserInputRequests))
    if (!answered.has(request.interruptId) && !pending.has(request.interruptId))
      pending.set(request.interruptId, request);
  return [...pending.values()];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
