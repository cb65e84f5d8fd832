import type { Part } from '@eventloom/core';
import { isBase64, isRecord, normaliseBase64 } from '@eventloom/core/internal';
import { A2AProtocolError } from './errors.ts';
import type { A2APart, Metadata } from './wire.ts';

// The parts of contents as parts of A2A, by the conventions of the ADK: a function call is a data part whose metadata has its type.

/** Metadata of a data part: the kind of its data. */
const TYPE = 'adk_type';
/** Metadata of a call whose response comes in a later message. */
const IS_LONG_RUNNING = 'adk_is_long_running';
/** Metadata of a text that is the model's reasoning. */
const THOUGHT = 'adk_thought';

/** The fields of a part that become a data part, by the type in its metadata. */
const DATA_FIELDS = {
  function_call: 'functionCall',
  function_response: 'functionResponse',
  executable_code: 'executableCode',
  code_execution_result: 'codeExecutionResult',
} as const;
const DATA_TYPES = Object.entries(DATA_FIELDS) as [string, (typeof DATA_FIELDS)[keyof typeof DATA_FIELDS]][];
const FIELD_OF = new Map<unknown, (typeof DATA_FIELDS)[keyof typeof DATA_FIELDS]>(DATA_TYPES);

const NO_IDS: ReadonlySet<string> = new Set();

/**
 * Returns the parts of a content as parts of A2A. Parts that A2A cannot express, such as the opaque data of a model, are left out.
 * @param longRunning ids of the calls whose responses come in a later message
 */
export function toA2AParts(parts: readonly Part[] = [], longRunning: ReadonlySet<string> = NO_IDS): A2APart[] {
  return parts.flatMap((part) => toA2APart(part, longRunning) ?? []);
}

function toA2APart(part: Part, longRunning: ReadonlySet<string>): A2APart | undefined {
  const { text, thought, inlineData, fileData } = part;
  if (text !== undefined) return thought === true ? { text, metadata: { [THOUGHT]: true } } : { text };
  if (inlineData) return { raw: inlineData.data ?? '', ...fileFields(inlineData) };
  if (fileData) return { url: fileData.fileUri ?? '', ...fileFields(fileData) };
  for (const [type, field] of DATA_TYPES) {
    const data = part[field];
    if (!data) continue;
    const isLongRunning = 'id' in data && data.id !== undefined && longRunning.has(data.id);
    return { data, metadata: { [TYPE]: type, ...(isLongRunning ? { [IS_LONG_RUNNING]: true } : {}) } };
  }
  return undefined;
}

function fileFields({ mimeType, displayName }: { readonly mimeType?: string; readonly displayName?: string }): object {
  return {
    ...(mimeType === undefined ? {} : { mediaType: mimeType }),
    ...(displayName === undefined ? {} : { filename: displayName }),
  };
}

/** The media type of a file that names none. */
const ANY_FILE = 'application/octet-stream';

/**
 * Returns a part of A2A as a part of a content. Data without a type of the ADK becomes its JSON text.
 * @param path names the part in error messages
 * @throws A2AProtocolError for bytes that are not base64, and for data with a type of the ADK that is not an object
 */
export function toPart(path: string, part: A2APart): Part {
  const { text, raw, url, data, metadata, filename, mediaType: mimeType = ANY_FILE } = part;
  if (text !== undefined) return metadata?.[THOUGHT] === true ? { text, thought: true } : { text };
  const named = filename === undefined ? { mimeType } : { mimeType, displayName: filename };
  if (raw !== undefined) {
    const bytes = normaliseBase64(raw);
    if (!isBase64(bytes)) throw new A2AProtocolError(`${path}: expected base64 in raw, or in file.bytes in A2A 0.3`);
    return { inlineData: { data: bytes, ...named } };
  }
  if (url !== undefined) return { fileData: { fileUri: url, ...named } };
  const field = FIELD_OF.get(metadata?.[TYPE]);
  if (!field) return { text: JSON.stringify(data) };
  if (!isRecord(data)) throw new A2AProtocolError(`${path}.data: expected an object, as ${TYPE} says`);
  return { [field]: data };
}

/** True for a call whose response comes in a later message. */
export function isLongRunning(metadata: Metadata | undefined): boolean {
  return metadata?.[IS_LONG_RUNNING] === true;
}

/** True for a part with a response to a call. */
export function isFunctionResponse({ metadata }: A2APart): boolean {
  return metadata?.[TYPE] === 'function_response';
}

/** True for a part that belongs to a run: a call, the response to one, code, or its result. */
export function isOfRun({ metadata }: A2APart): boolean {
  return FIELD_OF.has(metadata?.[TYPE]);
}
