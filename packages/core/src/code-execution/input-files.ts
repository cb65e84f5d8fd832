import type { Content } from '../content/content.ts';
import type { CodeFile } from './code-execution-types.ts';

/** The bytes inside a message as files, named by their `displayName`, or `file_1.csv` by their place and type. */
export function inputFilesOf(content: Content | undefined): CodeFile[] {
  const files: CodeFile[] = [];
  for (const { inlineData } of content?.parts ?? []) {
    if (inlineData?.data === undefined) continue;
    const mimeType = inlineData.mimeType ?? 'application/octet-stream';
    const name = inlineData.displayName || `file_${files.length + 1}.${/\w+$/.exec(mimeType)?.[0] ?? 'bin'}`;
    files.push({ name, content: inlineData.data, mimeType });
  }
  return files;
}
