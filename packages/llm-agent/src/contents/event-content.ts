import { type Content, type Event, ObjectType, type Part } from '@eventloom/core';

/** Calls by which the runtime asks a person: they are between the client and the runtime, no model sees them. */
const FRAMEWORK_CALLS = new Set(['adk_request_credential', 'adk_request_confirmation', 'adk_request_input']);
/** Ids the runtime gave to calls that the model left unnamed. */
const CLIENT_ID_PREFIX = 'adk-';
/** Marks the event of an answer that did not match the output schema. */
export const OUTPUT_SCHEMA_ERROR = 'OUTPUT_SCHEMA';

/** True for an answer that did not match the output schema, and not for the event that tells of the run's end over it. */
export function isMismatch(event: Event): boolean {
  return event.errorCode === OUTPUT_SCHEMA_ERROR && event.object !== ObjectType.error;
}

/** True when an event of one branch is seen from another: equal, an ancestor by whole segments, or either side empty. */
export function isVisibleOn(eventBranch: string | undefined, branch: string | undefined): boolean {
  if (!eventBranch || !branch || eventBranch === branch) return true;
  return branch.startsWith(`${eventBranch}.`);
}

/** What one event says to the model of the agent, or undefined when it says nothing. Events are not modified. */
export function toModelContent(event: Event, agentName: string): Content | undefined {
  const { author, content } = event;
  const parts = content?.parts;
  if (!parts?.length || !parts.some(isSaid)) return undefined;
  if (author !== 'user' && author !== agentName) {
    const told = parts.flatMap((part) => tellPart(author, part));
    return told.length > 0 ? toForeignContent(told) : undefined;
  }
  const role = content?.role ?? (author === 'user' ? 'user' : 'model');
  return {
    role,
    parts: parts.some(needsRewrite) ? parts.filter((part) => !isFrameworkPart(part)).map(withoutClientId) : parts,
  };
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

/** What speech says to the model of the agent. */
export function toSpokenContent({ author, role, text }: Spoken, agentName: string): Content {
  return author === 'user' || author === agentName
    ? { role, parts: [{ text }] }
    : toForeignContent(tellPart(author, { text }));
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

/** What another agent said and did is context to this one, and nothing that it did itself. */
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
    return [{ text: `[${author}] \`${answer.name}\` tool returned result: ${JSON.stringify(answer.response ?? {})}` }];
  }
  if (text === undefined) return [part];
  return text === '' ? [] : [{ text: `[${author}] said: ${text}` }];
}
