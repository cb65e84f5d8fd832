import { type Content, copyJson, InvalidMessageError } from '@eventloom/core';
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
