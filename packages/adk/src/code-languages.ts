/** Languages of code that a model writes. */
export const CodeExecutionLanguage = {
  UNSPECIFIED: 'unspecified',
  PYTHON: 'python',
  JAVASCRIPT: 'javascript',
  TYPESCRIPT: 'typescript',
  SHELL: 'shell',
  POWERSHELL: 'powershell',
  WINDOWS_CMD: 'cmd',
} as const;
export type CodeExecutionLanguage = (typeof CodeExecutionLanguage)[keyof typeof CodeExecutionLanguage];

/** Encodings of a file's content. */
export const FileContentEncoding = { UTF8: 'utf-8', BASE64: 'base64' } as const;
export type FileContentEncoding = (typeof FileContentEncoding)[keyof typeof FileContentEncoding];
