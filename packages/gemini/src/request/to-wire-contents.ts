import type { Blob, Content, FunctionCall, FunctionResponse, Part } from '@eventloom/core';

/** The user turn for a request without one at its end: the service refuses a request that ends with the model. */
const GO_ON = 'Go on as you were instructed.';

/**
 * Converts contents to what the service accepts. A content that needs no change is the same object; none is modified.
 *
 * A request has to end with a user turn or function responses. One that does not (an agent in a loop reads its own last reply, an
 * agent with all of its task in the instruction reads nothing) gets a user turn that asks the model to continue.
 */
export function toWireContents(contents: readonly Content[], vertexai: boolean): Content[] {
  const wire = contents.map((content) => toWireContent(content, vertexai));
  const last = wire.at(-1);
  if (!last || last.role === 'model') wire.push({ role: 'user', parts: [{ text: GO_ON }] });
  return wire;
}

/** One content as the service takes it: itself where it needs no change. */
export function toWireContent(content: Content, vertexai: boolean): Content {
  const parts = mapChanged(content.parts, (part) => toWirePart(part, vertexai));
  return parts === content.parts ? content : { ...content, ...(parts && { parts }) };
}

/** Leaves out of a part what the one service or the other refuses, and the client would throw about. */
function toWirePart(part: Part, vertexai: boolean): Part {
  const { inlineData, fileData, functionCall, functionResponse, partMetadata } = part;
  let wire = part;
  if (inlineData) {
    const blob = toWireBlob(inlineData, vertexai);
    if (blob !== inlineData) wire = { ...wire, inlineData: blob };
  }
  if (!vertexai && fileData?.displayName !== undefined) {
    const { displayName: _, ...file } = fileData;
    wire = { ...wire, fileData: file };
  }
  if (!vertexai && functionCall && isPiece(functionCall)) {
    const { partialArgs: _pieces, willContinue: _more, ...call } = functionCall;
    wire = { ...wire, functionCall: call };
  }
  if (functionResponse) {
    const response = toWireFunctionResponse(functionResponse, vertexai);
    if (response !== functionResponse) wire = { ...wire, functionResponse: response };
  }
  if (vertexai && partMetadata !== undefined) {
    const { partMetadata: _, ...rest } = wire;
    wire = rest;
  }
  return wire;
}

function isPiece({ partialArgs, willContinue }: FunctionCall): boolean {
  return partialArgs !== undefined || willContinue !== undefined;
}

/** Bytes as the service takes them: the blob itself where it needs no change. */
export function toWireBlob(blob: Blob, vertexai: boolean): Blob {
  const data = blob.data === undefined ? undefined : normaliseBase64(blob.data);
  if (data === blob.data && (vertexai || blob.displayName === undefined)) return blob;
  const { displayName, ...rest } = blob;
  return {
    ...rest,
    ...(data !== undefined && { data }),
    ...(vertexai && displayName !== undefined && { displayName }),
  };
}

/** A function response as the service takes it: itself where it needs no change. */
export function toWireFunctionResponse(response: FunctionResponse, vertexai: boolean): FunctionResponse {
  let wire = response;
  // Their display names stay: the response refers to its parts by them.
  const parts = mapChanged(response.parts, withWireBlob);
  if (parts && parts !== response.parts) wire = { ...wire, parts };
  if (vertexai && wire.willContinue !== undefined) {
    const { willContinue: _, ...rest } = wire;
    wire = rest;
  }
  return wire;
}

function withWireBlob(part: Part): Part {
  const blob = part.inlineData && toWireBlob(part.inlineData, true);
  return blob && blob !== part.inlineData ? { ...part, inlineData: blob } : part;
}

/** A list of what became of the items, or the list itself when nothing became of any. */
function mapChanged<T>(items: T[] | undefined, change: (item: T) => T): T[] | undefined {
  const changed = items?.map(change);
  return changed?.some((item, index) => item !== items?.[index]) ? changed : items;
}

/**
 * Characters of base64 that are accepted in JSON and that the service does not document: the URL alphabet, and white
 * space.
 */
const FOREIGN: readonly string[] = ['-', '_', ' ', '\n', '\r', '\t', '\f', '\v'];

/** Base64 as the service documents it: standard alphabet, padded, in one line. Text that is so already is given back as it is. */
export function normaliseBase64(data: string): string {
  if (isPlain(data)) return data;
  const digits = data.replace(/[\s=]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}

/** Looks for single characters, which is some fifty times as fast as a pattern: every piece of live audio comes through here. */
function isPlain(data: string): boolean {
  if (data.length % 4 !== 0) return false;
  const padding = data.indexOf('=');
  if (padding >= 0 && padding < data.length - (data.endsWith('==') ? 2 : 1)) return false;
  return FOREIGN.every((character) => !data.includes(character));
}
