import { type Event, getFunctionCalls, getFunctionResponses, type NodeEvent, ObjectType, type Part } from 'eventloom';

const SPEAKER_WIDTH = 14;
const MAX_CHARACTERS = 100;

/** Formats a message of the user as lines of the transcript. */
export function describeMessage(text: string): string[] {
  return under('you', text);
}

/**
 * Formats the texts, calls, responses and changes of an event as lines of the transcript. Chunks are shown only if no
 * whole event repeats them.
 */
export function describeEvent(event: Event): string[] {
  // The announced transfer is a separate event.
  if (event.object === ObjectType.agentTransfer) return [];
  if (event.nodeEvent) return under(event.author, `· ${describeNode(event.nodeEvent)}`);
  // A branch with an @ belongs to an agent that was called as a tool, or that is a node of a graph.
  const isInner = event.branch?.includes('@') === true;
  const name = event.author === 'user' ? 'you' : event.author;
  const speaker = isInner ? `  ${name}` : name;
  if (event.partial === true) {
    const isToolChunk = event.object === ObjectType.toolResponse;
    return isToolChunk || isInner ? textsOf(event, isToolChunk).flatMap((text) => under(speaker, `… ${text}`)) : [];
  }
  const { stateDelta, transferToAgent, escalate } = event.actions;
  const speech = event.inputTranscription?.text ?? event.outputTranscription?.text;
  return [
    ...textsOf(event, false),
    ...(speech === undefined ? [] : [speech.trimEnd()]),
    ...getFunctionCalls(event).map(({ name, args }) => `→ ${name} ${brief(args ?? {})}`),
    ...getFunctionResponses(event).map(({ name, response }) => `← ${name} ${brief(response ?? {})}`),
    ...Object.entries(stateDelta).map(([key, value]) => `  state ${key} = ${brief(value)}`),
    ...(transferToAgent === undefined ? [] : [`  transfers to ${transferToAgent}`]),
    ...(escalate === true ? ['  ends the loop'] : []),
    ...(event.interrupted === true ? ['  is interrupted'] : []),
    ...(event.errorMessage === undefined ? [] : [`! ${event.errorMessage}`]),
  ].flatMap((line) => under(speaker, line));
}

function describeNode({ category, eventType, progress, message = '', payload }: NodeEvent): string {
  if (category === 'progress') return `${progress} % ${message}`;
  return category === 'text' ? message : `${eventType} ${brief(payload)}`;
}

function textsOf({ content }: Event, withResponses: boolean): string[] {
  return (content?.parts ?? []).flatMap((part) => textOf(part, withResponses) ?? []);
}

function textOf(part: Part, withResponses: boolean): string | undefined {
  const { text, fileData, executableCode, codeExecutionResult, functionResponse } = part;
  if (text !== undefined) return text.trimEnd();
  if (fileData) return `  saved as ${fileData.mimeType ?? 'a file'}`;
  if (executableCode) return `runs\n${executableCode.code ?? ''}`;
  if (codeExecutionResult) return `ran, and printed\n${codeExecutionResult.output ?? ''}`;
  return withResponses && functionResponse ? brief(functionResponse.response) : undefined;
}

function brief(value: unknown): string {
  const json = JSON.stringify(value) ?? '';
  return json.length <= MAX_CHARACTERS ? json : `${json.slice(0, MAX_CHARACTERS).toWellFormed()}…`;
}

/** Prints the speaker before the first line of a text. */
function under(speaker: string, text: string): string[] {
  return text.split('\n').map((line, at) => `${(at === 0 ? speaker : '').padEnd(SPEAKER_WIDTH)} ${line}`);
}
