import type { Event, FunctionCall, ToolConfirmation } from '@eventloom/core';
import {
  Calls,
  confirmationOf,
  inputOf,
  inputRequestOf,
  answersToUnsettled,
  unsettledRequests,
  stateOf,
  type SessionCall,
  refusalOf,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import { prepareTools } from './request.ts';
import { type CallBatch, RunningCalls, type StepEnd } from './running-calls.ts';

/** A tool call that waited for a person who has answered: the call runs again, or gets the refusal as its response. */
export interface AnsweredCall {
  readonly call: FunctionCall;
  /** The response for the model if the call is not run: no credential was given, or the answer arrived too late. */
  readonly refusal: { readonly error: string } | undefined;
  /** The answer to a confirmation request; undefined if none was requested. */
  readonly confirmation: ToolConfirmation | undefined;
  /** Inputs that the call requested, by the key of their request. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** The requests to people about the call, oldest first. */
  readonly requests: readonly FunctionCall[];
  /** The id of the event with the newest answer. It is part of the call's key in the tool ledger. */
  readonly eventId: string;
  /** The earlier answers. An interrupted run may have run the call for one of them. */
  readonly earlier: readonly AnswerEvent[];
}

/** Identifies the event of an answer. */
interface AnswerEvent {
  readonly invocationId: string;
  readonly eventId: string;
}

/** Answered calls by the id of the call. */
export type AnsweredCalls = ReadonlyMap<string, AnsweredCall>;

/** The effect of answers on the agent that made the calls. */
export interface AnswerEffect {
  /** The calls that run again now, or get the refusal as their response. */
  readonly toSettle: AnsweredCalls;
  /** The other calls of the same replies that still wait for a response or a person. */
  readonly waiting: readonly SessionCall[];
}

/** Runs the calls that the user messages of a run answered, which earlier runs made. */
export async function* finishAnsweredStep(turn: AgentTurn): AsyncGenerator<Event, StepEnd, void> {
  const { context } = turn;
  const { session, invocation, invocationId } = context;
  const { resumedLog, ledger } = invocation;
  const { events } = session;
  const isMessage = ({ author }: Event): boolean => author === 'user';
  const last = events.findLastIndex(isMessage);
  // Answers to calls on several branches are several events, one after the other.
  let first = last;
  while (events[first - 1]?.author === 'user' && events[first - 1]?.invocationId === events[last]?.invocationId)
    first--;
  const messages = new Set([...(resumedLog?.events.filter(isMessage) ?? []), ...events.slice(first, last + 1)]);
  const calls = Calls.of(invocation);
  const { toSettle, waiting } = effectOfAnswers(
    [...messages].flatMap((message) => calls.respondedIn(message)),
    context,
  );
  let end: StepEnd = 'callsModel';
  if (toSettle.size > 0) {
    const { tools, changes } = await prepareTools(turn);
    if (changes) yield changes;
    const entries = resumedLog ? await ledger.listToolCalls(invocationId) : [];
    const recorded = new Map(entries.map((entry) => [entry.entryId, entry]));
    const outcome = yield* startAnswered({ turn, tools, eventId: '', entries: recorded }, toSettle).events();
    if (outcome.event) yield outcome.event;
    end = outcome.end;
  }
  if (end === 'waits' || end === 'ends' || waiting.length === 0) return end;
  // The answers to calls of an earlier run start new runs, so this one does not wait for them.
  const isAwaitedHere = waiting.some(({ event }) => event.invocationId === invocationId);
  return isAwaitedHere || end === 'asks' ? 'waits' : 'ends';
}

/** Runs the answered calls again, also those that a person rejected. Responds to calls with a refusal without running them. */
export function startAnswered(batch: Omit<CallBatch, 'calls' | 'answered'>, answered: AnsweredCalls): RunningCalls {
  const calls = Array.from(answered.values(), ({ call }) => call);
  return new RunningCalls({ ...batch, calls, answered });
}

/**
 * Determines which calls run again because of the answers, and whether the agent still has to wait.
 *
 * The model is called once all results of a reply are known. So the agent waits while a long-running call of the reply
 * has no response, or a person did not answer a request about a call. Any other call without a response was interrupted
 * and never gets one.
 *
 * A call is settled when all requests about it are answered, or one answer is a no, came too late or has no credential. It
 * runs again, except in the last two cases: then its response is the `refusal`. Requests of other agents or branches and
 * imported calls are ignored.
 */
export function effectOfAnswers(
  answered: readonly SessionCall[],
  { agent, branch }: { readonly agent: { readonly name: string }; readonly branch: string | undefined },
): AnswerEffect {
  const onBranch = answered.filter((call) => call.branch === branch);
  const calls = new Set(onBranch.map((call) => call.about ?? call).filter(({ isImported }) => !isImported));
  const replies = new Set([...calls].map(({ inReply }) => inReply));
  const toSettle = new Map<string, AnsweredCall>();
  // In the order of the calls, independent of the order of the answers.
  for (const call of [...replies].flat()) {
    if (!calls.has(call) || unsettledRequests(call).some(({ event }) => event.author !== agent.name)) continue;
    const found = toAnsweredCall(call);
    if (found) toSettle.set(call.id, found);
  }
  const waits = (call: SessionCall): boolean =>
    call.event.author === agent.name &&
    ((call.isLongRunning && call.responses.length === 0) ||
      (toSettle.get(call.id)?.call !== call.call && stateOf(call) === 'asked'));
  return { toSettle, waiting: [...replies].flat().filter(waits) };
}

/** Returns undefined without unsettled requests, and while a request is unanswered and no answer settles the call. */
function toAnsweredCall(call: SessionCall): AnsweredCall | undefined {
  const unsettled = unsettledRequests(call).toReversed();
  const refusal = firstOf(unsettled, refusalIn);
  const isRejected = unsettled.some((request) => confirmationIn(request)?.confirmed === false);
  if (!refusal && !isRejected && stateOf(call) === 'asked') return undefined;
  const [newest, ...earlier] = answersToUnsettled(call).map(({ event: { invocationId, id } }) => ({
    invocationId,
    eventId: id,
  }));
  if (!newest) return undefined;
  const requests = call.requests.toReversed();
  const confirmation = firstOf(requests, confirmationIn);
  return {
    call: call.call,
    refusal,
    confirmation,
    inputs: inputsIn(requests),
    requests: call.requests.map((request) => request.call),
    eventId: newest.eventId,
    earlier,
  };
}

function confirmationIn({ call, responses }: SessionCall): ToolConfirmation | undefined {
  return confirmationOf(call, responses.at(-1)?.response);
}

function refusalIn({ call, responses }: SessionCall): { readonly error: string } | undefined {
  return refusalOf(call, responses.at(-1)?.response);
}

/** Returns the newest input for each key. @param requests the requests about a call, newest first */
function inputsIn(requests: readonly SessionCall[]): ReadonlyMap<string, unknown> {
  const inputs = new Map<string, unknown>();
  for (const { call, responses } of requests) {
    const key = inputRequestOf(call)?.key;
    const value = inputOf(responses.at(-1)?.response);
    if (key !== undefined && value !== undefined && !inputs.has(key)) inputs.set(key, value);
  }
  return inputs;
}

function firstOf<T>(requests: readonly SessionCall[], read: (request: SessionCall) => T | undefined): T | undefined {
  for (const request of requests) {
    const value = read(request);
    if (value !== undefined) return value;
  }
  return undefined;
}
