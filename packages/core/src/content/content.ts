/**
 * Content and its parts. The types have the structure of the `@google/genai` types of the same names (checked in both directions
 * by a type test of `gemini`), so values can be passed between Gemini programs and this package without a conversion, and
 * without importing the vendor's package.
 */

import { InvalidRequestError } from '../errors.ts';
import { describeKind, isRecord } from './json.ts';

/**
 * A value of an enum of the vendor, such as `Language`; on the wire a string. A string cannot be assigned to an enum, and naming
 * the enum would import the vendor's package, so the type accepts anything.
 */
export type VendorValue = any; // oxlint-disable-line typescript/no-explicit-any -- the one type that both takes a foreign enum and is taken for one

/**
 * A message of a conversation, or a chunk of one: the speaker's role and the parts of the message: `{ role: 'user', parts: [{ text: 'Hello'
 * }] }`.
 */
export interface Content {
  /** `user` or `model`. Function responses have the role `user`. */
  role?: string;
  /** The pieces of the message, in order. An absent list is an empty one. */
  parts?: Part[];
}

/** One piece of a message: a text, a function call, its response, an image, … Exactly one of these is set: `{ text: 'Hello' }`. */
export interface Part {
  /** Text of the message, or of the model's reasoning with `thought`. */
  text?: string;
  /** True if the text is the model's reasoning and not its answer. */
  thought?: boolean;
  /** Opaque data of the model, as base64. It is sent back to the model unchanged, with its part. */
  thoughtSignature?: string;
  /** A function call that the model requests. */
  functionCall?: FunctionCall;
  /** The response to a function call. */
  functionResponse?: FunctionResponse;
  /** An image, a recording or a document inside the message, as base64. */
  inlineData?: Blob;
  /** A file outside the message, by its URI. */
  fileData?: FileData;
  /** Code that the model wrote to be run. */
  executableCode?: ExecutableCode;
  /** The result of code that was run. */
  codeExecutionResult?: CodeExecutionResult;
  /** The section of a video to look at, and its frame rate. */
  videoMetadata?: { endOffset?: string; fps?: number; startOffset?: string };
  /** JSON data of the application or of the model that made the part. */
  partMetadata?: Record<string, unknown>;
  /** A call of a tool that the model's service runs. */
  toolCall?: object;
  /** The response of a tool that the model's service ran. */
  toolResponse?: object;
  /** The words of a recording, as the service reports them. */
  audioTranscription?: object;
  /** The resolution in which the service looks at the media. */
  mediaResolution?: VendorValue;
  /** The way in which the service processes the media. */
  mediaProcessing?: VendorValue;
  /** Details of spoken audio, as the service reports them. */
  speechMetadata?: object;
}

/** A request of the model to call a tool. */
export interface FunctionCall {
  /** Id that the call and its response share. The runtime creates one (`adk-` and a UUID) if the model omits it. */
  id?: string;
  /** Name of the tool. */
  name?: string;
  /** The arguments by name. */
  args?: Record<string, unknown>;
  /** Pieces of arguments that are still being streamed. */
  partialArgs?: PartialArg[];
  /** True while more pieces of the arguments follow. */
  willContinue?: boolean;
}

/** A piece of one streamed argument: its JSON path, and the value to set there. Strings are appended. */
export interface PartialArg {
  jsonPath?: string;
  stringValue?: string;
  numberValue?: number;
  boolValue?: boolean;
  nullValue?: 'NULL_VALUE';
  willContinue?: boolean;
}

/** The response of a tool. `response` is an object: a result that is not an object is under `result`, a failure under `error`. */
export interface FunctionResponse {
  /** Id of the call that it answers. */
  id?: string;
  /** Name of the tool. */
  name?: string;
  /** The result as JSON: an object of the tool, `{ result }`, or `{ error }`. */
  response?: Record<string, unknown>;
  /** Media that belongs to the response. */
  parts?: FunctionResponsePart[];
  /** In live runs: the moment at which the model speaks about the response, see `ResponseScheduling`. */
  scheduling?: VendorValue;
  /** In live runs: true if further responses to the same call follow. */
  willContinue?: boolean;
}

/** One piece of media in a function response. */
export interface FunctionResponsePart {
  inlineData?: Blob;
  fileData?: FileData;
  mediaProcessing?: VendorValue;
}

