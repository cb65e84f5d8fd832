/** Names that a model may give a language. `tool_code` is what Gemini calls Python. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['js', 'javascript'],
  ['ts', 'typescript'],
  ['py', 'python'],
  ['tool_code', 'python'],
  ['language_unspecified', ''],
]);

/** The language that an opening delimiter, or the vendor's name for one, stands for: in lower case, empty for none. */
export function languageOf(text: string): string {
  const name = /[\w+#-]+/.exec(text)?.[0].toLowerCase() ?? '';
  return ALIASES.get(name) ?? name;
}
