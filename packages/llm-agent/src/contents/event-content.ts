import {
  type Content,
  type Event,
  type EventActions,
  OutputSchemaError,
  type Part,
  REQUEST_INPUT,
} from '@eventloom/core';
import { isPersonRequest, isQuestionOfModel, isWholeReply } from '@eventloom/core/internal';
import { type CodeStyle, codePartText } from '../code-execution/code-contents.ts';

/** Prefix of the ids that the runtime gives to calls without an id of the model's. */
const CLIENT_ID_PREFIX = 'adk-';

/**
 * Converts an event to a content for the agent's model; undefined if the event holds nothing for the model. The event is not modified.
 * @param codeStyle the delimiters with which executed code is shown; absent for an agent without a code executor
 */
export function toModelContent(event: Event, agentName: string, codeStyle?: CodeStyle): Content | undefined {
  const { author, content } = event;
  let parts = content?.parts;
  if (!parts) return undefined;
  let says = false;
  let isRewritten = false;
  let hasSpeech = false;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    if (part.text && part.thought !== true && !part.functionCall && !part.functionResponse && !codeStyle) {
      says = true; // the common case, without function calls
      continue;
    }
    if (part.inlineData && author !== 'user' && isSpeech(part)) {
      hasSpeech = true;
      continue;
    }
    says ||= isSaid(part);
    const call = part.functionCall ?? part.functionResponse;
    isRewritten ||= call ? isPersonRequest(call) || isClientId(call.id) : isRunHere(part, codeStyle);
  }
  if (!says) return undefined;
  if (hasSpeech) parts = parts.filter((part) => !isSpeech(part));
  if (author !== 'user' && author !== agentName) {
    const converted = parts.flatMap((part) => toForeignParts(author, part));
    return converted.length > 0 ? toForeignContent(converted) : undefined;
  }
  const role = content?.role ?? (author === 'user' ? 'user' : 'model');
  if (!isRewritten) return { role, parts };
  const converted: Part[] = [];
  for (const part of parts) {
    if (isFrameworkPart(part)) continue;
    converted.push(isRunHere(part, codeStyle) ? { text: codePartText(part, codeStyle) ?? '' } : withoutClientId(part));
  }
  // A code result that became text comes from the runtime, so its role is user.
  const isResult = parts[0]?.codeExecutionResult !== undefined && isRunHere(parts[0], codeStyle);
  return { role: isResult ? 'user' : role, parts: converted };
}

/**
 * Returns true for raw speech, as live models speak it and a live run may store it. Models get its transcription:
 * minutes of speech are more than a request may have.
 */
function isSpeech({ inlineData }: Part): boolean {
  return inlineData?.mimeType?.startsWith('audio/pcm') === true;
}

/** Returns true for code, or a result, that an executor ran and not the model's service. */
function isRunHere(part: Part | undefined, codeStyle: CodeStyle | undefined): boolean {
  const code = part?.executableCode ?? part?.codeExecutionResult;
  if (!code) return false;
  return codeStyle?.codeBlockDelimiters.length ? true : code.id?.startsWith(CLIENT_ID_PREFIX) === true;
}

/** Transcribed speech, with its author. */
export interface Spoken {
  readonly author: string;
  readonly role: 'user' | 'model';
  readonly text: string;
}

/** Returns the transcription of an event that has no parts; undefined for other events. */
export function transcriptionOf({
  author,
  content,
  inputTranscription,
  outputTranscription,
}: Event): Spoken | undefined {
  if (content?.parts?.length) return undefined;
  if (inputTranscription?.text) return { author, role: 'user', text: inputTranscription.text };
  return outputTranscription?.text ? { author, role: 'model', text: outputTranscription.text } : undefined;
}

/** Converts transcribed speech to a content for the agent's model. */
export function toSpokenContent({ author, role, text }: Spoken, agentName: string): Content {
  return author === 'user' || author === agentName
    ? { role, parts: [{ text }] }
    : toForeignContent(toForeignParts(author, { text }));
}

/** Returns true for a part that the model should see: no thought, empty text, recording or request of the runtime to a person. */
function isSaid(part: Part): boolean {
  const { text, thought } = part;
  if (thought === true) return false;
  if (text) return true;
  const { fileData } = part;
  // Audio that a live run saved as an artifact. Models cannot read it; they get the transcription.
  const isRecording = fileData?.mimeType?.startsWith('audio/') === true && fileData.fileUri?.startsWith('artifact:');
  if (isRecording || isFrameworkPart(part)) return false;
  return text !== '' || Object.keys(part).length > 1;
}

/**
 * Returns true for a request of the runtime to a person, and for its answer. Models do not see these parts. They see a question that they
 * asked themselves, and its answer.
 * @param call the call, or the call that a response answers; without it, an answer for input counts as one to a model's question
 */
export function isFrameworkPart({ functionCall, functionResponse }: Part, call = functionCall): boolean {
  const { name } = functionCall ?? functionResponse ?? {};
  if (!isPersonRequest({ name })) return false;
  return call ? !isQuestionOfModel(call) : name !== REQUEST_INPUT;
}

/** Returns true for an id that the runtime gave, and for an empty one, which services refuse. */
function isClientId(id: string | undefined): boolean {
  return id === '' || id?.startsWith(CLIENT_ID_PREFIX) === true;
}

/** Returns the part without an id that the runtime gave, because the model never saw that id. */
export function withoutClientId(part: Part): Part {
  if (part.functionCall && isClientId(part.functionCall.id)) {
    const { id: _, ...functionCall } = part.functionCall;
    return { ...part, functionCall };
  }
  if (part.functionResponse && isClientId(part.functionResponse.id)) {
    const { id: _, ...functionResponse } = part.functionResponse;
    return { ...part, functionResponse };
  }
  return part;
}

/** Creates a content from another agent's parts, marked as context so that the model does not take them for its own actions. */
function toForeignContent(converted: readonly Part[]): Content {
  return { role: 'user', parts: [{ text: 'For context:' }, ...converted] };
}

function toForeignParts(author: string, part: Part): Part[] {
  if (!isSaid(part)) return [];
  const { functionCall: call, functionResponse: response, text } = part;
  if (call) {
    const parameters = JSON.stringify(call.args ?? {});
    return [{ text: `[${author}] called tool \`${call.name}\` with parameters: ${parameters}` }];
  }
  if (response) {
    const result = JSON.stringify(response.response ?? {});
    return [{ text: `[${author}] tool \`${response.name}\` returned result: ${result}` }, ...(response.parts ?? [])];
  }
  const code = codePartText(part);
  if (code !== undefined)
    return [{ text: `[${author}] ${part.executableCode ? 'ran code' : 'got the result'}:\n${code}` }];
  if (text === undefined) return [part];
  return text === '' ? [] : [{ text: `[${author}] said: ${text}` }];
}

/**
 * Returns true for the actions of a rewind or a compaction: the effective history must be computed again from the first
 * event. An event that a program added to the list of its run may lack actions.
 */
export function rewritesHistory(actions: EventActions | undefined): boolean {
  return actions?.rewindBeforeInvocationId !== undefined || actions?.compaction !== undefined;
}

/** True for a reply that did not match the output schema. False for the error event that ends the run because of it. */
export function isOutputMismatch(event: Event): boolean {
  return event.errorCode === OutputSchemaError.code && isWholeReply(event);
}