/** Media inside a message, such as an image or a recording: `{ mimeType: 'image/png', data }`. */
export interface Blob {
  /** The bytes as base64. */
  data?: string;
  mimeType?: string;
  displayName?: string;
}

/** Media outside the message, at `fileUri`. */
export interface FileData {
  fileUri?: string;
  mimeType?: string;
  displayName?: string;
}

/** Code that the model wants to run. */
export interface ExecutableCode {
  code?: string;
  language?: VendorValue;
  id?: string;
}

/** The result of executed code. */
export interface CodeExecutionResult {
  outcome?: VendorValue;
  output?: string;
  id?: string;
}

/** The declaration of a tool for a model, with the structure of `@google/genai`'s type of the same name. */
export interface FunctionDeclaration {
  name?: string;
  description?: string;
  /** The arguments as JSON Schema. */
  parametersJsonSchema?: unknown;
  /** The arguments in the vendor's own schema dialect, instead. */
  parameters?: object;
  responseJsonSchema?: unknown;
  response?: object;
  behavior?: VendorValue;
}

/**
 * Returns the text parts of a content without thoughts, joined without a separator. Empty if there are none.
 * @throws InvalidRequestError for a value that is not a content, such as an event: `stringifyContent` takes that
 */
export function contentText(content: Content | undefined): string {
  if (content) checkContent(content);
  let text = '';
  for (const part of content?.parts ?? []) {
    if (part.text !== undefined && part.thought !== true) text += part.text;
  }
  return text;
}

function checkContent(content: unknown): void {
  if (isRecord(content) && !('actions' in content) && !('content' in content)) return;
  throw new InvalidRequestError(
    isRecord(content) && 'actions' in content
      ? 'contentText: expected a content, got an event; write stringifyContent(event)'
      : `contentText: expected a content, got ${describeKind(content)}; write contentText(event.content)`,
  );
}

/** True for a content with responses to calls. `Calls` finds the calls. */
export function hasResponses(content: Content | undefined): boolean {
  // An engine makes no iterator for a loop over indexes; it makes one for `of` over a frozen list, such as the parts of a stored event.
  const parts = content?.parts ?? NO_PARTS;
  for (let index = 0; index < parts.length; index++) if (parts[index]?.functionResponse) return true;
  return false;
}

/**
 * Returns the calls of a reply that the agent has to run. A model whose service runs tools itself (remote MCP servers) returns a
 * call and its response in one reply; such a call is left out.
 */
export function callsToRun(parts: readonly Part[] = NO_PARTS): FunctionCall[] {
  let calls: FunctionCall[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const { functionCall, functionResponse } = parts[index] as Part;
    if (functionResponse && calls) return withoutCompleted(parts);
    if (functionCall && calls) calls.push(functionCall);
    else if (functionCall) calls = [functionCall];
  }
  return calls ?? [];
}

/** The parts of a content without parts. */
export const NO_PARTS: readonly Part[] = [];

/** Returns the calls that have no response after them. */
function withoutCompleted(parts: readonly Part[]): FunctionCall[] {
  const open = new Set<FunctionCall>();
  // A response names its call by the id, or else by the name. Lists of calls for both keep the time linear in the parts.
  const byId = new Map<string | undefined, CallList>();
  const byName = new Map<string | undefined, CallList>();
  for (const { functionCall, functionResponse } of parts) {
    if (functionCall) {
      open.add(functionCall);
      addTo(byId, functionCall.id, functionCall);
      addTo(byName, functionCall.name, functionCall);
    }
    if (!functionResponse) continue;
    const { id, name } = functionResponse;
    const list = id ? byId.get(id) : byName.get(name);
    const call = list && nextOpen(list, open);
    if (call) open.delete(call);
  }
  return [...open];
}

/** Calls in their order; those before `next` are completed. */
interface CallList {
  readonly calls: FunctionCall[];
  next: number;
}

function addTo(lists: Map<string | undefined, CallList>, key: string | undefined, call: FunctionCall): void {
  const list = lists.get(key);
  if (list) list.calls.push(call);
  else lists.set(key, { calls: [call], next: 0 });
}

function nextOpen(list: CallList, open: ReadonlySet<FunctionCall>): FunctionCall | undefined {
  for (let call = list.calls[list.next]; call; call = list.calls[++list.next]) if (open.has(call)) return call;
  return undefined;
}
