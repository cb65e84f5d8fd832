import { InvalidEventError } from '../errors/invalid-event-error.ts';
import { toError } from '../errors/to-error.ts';
import type { Event } from './event.ts';
import { createEventActions } from './event-actions.ts';
import { mergeTags } from './event-tags.ts';
import {
  documentOf,
  listOf,
  mapOf,
  readAny,
  readBase64,
  readBoolean,
  readInteger,
  readNumber,
  readRecord,
  readString,
  readTimestamp,
  readVendor,
  shaped,
  type Shape,
} from './read-json.ts';

/**
 * An event from JSON text or from what `JSON.parse` gave. Accepts camelCase and snake_case (camelCase wins), RFC 3339
 * timestamps, nulls (left out) and keys it does not know (kept). What the user owns (keys in `stateDelta`, `agentState`,
 * `customMetadata`, `args`, `response`) is never renamed.
 *
 * @throws InvalidEventError that names the path at fault.
 */
export function parseEvent(json: unknown): Event {
  return readEvent(typeof json === 'string' ? parseJson(json) : json, 'event');
}

/**
 * A content from JSON, in either spelling.
 * @throws InvalidEventError that names the path at fault; `path` is what that path starts with.
 */
export function parseContent(json: unknown, path = 'content'): NonNullable<Event['content']> {
  return documentOf(CONTENT)(json, path);
}

/** `parseEvent` for what is JSON already; `path` is what the path at fault starts with. */
export function readEvent(json: unknown, path: string): Event {
  const { tag, ...fields } = documentOf(EVENT)(json, path);
  if (typeof tag === 'string') {
    const tags = mergeTags(fields['tags'] as string[] | undefined, tag);
    if (tags.length > 0) fields['tags'] = tags;
  }
  return {
    ...fields,
    id: required(fields, 'id', ''),
    invocationId: required(fields, 'invocationId', ''),
    author: required(fields, 'author', ''),
    timestamp: required(fields, 'timestamp', 0),
    actions: createEventActions(fields['actions'] as object | undefined),
  };
}

function required<T>(fields: Record<string, unknown>, key: string, fallback: T): T {
  return (fields[key] as T | undefined) ?? fallback;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidEventError(`event: not JSON: ${toError(cause).message}`, { cause, path: 'event' });
  }
}

const BLOB: Shape = { data: readBase64, mimeType: readString, displayName: readString };
export const PART: Shape = {
  text: readString,
  thought: readBoolean,
  thoughtSignature: readString,
  functionCall: shaped({
    id: readString,
    name: readString,
    args: readRecord,
    partialArgs: listOf(readVendor),
    willContinue: readBoolean,
  }),
  functionResponse: shaped({
    id: readString,
    name: readString,
    response: readRecord,
    parts: listOf(readVendor),
    scheduling: readString,
    willContinue: readBoolean,
  }),
  inlineData: shaped(BLOB),
  fileData: shaped({ fileUri: readString, mimeType: readString, displayName: readString }),
  executableCode: shaped({ code: readString, language: readString, id: readString }),
  codeExecutionResult: shaped({ outcome: readString, output: readString, id: readString }),
  videoMetadata: readVendor,
  partMetadata: readRecord,
  toolCall: shaped({ id: readString, toolType: readString, args: readRecord }),
  toolResponse: shaped({ id: readString, toolType: readString, response: readRecord }),
  audioTranscription: readVendor,
  mediaResolution: readAny,
  mediaProcessing: readAny,
  speechMetadata: readVendor,
};
export const CONTENT: Shape = { role: readString, parts: listOf(shaped(PART)) };

export const ACTIONS: Shape = {
  stateDelta: readRecord,
  removedState: listOf(readString),
  artifactDelta: mapOf(readInteger),
  transferToAgent: readString,
  escalate: readBoolean,
  skipSummarization: readBoolean,
  endOfAgent: readBoolean,
  agentState: readRecord,
  requestedAuthConfigs: mapOf(readVendor),
  requestedToolConfirmations: mapOf(shaped({ hint: readString, confirmed: readBoolean, payload: readAny })),
  compaction: shaped({ startTimestamp: readTimestamp, endTimestamp: readTimestamp, compactedContent: shaped(CONTENT) }),
  rewindBeforeInvocationId: readString,
};
const TRANSCRIPTION: Shape = {
  text: readString,
  finished: readBoolean,
  languageCode: readString,
  speakerLabel: readString,
  words: listOf(readVendor),
  startOffset: readString,
  endOffset: readString,
};
export const EVENT: Shape = {
  id: readString,
  invocationId: readString,
  author: readString,
  timestamp: readTimestamp,
  branch: readString,
  content: shaped(CONTENT),
  partial: readBoolean,
  turnComplete: readBoolean,
  interrupted: readBoolean,
  finishReason: readString,
  errorCode: readString,
  errorMessage: readString,
  usageMetadata: readVendor,
  groundingMetadata: readVendor,
  citationMetadata: readVendor,
  cacheMetadata: readVendor,
  logprobsResult: readVendor,
  avgLogprobs: readNumber,
  modelVersion: readString,
  customMetadata: readRecord,
  inputTranscription: shaped(TRANSCRIPTION),
  outputTranscription: shaped(TRANSCRIPTION),
  liveSessionResumptionUpdate: shaped({
    newHandle: readString,
    resumable: readBoolean,
    lastConsumedClientMessageIndex: readAny,
  }),
  longRunningToolIds: listOf(readString),
  actions: shaped(ACTIONS),
  requestId: readString,
  executionId: readString,
  parentExecutionId: readString,
  responseId: readString,
  object: readString,
  tags: listOf(readString),
  tag: readString,
  nodeEvent: shaped({
    eventType: readString,
    category: readString,
    nodeId: readString,
    payload: readAny,
    progress: readNumber,
    message: readString,
    stepNumber: readInteger,
  }),
  error: shaped({ type: readString, message: readString, code: readString, param: readString }),
  alternatives: listOf(shaped({ index: readInteger, content: shaped(CONTENT), finishReason: readString })),
};
