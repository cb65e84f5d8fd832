import {
  type FunctionCall,
  getFunctionResponses,
  inputOf,
  inputRequestOf,
  type InvocationContext,
  type ToolConfirmation,
} from '@eventloom/core';
import { type Call, Calls, confirmationOf, isSettled, refusalOf } from '@eventloom/core/internal';

/** A call that a person was asked about, and that is run again or refused because of the answers. */
export interface ResumedCall {
  readonly call: FunctionCall;
  /** The response for the model if the call is not run: the person refused, or answered too late. */
  readonly refusal: { readonly error: string } | undefined;
  readonly confirmation: ToolConfirmation | undefined;
  /** Input that the call requested, by the key of the request. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** The calls by which people were asked about the call, oldest first. */
  readonly asked: readonly FunctionCall[];
  /** The event of the newest answer. The ledger names this run of the call after it. */
  readonly eventId: string;
  /** Answers before it. The call may have been run for one of them, in a run that was interrupted. */
  readonly earlier: readonly AnswerEvent[];
}

/** The event of an answer. */
export interface AnswerEvent {
  readonly invocationId: string;
  readonly eventId: string;
}

/** By the id of the call. */
export type ResumedCalls = ReadonlyMap<string, ResumedCall>;

/** What answers to calls and requests mean for the agent that made the calls. */
export interface Answers {
  readonly resumed: ResumedCalls;
  /** True while calls of the same reply wait for a response or a person. */
  readonly isWaiting: boolean;
}

/** The calls and requests that the user's newest message answers. */
export function answeredCalls({ session, invocation }: InvocationContext): readonly Call[] {
  const message = session.events.findLast(({ author }) => author === 'user');
  if (!message || getFunctionResponses(message).length === 0) return [];
  return Calls.of(session, invocation.derived).answeredIn(message);
}

/**
 * Returns what these answered calls and requests mean for the agent that made them on its branch.
 *
 * The model is asked when it can be given all results of a reply. So the agent waits while a long-running call of the reply has no
 * response, or a person who was asked about a call did not answer. Any other call without a response was interrupted and gets none.
 *
 * A call is resumed when everything that was asked about it is answered, or one answer refuses it. Requests of other agents, and calls
 * that were imported, are left alone.
 */
export function answersTo(
  answered: readonly Call[],
  { agent, branch }: { readonly agent: { readonly name: string }; readonly branch: string | undefined },
): Answers {
  const onBranch = answered.filter(({ event }) => event.branch === branch);
  const calls = new Set(onBranch.map((call) => call.about ?? call).filter(({ isImported }) => !isImported));
  const replies = new Set([...calls].map(({ inReply }) => inReply));
  const resumed = new Map<string, ResumedCall>();
  // In the order of the calls, whatever the order of the answers.
  for (const call of [...replies].flat()) {
    if (!calls.has(call) || openRequests(call).some(({ event }) => event.author !== agent.name)) continue;
    const found = resume(call);
    if (found) resumed.set(call.id, found);
  }
  const waits = (call: Call): boolean =>
    (call.isLongRunning && call.responses.length === 0) ||
    (resumed.get(call.id)?.call !== call.call && openRequests(call).some(isUnanswered));
  return { resumed, isWaiting: [...replies].flat().some(waits) };
}

/** Undefined for a call without open requests, and while one of them is unanswered and none refuses the call. */
function resume(call: Call): ResumedCall | undefined {
  const open = openRequests(call);
  const refusal = firstOf(open, refusalIn);
  if (!refusal && open.some(isUnanswered)) return undefined;
  const [newest, ...earlier] = answerEvents(open);
  if (!newest) return undefined;
  const requests = call.requests.toReversed();
  const confirmation = firstOf(requests, confirmationIn);
  return {
    call: call.call,
    refusal,
    confirmation,
    inputs: inputsIn(requests),
    asked: call.requests.map((request) => request.call),
    eventId: newest.eventId,
    earlier,
  };
}

/** Newest first. */
function openRequests({ requests }: Call): Call[] {
  return requests.filter((request) => !isSettled(request)).reverse();
}

function isUnanswered({ responses }: Call): boolean {
  return responses.length === 0;
}

/** The events that answer these requests, each once, newest first. */
function answerEvents(requests: readonly Call[]): AnswerEvent[] {
  const answers = requests.flatMap(({ responses }) => responses).sort((one, other) => other.position - one.position);
  const byPosition = new Map(answers.map(({ position, event }) => [position, event]));
  return Array.from(byPosition.values(), ({ invocationId, id }) => ({ invocationId, eventId: id }));
}

function confirmationIn({ call, responses }: Call): ToolConfirmation | undefined {
  return confirmationOf(call, responses.at(-1)?.response);
}

function refusalIn({ call, responses }: Call): { readonly error: string } | undefined {
  return refusalOf(call, responses.at(-1)?.response);
}

/** The newest input under each key. @param requests newest first */
function inputsIn(requests: readonly Call[]): ReadonlyMap<string, unknown> {
  const inputs = new Map<string, unknown>();
  for (const { call, responses } of requests) {
    const key = inputRequestOf(call)?.key;
    const value = inputOf(responses.at(-1)?.response);
    if (key !== undefined && value !== undefined && !inputs.has(key)) inputs.set(key, value);
  }
  return inputs;
}

function firstOf<T>(requests: readonly Call[], read: (request: Call) => T | undefined): T | undefined {
  for (const request of requests) {
    const value = read(request);
    if (value !== undefined) return value;
  }
  return undefined;
}
