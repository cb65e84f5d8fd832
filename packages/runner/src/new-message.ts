import {
  type Content,
  copyJson,
  type Event,
  type FunctionResponse,
  getFunctionCalls,
  InvalidMessageError,
  newestFirst,
  type Part,
} from '@eventloom/core';
import { findCall, isAnswered } from './answered-run.ts';
import { RequestAnswers, type RequestAnswersParams } from './request-answers.ts';
import { faultOfUserPart } from './user-part.ts';

/**
 * A copy of the message of a new run, with its role.
 * @throws InvalidMessageError when it is empty, not JSON, not the user's, holds function calls, or mixes function responses with
 * anything else
 */
export function checkNewMessage(message: Content): Content {
  const copied = copyJson(message);
  if ('fault' in copied) fail(`at ${copied.fault.path || 'its root'} ${copied.fault.reason}`);
  const content = copied.value as Content;
  if (typeof content !== 'object' || content === null || !Array.isArray(content.parts) || content.parts.length === 0)
    fail('has no parts');
  if (content.role !== undefined && content.role !== 'user')
    fail(`has the role ${JSON.stringify(content.role)}; what starts a run has the role "user"`);
  let responses = 0;
  for (const [index, part] of content.parts.entries()) {
    const fault = faultOfUserPart(part);
    if (fault !== undefined) fail(`parts[${index}] ${fault}`);
    if (part.functionResponse) responses++;
  }
  if (responses > 0 && responses < content.parts.length)
    fail('mixes function responses with other parts; send them in messages of their own');
  if (content.parts.every((part) => part.text?.trim() === '')) fail('is empty');
  return { ...content, role: 'user' };
}

function fail(fault: string): never {
  throw new InvalidMessageError(`newMessage: ${fault}`);
}

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
export async function matchFunctionResponses(
  message: Content,
  params: MatchParams,
  before?: RequestAnswers,
): Promise<MatchedMessage> {
  if (!message.parts?.some((part) => part.functionResponse)) return { message, calls: NO_CALLS, answers: undefined };
  const { invocationId, ...answering } = params;
  const newest = [...newestFirst(params.events)].filter(
    (event) => invocationId === undefined || event.invocationId === invocationId,
  );
  const answers = new RequestAnswers({ ...answering, events: newest }, before);
  const calls: Event[] = [];
  const parts: Part[] = [];
  for (const part of message.parts) {
    if (!part.functionResponse) continue;
    const functionResponse = await matched(part.functionResponse, newest, calls, answers, invocationId);
    // Beside an answer to a question nothing is kept: it may hold what was taken out of the answer.
    parts.push(answers.has(functionResponse) ? { functionResponse } : { ...part, functionResponse });
  }
  return { message: { ...message, parts }, calls, answers };
}

const NO_CALLS: readonly Event[] = [];

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
