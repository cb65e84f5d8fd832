import {
  type Content,
  type Event,
  type FunctionResponse,
  getFunctionCalls,
  InvalidMessageError,
  newestFirst,
  type Part,
} from '@eventloom/core';
import type { ValueSchema } from '@eventloom/tools';
import { findCall, isAnswered } from './answered-run.ts';
import { RequestAnswers, type RequestAnswersParams } from './request-answers.ts';

/** A message, and the events with the calls that it answers: one for each of its function responses, in their order. */
export interface MatchedMessage {
  readonly message: Content;
  readonly calls: readonly Event[];
  /** Undefined for a message without function responses. */
  readonly answers: RequestAnswers | undefined;
}

/** How answers are matched with calls. */
export interface MatchParams extends RequestAnswersParams {
  /** The run that is resumed: only its calls can be answered. Models may give calls of several runs the same ids. */
  readonly invocationId?: string | undefined;
}

/**
 * The message with the name of its call in every function response, and answers to questions as they are stored.
 * @param before the answers of the message that this one takes the place of
 * @throws InvalidMessageError when a response answers no call of the session, or one that has its final answer, and for an answer to a
 * question that is none
 */
export async function matchAnswers(
  message: Content,
  params: MatchParams,
  Schema: typeof ValueSchema,
  before?: RequestAnswers,
): Promise<MatchedMessage> {
  const { invocationId, ...answering } = params;
  const newest = [...newestFirst(params.events)].filter(
    (event) => invocationId === undefined || event.invocationId === invocationId,
  );
  const answers = new RequestAnswers({ ...answering, events: newest }, Schema, before);
  const calls: Event[] = [];
  const parts: Part[] = [];
  for (const part of message.parts ?? []) {
    if (!part.functionResponse) continue;
    const functionResponse = await matched(part.functionResponse, newest, calls, answers, invocationId);
    // Beside an answer to a question nothing is kept: it may hold what was taken out of the answer.
    parts.push(answers.has(functionResponse) ? { functionResponse } : { ...part, functionResponse });
  }
  return { message: { ...message, parts }, calls, answers };
}

/** @param events the newest first */
function matched(
  response: FunctionResponse,
  events: readonly Event[],
  calls: Event[],
  answers: RequestAnswers,
  invocationId: string | undefined,
): FunctionResponse | Promise<FunctionResponse> {
  const { id = '', name } = response;
  const asked = findCall(events, id, calls);
  const call = asked && getFunctionCalls(asked).find((other) => other.id === id);
  if (!asked || !call) {
    const where = invocationId === undefined ? 'this session' : `the run ${JSON.stringify(invocationId)}`;
    return fail(`there is no call with the id ${JSON.stringify(id)} in ${where}`);
  }
  if (isAnswered(events, asked, id) && !asked.longRunningToolIds?.includes(id))
    fail(`the call ${JSON.stringify(id)} has its answer already`);
  if (name !== undefined && name !== call.name)
    fail(`the call ${JSON.stringify(id)} is of ${JSON.stringify(call.name)}, not of ${JSON.stringify(name)}`);
  calls.push(asked);
  return answers.read({ ...response, name: call.name ?? '' }, call, asked);
}

function fail(fault: string): never {
  throw new InvalidMessageError(`newMessage: ${fault}`);
}
