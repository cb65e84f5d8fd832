import type { BaseCodeExecutor, CodeDelimiters, CodeFile, Content, Part } from '@eventloom/core';
import { languageOf } from '@eventloom/core/internal';

/**
 * Converts the inline data of a message to files. A file without a `displayName` is named by its position and type,
 * such as `file_1.csv`.
 */
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
 * Returns the contents with a text part before each file that gives its name and type. Only the newest content that holds all the files is
 * changed, as a copy. Names and types come from the user, so they are put into the user's message and never into an instruction.
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

/** The delimiters around code and results in a model's text. */
export type CodeStyle = Pick<BaseCodeExecutor, 'codeBlockDelimiters' | 'executionResultDelimiters'>;

/**
 * Converts a code or result part to text between delimiters; undefined for any other part. Services accept such parts only if they ran the
 * code themselves, so code that an executor ran is sent as text.
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
