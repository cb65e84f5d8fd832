import { appendInstructions, type CodeFile, type Content } from '@eventloom/core';
import type { RequestProcessor } from '../processors/request-processor.ts';

/** Converts the bytes in a message to files, named by their `displayName`, or `file_1.csv` by their place and type. */
export function inputFilesOf(content: Content | undefined): CodeFile[] {
  const files: CodeFile[] = [];
  for (const { inlineData } of content?.parts ?? []) {
    if (inlineData?.data === undefined) continue;
    const mimeType = inlineData.mimeType ?? 'application/octet-stream';
    const name = inlineData.displayName || `file_${files.length + 1}.${extensionOf(mimeType)}`;
    files.push({ name, content: inlineData.data, mimeType });
  }
  return files;
}

/** The last word of a MIME type without its parameters: `csv` of `text/csv; charset=utf-8`, `xml` of `image/svg+xml`. */
function extensionOf(mimeType: string): string {
  const [type = ''] = mimeType.split(';', 1);
  const word = type.trimEnd().split(/\W/).at(-1) ?? '';
  return word !== '' && word.length <= 16 ? word : 'bin';
}

/**
 * Adds the instruction of the agent's code executor and the names of the files that code can read. It needs the contents of the
 * request: each name stands beside its file in the user's message. An executor without an instruction gets no names.
 */
export const addCodeExecution: RequestProcessor = (request, { agent: { codeExecutor }, context }) => {
  if (!codeExecutor) return;
  codeExecutor.processLlmRequest({ invocationContext: context, llmRequest: request });
  const files = codeExecutor.instruction === '' ? [] : inputFilesOf(context.userContent);
  if (files.length === 0) return;
  appendInstructions(request, [
    'Code can read the files in the message of the user, each by the name that stands in front of it.',
  ]);
  request.contents = withFileNames(request.contents, files);
};

/**
 * Returns the contents with the name and the type of each file in front of its bytes, in the newest content that holds all of the
 * files. Users give names and types, so these are part of what the user says, and never of an instruction. No content is modified.
 */
export function withFileNames(contents: readonly Content[], files: readonly CodeFile[]): Content[] {
  const result = [...contents];
  const data = files.map(({ content }) => content);
  const at = result.findLastIndex(({ role, parts = [] }) => {
    const held = role === 'model' ? [] : parts.flatMap(({ inlineData }) => inlineData?.data ?? []);
    return held.length === data.length && held.every((bytes, index) => bytes === data[index]);
  });
  const content = result[at];
  if (files.length === 0 || !content) return result;
  const next = files.values();
  const parts = content.parts?.flatMap((part) => {
    const file = part.inlineData?.data === undefined ? undefined : next.next().value;
    return file ? [{ text: `File \`${file.name}\` (${file.mimeType}):` }, part] : [part];
  });
  result[at] = { ...content, ...(parts && { parts }) };
  return result;
}
