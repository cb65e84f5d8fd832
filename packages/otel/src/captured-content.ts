import type { Content, LlmResponse, Part } from '@eventloom/core';

/** One part of a message, in the format of the GenAI conventions. The bytes of files are omitted. */
type CapturedPart = Readonly<Record<string, unknown>> & { readonly type: string };

/**
 * Returns messages as JSON in the format of `gen_ai.input.messages`. JSON longer than `maxLength` characters is reduced to the newest
 * messages that fit, after a note with the number of omitted messages.
 */
export function capturedMessages(contents: readonly Content[], maxLength: number): string {
  const kept: string[] = [];
  let length = 2;
  for (let at = contents.length - 1; at >= 0; at--) {
    const content = contents[at];
    const json = JSON.stringify({ role: roleOf(content), parts: content?.parts?.map(toPart) ?? [] });
    length += json.length + 1;
    if (length > maxLength) {
      kept.push(JSON.stringify({ role: 'system', parts: [leftOut(`${at + 1} messages`)] }));
      break;
    }
    kept.push(json);
  }
  return `[${kept.reverse().join(',')}]`;
}

/** Returns a response as JSON in the format of `gen_ai.output.messages`. */
export function capturedResponse({ content, finishReason }: LlmResponse, maxLength: number): string {
  const message = {
    role: 'assistant',
    parts: content?.parts?.map(toPart) ?? [],
    finish_reason: finishReason?.toLowerCase() ?? 'stop',
  };
  const json = JSON.stringify([message]);
  return json.length <= maxLength
    ? json
    : JSON.stringify([{ ...message, parts: [leftOut(`${json.length} characters`)] }]);
}

/** Returns a system instruction as JSON in the format of `gen_ai.system_instructions`. */
export function capturedInstruction(instruction: unknown, maxLength: number): string {
  const text = typeof instruction === 'string' ? instruction : JSON.stringify(instruction);
  return JSON.stringify([
    text.length <= maxLength ? { type: 'text', content: text } : leftOut(`${text.length} characters`),
  ]);
}

/** Returns arguments or a result of a tool as JSON. */
export function capturedValue(value: unknown, maxLength: number): string {
  const json = toJson(value);
  return json.length <= maxLength ? json : JSON.stringify(`${json.length} characters left out`);
}

/** Returns a value as JSON. Accepts any value, because tools may return anything. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    return JSON.stringify(String(error));
  }
}

function leftOut(what: string): CapturedPart {
  return { type: 'text', content: `${what} left out` };
}

function roleOf(content: Content | undefined): string {
  const isTool = content?.parts?.some(({ functionResponse }) => functionResponse) === true;
  if (isTool) return 'tool';
  return content?.role === 'model' ? 'assistant' : (content?.role ?? 'user');
}

function toPart(part: Part): CapturedPart {
  const { text, thought, functionCall, functionResponse, inlineData, fileData } = part;
  if (text !== undefined) return { type: thought === true ? 'reasoning' : 'text', content: text };
  if (functionCall)
    return { type: 'tool_call', id: functionCall.id, name: functionCall.name, arguments: functionCall.args };
  if (functionResponse)
    return { type: 'tool_call_response', id: functionResponse.id, response: functionResponse.response };
  if (inlineData) return { type: 'blob', ...mediaOf(inlineData.mimeType) };
  if (fileData) return { type: 'uri', ...mediaOf(fileData.mimeType), uri: fileData.fileUri };
  return { type: Object.keys(part)[0] ?? 'text' };
}

function mediaOf(mimeType: string | undefined) {
  return { mime_type: mimeType, modality: mimeType?.split('/')[0] };
}
