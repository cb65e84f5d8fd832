import { type BaseCodeExecutor, type CodeDelimiters, languageOf, type Part } from '@eventloom/core';

/** How code and results are told. */
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
