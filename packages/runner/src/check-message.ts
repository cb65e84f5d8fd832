import { type Content, InvalidEventError, InvalidMessageError, type Part } from '@eventloom/core';
import { describeKind, isBase64, isRecord, sealContent } from '@eventloom/core/internal';

/**
 * Returns a checked and frozen copy of the message of a new run, with its role; its event and the model requests share
 * the copy.
 *
 * @throws InvalidMessageError if it is empty, is not JSON, has another role than `user`, has function calls, or mixes
 * function responses with other parts
 */
export function checkNewMessage(given: Content | string): Content {
  const message = typeof given === 'string' ? { parts: [{ text: given }] } : given;
  if (!isRecord(message)) fail(`expected a text or an object, got ${describeKind(message)}; ${EXAMPLE}`);
  if (!Array.isArray(message.parts) || message.parts.length === 0) fail(`has no parts; ${EXAMPLE}`);
  const { role = 'user', parts } = message;
  if (role !== 'user') fail(`has the role ${String(JSON.stringify(role)).slice(0, 60)}; write role: "user"`);
  let responses = 0;
  let isEmpty = true;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    if (typeof part !== 'object' || part === null)
      fail(`parts[${index}]: expected an object, got ${shown(part)}; write { text: 'hello' }`);
    const fault = faultOfUserPart(part);
    if (fault !== undefined) fail(`parts[${index}] ${fault}`);
    if (part.functionResponse) responses++;
    if (part.text?.trim() !== '') isEmpty = false;
  }
  if (responses > 0 && responses < parts.length)
    fail('mixes function responses with other parts; send them in separate messages');
  if (isEmpty) fail('is empty: its text has only blanks');
  try {
    return sealContent(message.role === undefined ? { ...message, role } : message);
  } catch (error) {
    if (!InvalidEventError.isInstance(error)) throw error;
    return fail(error.message.replace('content.', ''));
  }
}

const EXAMPLE = "write 'hello', or { role: 'user', parts: [{ text: 'hello' }] }";

/** Returns a short text in quotes, and the kind of any other value. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return describeKind(value);
  return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
}

function fail(fault: string): never {
  throw new InvalidMessageError(`newMessage: ${fault}`);
}

/** The payloads that a user's part may have, each with a check that returns the fault. */
const PAYLOADS: Readonly<Record<string, (part: Part) => string | undefined>> = {
  text: ({ text }) => (typeof text === 'string' ? undefined : 'has a text that is not a string'),
  inlineData: ({ inlineData }) => {
    if (!isText(inlineData?.mimeType)) return 'has inlineData without a mimeType';
    if (isBytes(inlineData?.data)) return undefined;
    return "has inlineData whose data is empty or not base64; write data: bytes.toString('base64')";
  },
  fileData: ({ fileData }) => (isText(fileData?.fileUri) ? undefined : 'has fileData without a fileUri'),
  functionResponse: ({ functionResponse }) => {
    if (!isText(functionResponse?.id)) return 'is a function response without the id of its call';
    const response: unknown = functionResponse?.response ?? {};
    const isObject = typeof response === 'object' && !Array.isArray(response);
    return isObject ? undefined : 'is a function response whose response is not an object';
  },
};

/** Payloads that only models write. */
const MODEL_PAYLOADS = ['functionCall', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const;

/** Returns the fault of a part of a user's message, to follow "parts[n] "; undefined for a valid part. */
function faultOfUserPart(part: Part): string | undefined {
  let fields = 0;
  for (const _ in part) fields++;
  if (typeof part.text === 'string' && fields === 1) return undefined;
  for (const payload of MODEL_PAYLOADS) if (part[payload]) return `is a ${payload}; only models make those`;
  if (part.thought === true) return 'is a thought; only models have those';
  const given = Object.keys(PAYLOADS).filter((key) => (part[key as keyof Part] ?? undefined) !== undefined);
  const [payload] = given;
  if (payload === undefined) return `has none of ${Object.keys(PAYLOADS).join(', ')}; write { text: 'hello' }`;
  if (given.length > 1) return `has ${given.join(' and ')}; a part holds one thing`;
  return PAYLOADS[payload]?.(part);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isBytes(data: unknown): boolean {
  return typeof data === 'string' && data !== '' && isBase64(data);
}

/** The ids of the calls that a message answers; empty for a message that answers none. */
export function answeredCallIds({ parts = [] }: Content): readonly string[] {
  let ids: string[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const id = parts[index]?.functionResponse?.id;
    if (id) (ids ??= []).push(id);
  }
  return ids ?? NO_IDS;
}

const NO_IDS: readonly string[] = [];
