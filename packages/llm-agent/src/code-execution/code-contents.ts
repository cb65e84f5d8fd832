import type { BaseCodeExecutor, CodeDelimiters, CodeFile, Content, Part } from '@eventloom/core';
import { languageOf } from '@eventloom/core/internal';

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

/** The delimiters of code and of its results in the text of a model. */
export type CodeStyle = Pick<BaseCodeExecutor, 'codeBlockDelimiters' | 'executionResultDelimiters'>;

/**
 * Code or a result as text: code as its model wrote it, and not as a part, because services take such parts only where they ran the
 * code themselves. Undefined for any other part.
 */
export function codePartText({ executableCode, codeExecutionResult }: Part, style?: CodeStyle): string | undefined {
  if (executableCode) {
    const language = languageOf(String(executableCode.language ?? ''));
    const delimiters = style?.codeBlockDelimiters ?? [];
    const own = delimiters.find(([opening]) => languageOf(opening) === language) ?? delimiters[0];
    return between(own ?? [`\`\`\`${language}\n`, '\n```'], executableCode.code ?? '');
  }
  if (!codeExecutionResult) return undefined;
  const { outcome, output } = codeExecutionResult;
  const result = output || (outcome === 'OUTCOME_OK' ? '(no output)' : String(outcome));
  return between(style?.executionResultDelimiters ?? ['```tool_output\n', '\n```'], result);
}

function between([opening, closing]: CodeDelimiters, text: string): string {
  return `${opening}${text}${closing}`;
}
