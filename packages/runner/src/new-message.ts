import {
  type Content,
  copyJson,
  type Event,
  type FunctionResponse,
  getFunctionCalls,
  getFunctionResponses,
  InvalidMessageError,
} from '@eventloom/core';
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

/**
 * The message with the name of its call in every function response.
 * @throws InvalidMessageError when a response answers no call of the session, or one that has its final answer
 */
export function matchFunctionResponses(message: Content, events: readonly Event[]): Content {
  if (!message.parts?.some((part) => part.functionResponse)) return message;
  const parts = message.parts.map((part) =>
    part.functionResponse ? { ...part, functionResponse: matched(part.functionResponse, events) } : part,
  );
  return { ...message, parts };
}

function matched(response: FunctionResponse, events: readonly Event[]): FunctionResponse {
  let isAnswered = false;
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index] as Event;
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
    return { ...response, name: call.name ?? '' };
  }
  return fail(`there is no call with the id ${JSON.stringify(response.id)} in this session`);
}
