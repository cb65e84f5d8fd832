import type { Blob, Content, FunctionCall, FunctionResponse, Part } from '@eventloom/core';
import { CONTINUE, madeByOf, normaliseBase64 } from '@eventloom/core/internal';

/**
 * Converts contents to the form that the service accepts. A content that needs no change is the same object; none is modified.
 *
 * A request has to end with a user turn or function responses. One that does not (an agent in a loop reads its own last reply, an
 * agent with all of its task in the instruction reads nothing) gets a user turn that asks the model to continue.
 *
 * Thoughts and service calls of other vendors' models are left out, and so is the data that only those vendors read.
 * @param model the name of the model that reads the contents. Default: one without signatures
 */
export function toWireContents(contents: readonly Content[], vertexai: boolean, model = 'gemini-2'): Content[] {
  const signature = /(?:^|\/)gemini-[12]\b/.test(model) ? undefined : ANY_SIGNATURE;
  const wire: Content[] = [];
  for (const content of contents) {
    const own = withoutForeignData(content, signature);
    if (own) wire.push(toWireContent(own, vertexai));
  }
  const last = wire.at(-1);
  if (!last || last.role === 'model') wire.push({ role: 'user', parts: [{ text: CONTINUE }] });
  return wire;
}

/**
 * The signature that Google documents for calls that its models did not make. Gemini 3 and later refuse a call without one
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
const ANY_SIGNATURE = 'skip_thought_signature_validator';

/**
 * Returns a content without the data that only another vendor's models read; undefined if nothing remains.
 * @param signature the signature for the calls of other models
 */
function withoutForeignData(content: Content, signature: string | undefined): Content | undefined {
  const { parts } = content;
  if (!parts?.some(madeByOf)) return content;
  const kept: Part[] = [];
  for (const part of parts) {
    if (!madeByOf(part)) {
      kept.push(part);
      continue;
    }
    if (part.thought === true || part.toolCall || part.toolResponse) continue;
    const { partMetadata: { madeBy: _, ...metadata } = {}, ...rest } = part;
    if (Object.keys(metadata).length > 0) Object.assign(rest, { partMetadata: metadata });
    kept.push(part.functionCall && signature !== undefined ? { ...rest, thoughtSignature: signature } : rest);
  }
  return kept.length > 0 ? { ...content, parts: kept } : undefined;
}

/** Converts a content to the form that the service accepts. Returns the same object if nothing changes. */
export function toWireContent(content: Content, vertexai: boolean): Content {
  const parts = mapChanged(content.parts, (part) => toWirePart(part, vertexai));
  return parts === content.parts ? content : { ...content, ...(parts && { parts }) };
}

/** Removes fields of a part that one of the services refuses, for which the client would throw. */
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

/** Converts a blob to the form that the service accepts. Returns the same object if nothing changes. */
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

/** Converts a function response to the form that the service accepts. Returns the same object if nothing changes. */
export function toWireFunctionResponse(response: FunctionResponse, vertexai: boolean): FunctionResponse {
  let wire = response;
  // Display names are kept, because the response refers to its parts by them.
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

/** Returns the list of converted items, or the list itself if no item changed. */
function mapChanged<T>(items: T[] | undefined, change: (item: T) => T): T[] | undefined {
  const changed = items?.map(change);
  return changed?.some((item, index) => item !== items?.[index]) ? changed : items;
}
