import type { Content, Event, Part } from '@eventloom/core';
import { isPersonRequest } from '@eventloom/core/internal';
import { type CodeStyle, codePartText } from '../code-execution/code-contents.ts';

/** Ids the runtime gave to calls that the model left unnamed. */
const CLIENT_ID_PREFIX = 'adk-';

/**
 * Converts an event to a content for the model of the agent; undefined if the event has nothing for it. Events are not
 * modified. @param codeStyle the form in which the agent's model reads executed code
 */
export function toModelContent(event: Event, agentName: string, codeStyle?: CodeStyle): Content | undefined {
  const { author, content } = event;
  const parts = content?.parts;
  if (!parts) return undefined;
  let says = false;
  let isRewritten = false;
  for (const part of parts) {
    if (part.text && part.thought !== true && !part.functionCall && !part.functionResponse && !codeStyle) {
      says = true; // as most parts are
      continue;
    }
    says ||= isSaid(part);
    isRewritten ||= needsRewrite(part, codeStyle);
  }
  if (!says) return undefined;
  if (author !== 'user' && author !== agentName) {
    const told = parts.flatMap((part) => tellPart(author, part));
    return told.length > 0 ? toForeignContent(told) : undefined;
  }
  const role = content?.role ?? (author === 'user' ? 'user' : 'model');
  if (!isRewritten) return { role, parts };
  const told: Part[] = [];
  for (const part of parts) {
    if (isFrameworkPart(part)) continue;
    told.push(isRunHere(part, codeStyle) ? { text: codePartText(part, codeStyle) ?? '' } : withoutClientId(part));
  }
  // As text a result is what the runtime tells the model.
  const isResult = parts[0]?.codeExecutionResult !== undefined && isRunHere(parts[0], codeStyle);
  return { role: isResult ? 'user' : role, parts: told };
}

/** Code, or the result of code, that an executor of the runtime ran and not the model's service. */
function isRunHere(part: Part | undefined, codeStyle: CodeStyle | undefined): boolean {
  const code = part?.executableCode ?? part?.codeExecutionResult;
  if (!code) return false;
  return codeStyle?.codeBlockDelimiters.length ? true : code.id?.startsWith(CLIENT_ID_PREFIX) === true;
}

/** Speech as text, and whose it is. */
export interface Spoken {
  readonly author: string;
  readonly role: 'user' | 'model';
  readonly text: string;
}

/** The speech of an event that holds nothing else. */
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

/** Converts speech to a content for the model of the agent. */
export function toSpokenContent({ author, role, text }: Spoken, agentName: string): Content {
  return author === 'user' || author === agentName
    ? { role, parts: [{ text }] }
    : toForeignContent(tellPart(author, { text }));
}

/** A part that is more than a thought, an empty text, a recording or a question of the runtime's own. */
function isSaid(part: Part): boolean {
  const { text, thought } = part;
  if (thought === true) return false;
  if (text) return true;
  const { fileData } = part;
  // Audio that a live run saved as an artifact: models cannot read it, and are told what was said in words.
  const isRecording = fileData?.mimeType?.startsWith('audio/') === true && fileData.fileUri?.startsWith('artifact:');
  if (isRecording || isFrameworkPart(part)) return false;
  return text !== '' || Object.keys(part).length > 1;
}

/** A question of the runtime's own to a person, or its answer: these are between the client and the runtime, no model sees them. */
export function isFrameworkPart({ functionCall, functionResponse }: Part): boolean {
  return isPersonRequest(functionCall ?? functionResponse ?? {});
}

function needsRewrite(part: Part, codeStyle: CodeStyle | undefined): boolean {
  const call = part.functionCall ?? part.functionResponse;
  if (call) return isPersonRequest(call) || call.id?.startsWith(CLIENT_ID_PREFIX) === true;
  return isRunHere(part, codeStyle);
}

/** The part without an id that the runtime gave: the model never saw it. */
export function withoutClientId(part: Part): Part {
  if (part.functionCall?.id?.startsWith(CLIENT_ID_PREFIX)) {
    const { id: _, ...functionCall } = part.functionCall;
    return { ...part, functionCall };
  }
  if (part.functionResponse?.id?.startsWith(CLIENT_ID_PREFIX)) {
    const { id: _, ...functionResponse } = part.functionResponse;
    return { ...part, functionResponse };
  }
  return part;
}

/** Makes a content from parts of another agent: context for this agent, not actions of its own. */
function toForeignContent(told: readonly Part[]): Content {
  return { role: 'user', parts: [{ text: 'For context:' }, ...told] };
}

function tellPart(author: string, part: Part): Part[] {
  if (!isSaid(part)) return [];
  const { functionCall: call, functionResponse: answer, text } = part;
  if (call) {
    const parameters = JSON.stringify(call.args ?? {});
    return [{ text: `[${author}] called tool \`${call.name}\` with parameters: ${parameters}` }];
  }
  if (answer) {
    const result = JSON.stringify(answer.response ?? {});
    return [{ text: `[${author}] \`${answer.name}\` tool returned result: ${result}` }, ...(answer.parts ?? [])];
  }
  const code = codePartText(part);
  if (code !== undefined)
    return [{ text: `[${author}] ${part.executableCode ? 'ran code' : 'got the result'}:\n${code}` }];
  if (text === undefined) return [part];
  return text === '' ? [] : [{ text: `[${author}] said: ${text}` }];
}
