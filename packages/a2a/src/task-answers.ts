import { type Content, type FunctionCall, type Part, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { isFunctionResponse, toPart } from './parts.ts';
import type { A2AMessage } from './wire.ts';

/** Converts the parts of a message. @throws A2AProtocolError that names the part */
export function toContent({ parts }: A2AMessage): Content {
  return { role: 'user', parts: parts.map((part, index) => toPart(`params.message.parts[${index}]`, part)) };
}

/**
 * Returns the message with which a client answers the requests that its task waits for: the responses in its parts, or
 * its text or data if the task waits for one answer. Undefined if it answers nothing.
 */
export function toAnswers(message: A2AMessage, waiting: readonly FunctionCall[]): Content | undefined {
  const responses = message.parts.filter(isFunctionResponse);
  if (responses.length > 0) return toContent({ ...message, parts: responses });
  const [call, ...others] = waiting;
  if (!call || others.length > 0) return undefined;
  const given = message.parts.find(({ data }) => isRecord(data))?.data;
  const text = message.parts
    .flatMap((part) => part.text ?? [])
    .join('\n')
    .trim();
  const response = isRecord(given) ? given : responseOf(call, text);
  if (!response) return undefined;
  const { id, name } = call;
  const functionResponse: Part['functionResponse'] = {
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    response,
  };
  return { role: 'user', parts: [{ functionResponse }] };
}

/**
 * Returns the response to a call that a text contains; undefined if it contains none. Only an exact yes or no confirms
 * or refuses a call: a misread word would run a tool.
 */
function responseOf({ name }: FunctionCall, text: string): Record<string, unknown> | undefined {
  if (text === '' || name === REQUEST_CREDENTIAL) return undefined;
  if (name !== REQUEST_CONFIRMATION) return { result: text };
  const word = text.toLowerCase().replace(/[.!]$/, '');
  return word === 'yes' || word === 'no' ? { confirmed: word === 'yes' } : undefined;
}
