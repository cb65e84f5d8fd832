import { type Content, type Event, type Part } from '@eventloom/core';

/** Calls by which the runtime asks a person: they are between the client and the runtime, no model sees them. */
const FRAMEWORK_CALLS = new Set(['adk_request_credential', 'adk_request_confirmation', 'adk_request_input']);
/** Ids the runtime gave to calls that the model left unnamed. */
const CLIENT_ID_PREFIX = 'adk-';
/** Marks the error event of an answer that did not match the output schema. */
export const OUTPUT_SCHEMA_ERROR = 'OUTPUT_SCHEMA';

/** True when an event of one branch is seen from another: equal, an ancestor by whole segments, or either side empty. */
export function isVisibleOn(eventBranch: string | undefined, branch: string | undefined): boolean {
  if (!eventBranch || !branch || eventBranch === branch) return true;
  return branch.startsWith(`${eventBranch}.`);
}

/** What one event says to the model of the agent, or undefined when it says nothing. Events are not modified. */
export function toModelContent(event: Event, agentName: string): Content | undefined {
  const content = event.content ?? transcribed(event);
  const parts = content?.parts;
  if (!parts?.length || !parts.some(isSaid)) return undefined;
  if (event.author !== 'user' && event.author !== agentName) return toForeignContent(event.author, parts);
  const role = content?.role ?? (event.author === 'user' ? 'user' : 'model');
  return {
    role,
    parts: parts.some(needsRewrite) ? parts.filter((part) => !isFrameworkPart(part)).map(withoutClientId) : parts,
  };
}

/** Speech as text. */
function transcribed(event: Event): Content | undefined {
  const { inputTranscription, outputTranscription } = event;
  const text = inputTranscription?.text ?? outputTranscription?.text;
  return text ? { role: inputTranscription?.text ? 'user' : 'model', parts: [{ text }] } : undefined;
}

/** True for transcriptions, whose runs are joined into one text. */
export function isTranscription(event: Event): boolean {
  return !event.content && Boolean(event.inputTranscription?.text ?? event.outputTranscription?.text);
}

/** A part that is more than a thought, an empty text or a question of the runtime's own. */
function isSaid(part: Part): boolean {
  if (part.thought === true || isFrameworkPart(part)) return false;
  return part.text !== '' || Object.keys(part).length > 1;
}

/** A question of the runtime's own to a person, or its answer. */
export function isFrameworkPart(part: Part): boolean {
  const name = (part.functionCall ?? part.functionResponse)?.name;
  return name !== undefined && FRAMEWORK_CALLS.has(name);
}

function needsRewrite(part: Part): boolean {
  return (
    isFrameworkPart(part) || (part.functionCall ?? part.functionResponse)?.id?.startsWith(CLIENT_ID_PREFIX) === true
  );
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

/** What another agent said and did, told to this one as context. */
function toForeignContent(author: string, parts: readonly Part[]): Content | undefined {
  const told: Part[] = [{ text: 'For context:' }];
  for (const part of parts) {
    if (part.thought === true || isFrameworkPart(part)) continue;
    if (part.functionCall) {
      told.push({
        text: `[${author}] called tool \`${part.functionCall.name}\` with parameters: ${JSON.stringify(part.functionCall.args ?? {})}`,
      });
    } else if (part.functionResponse) {
      told.push({
        text: `[${author}] \`${part.functionResponse.name}\` tool returned result: ${JSON.stringify(part.functionResponse.response ?? {})}`,
      });
    } else if (part.text !== undefined) {
      if (part.text !== '') told.push({ text: `[${author}] said: ${part.text}` });
    } else {
      told.push(part);
    }
  }
  return told.length > 1 ? { role: 'user', parts: told } : undefined;
}
