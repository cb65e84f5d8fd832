import {
  type Content,
  copyJson,
  enclosureOf,
  type Event,
  type FunctionResponse,
  getFunctionCalls,
  getFunctionResponses,
  InvalidMessageError,
  newestFirst,
} from '@eventloom/core';
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

/** A message, and the events with the calls that it answers: one for each of its function responses. */
export interface MatchedMessage {
  readonly message: Content;
  readonly calls: readonly Event[];
  /** Undefined for a message without function responses. */
  readonly answers: RequestAnswers | undefined;
}

/**
 * The message with the name of its call in every function response, and answers to questions of tools as they are stored.
 * @param before the answers of the message that this one takes the place of
 * @throws InvalidMessageError when a response answers no call of the session, or one that has its final answer
 */
export function matchFunctionResponses(
  message: Content,
  answering: RequestAnswersParams,
  before?: RequestAnswers,
): MatchedMessage {
  if (!message.parts?.some((part) => part.functionResponse)) return { message, calls: NO_CALLS, answers: undefined };
  const answers = new RequestAnswers(answering, before);
  const calls: Event[] = [];
  const parts = message.parts.map((part) => {
    if (!part.functionResponse) return part;
    const functionResponse = matched(part.functionResponse, answering.events, calls, answers);
    // Beside an answer to a question nothing is kept: it may hold what was taken out of the answer.
    return answers.has(functionResponse) ? { functionResponse } : { ...part, functionResponse };
  });
  return { message: { ...message, parts }, calls, answers };
}

const NO_CALLS: readonly Event[] = [];

function matched(
  response: FunctionResponse,
  events: readonly Event[],
  calls: Event[],
  answers: RequestAnswers,
): FunctionResponse {
  let isAnswered = false;
  for (const event of newestFirst(events)) {
    // What an agent does that is called as a tool is between it and its caller.
    if (enclosureOf(event.branch) !== '') continue;
    isAnswered ||= getFunctionResponses(event).some((other) => other.id === response.id);
    const call = getFunctionCalls(event).find((other) => other.id === response.id);
    if (!call) continue;
    const isLongRunning = event.longRunningToolIds?.includes(response.id ?? '') ?? false;
    if (isAnswered && !isLongRunning) fail(`the call ${JSON.stringify(response.id)} has its answer already`);
    if (response.name !== undefined && response.name !== call.name) {
      fail(
        `the call ${JSON.stringify(response.id)} is of ${JSON.stringify(call.name)}, not of ${JSON.stringify(response.name)}`,
      );
    }
    calls.push(event);
    return answers.read({ ...response, name: call.name ?? '' }, call, event);
  }
  return fail(`there is no call with the id ${JSON.stringify(response.id)} in this session`);
}
