import type { Content, Part } from '@eventloom/core';

/** Returns the parts of a content in one line. Texts are truncated to 200 characters. */
export function describeContent(content: Content | undefined): string {
  return content?.parts?.length ? content.parts.map(describePart).join(' | ') : 'none';
}

function describePart(part: Part): string {
  const { text, functionCall, functionResponse, codeExecutionResult, executableCode, inlineData, fileData } = part;
  if (text !== undefined) return `text: '${shorten(text.trim(), 200)}'`;
  if (functionCall) return `function_call: ${functionCall.name}`;
  if (functionResponse) return `function_response: ${functionResponse.name}`;
  if (executableCode) return 'executable_code';
  if (codeExecutionResult) return 'code_execution_result';
  if (inlineData) return `inline_data: ${inlineData.mimeType}`;
  return fileData ? `file_data: ${fileData.fileUri}` : 'other_part';
}

/** Returns a value as JSON, truncated to 300 characters. */
export function describeValue(value: unknown): string {
  return shorten(JSON.stringify(value) ?? 'undefined', 300);
}

/** Truncates a text to a number of characters. */
export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}...`;
}
