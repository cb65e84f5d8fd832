import { type AuthCredential, type Content, encodeBase64, type Event, type Part } from '@eventloom/core';
import type { PersonRequest } from './conversation.ts';
import { isRecord, wrongValue } from './http.ts';

/** A message of the user: a text, parts such as files, or a whole content. */
export type ClientMessage = string | readonly Part[] | Content;

/** The answer to a `PersonRequest`. Its `kind` is that of the request. */
export type PersonAnswer =
  | { readonly kind: 'confirmation'; readonly confirmed: boolean; readonly payload?: unknown }
  | { readonly kind: 'credential'; readonly credential: AuthCredential }
  | { readonly kind: 'input'; readonly value: unknown }
  /** The result of a long-running call, or of a tool of the client. */
  | { readonly kind: 'call'; readonly response: Readonly<Record<string, unknown>> };

/** Returns a message as a content. @throws ConfigurationError */
export function toContent(message: ClientMessage): Content {
  // A list is checked below, with what programs in JavaScript may pass.
  const content: Content = isRecord(message)
    ? message
    : { parts: typeof message === 'string' ? [{ text: message }] : (message as Part[]) };
  if (Array.isArray(content.parts)) return { role: 'user', ...content };
  throw wrongValue('newMessage', 'a text or parts', message, "'Hello'");
}

/**
 * Returns the event of a message that was sent. The server does not send it back; the session has it with another id.
 * @param invocationId default: the id of the event, while the run is not known
 */
export function messageEvent(requestId: string, content: Content, invocationId?: string): Event {
  const id = `local-${requestId}`;
  const actions = { stateDelta: {}, artifactDelta: {} };
  return { id, invocationId: invocationId ?? id, author: 'user', timestamp: Date.now() / 1000, content, actions };
}

/**
 * Reads a file of the person, such as one of an `<input type="file">`, as a part of a message or an artifact: its bytes as `inlineData`,
 * its type (`application/octet-stream` if the browser knows none), and its name as `displayName`. The file is held in memory, and base64
 * adds a third; the server limits the size of a request. Rejects with the error of the browser if the file was changed or deleted
 * meanwhile.
 * @throws ConfigurationError for a value that is neither a File nor a Blob
 *
 * @example
 * async function ask(session: ClientSession, file: File): Promise<ClientRun> {
 *   return session.run([{ text: 'What is in this picture?' }, await filePart(file)]);
 * }
 */
export async function filePart(file: Blob): Promise<Part> {
  if (!(file instanceof Blob)) throw wrongValue('filePart', 'a File or a Blob', file, 'await filePart(input.files[0])');
  const data = encodeBase64(new Uint8Array(await file.arrayBuffer()));
  const displayName = 'name' in file && typeof file.name === 'string' ? file.name : undefined;
  const mimeType = file.type || 'application/octet-stream';
  return { inlineData: displayName === undefined ? { data, mimeType } : { data, mimeType, displayName } };
}

/**
 * Returns the part that answers a request. Send it alone or with others: `session.run([answerPart(request, answer)])`.
 * @throws ConfigurationError for an answer whose `kind` is not that of the request
 *
 * @example
 * function approve(session: ClientSession, request: PersonRequest): ClientRun {
 *   return session.run([answerPart(request, { kind: 'confirmation', confirmed: true })]);
 * }
 */
export function answerPart(
  { id, name, kind }: Pick<PersonRequest, 'id' | 'name' | 'kind'>,
  answer: PersonAnswer,
): Part {
  if (answer?.kind !== kind) throw wrongValue('answer', 'the kind of its request', answer?.kind, `kind: '${kind}'`);
  return { functionResponse: { id, name, response: responseOf(answer) } };
}

function responseOf(answer: PersonAnswer): Record<string, unknown> {
  switch (answer.kind) {
    case 'confirmation':
      return { confirmed: answer.confirmed, payload: answer.payload };
    case 'credential':
      return { ...answer.credential };
    case 'input':
      return { result: answer.value };
    case 'call':
      return { ...answer.response };
  }
}
