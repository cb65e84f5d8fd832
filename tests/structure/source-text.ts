/** Returns code in one line, without its comments. */
export function withoutComments(code: string): string {
  return oneLine(code.replaceAll(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm, ''));
}

export function oneLine(code: string): string {
  return code
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([(<]) /g, '$1')
    .replaceAll(/,? (\)|>(?!=))/g, '$1')
    .trim();
}

export function shortened(code: string, maxLength: number): string {
  return code.length <= maxLength ? code : `${code.slice(0, maxLength).trimEnd()}…`;
}

/** Returns code as a span of Markdown. */
export function codeSpan(code: string): string {
  return code.includes('`') ? `\`\` ${code} \`\`` : `\`${code}\``;
}

/**
 * Returns the sentences of the first paragraph of a docstring, without its tags, as Markdown in one line: what is not in a code span is
 * escaped where it would be HTML.
 */
export function sentencesOf(docstring = ''): string[] {
  const [paragraph = ''] = docstring.split(/\n\s*\n|(?:^|\s)@\w+(?![\w/])/);
  const text = paragraph
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .trim();
  const escaped = text.replaceAll(/`[^`]*`|<(?=\w)/g, (part) => (part === '<' ? '\\<' : part));
  return escaped === '' ? [] : escaped.split(/(?<=(?<!e\.g|i\.e)\.) (?=[A-Z`])/);
}
