import { InvalidMessageError, isRecord } from '@eventloom/core';

type JsonRecord = Readonly<Record<string, unknown>>;

/** The answer to a question. Clients of the ADK may send it as JSON text under `response`. @throws InvalidMessageError for other text there */
export function unwrappedAnswer(id: string, response: JsonRecord): JsonRecord {
  const text = response['response'];
  if (typeof text !== 'string' || Object.keys(response).length > 1) return response;
  const value = parseJson(text);
  if (isRecord(value)) return value;
  return failAnswer(id, 'has an answer whose response is not the JSON of an object');
}

/** The value that a text is the JSON of; undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Refuses an answer. Nothing of an answer to a question may be in the message: it may be a secret. @throws InvalidMessageError */
export function failAnswer(id: string, fault: string): never {
  throw new InvalidMessageError(`newMessage: the request ${JSON.stringify(id)} ${fault}`);
}
