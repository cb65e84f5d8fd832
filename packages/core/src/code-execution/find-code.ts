import type { Content, Part } from '../content/content.ts';
import type { CodeDelimiters } from './code-execution-types.ts';
import { languageOf } from './language-of.ts';

/** Code in a model's reply, and what of the reply is kept. */
export interface FoundCode {
  /** Joins the code with its result. */
  readonly id: string;
  readonly code: string;
  /** In lower case; empty when nothing says it. */
  readonly language: string;
  /** The reply up to the code, which is an `executableCode` part now. What the model wrote behind it was a guess. */
  readonly content: Content;
}

/**
 * The first code of a reply: an `executableCode` part that its model's service did not run, or a block between delimiters in
 * text that is no thought. An empty block and one without its end are no code.
 */
export function findCode(
  content: Content | undefined,
  delimiters: readonly CodeDelimiters[],
  id: string,
): FoundCode | undefined {
  const parts = content?.parts ?? [];
  for (const [index, part] of parts.entries()) {
    const given = part.executableCode;
    if (given && !parts[index + 1]?.codeExecutionResult) {
      const kept = [...parts.slice(0, index), { ...part, executableCode: { ...given, id } }];
      const language = languageOf(String(given.language ?? ''));
      return { id, code: given.code ?? '', language, content: { ...content, parts: kept } };
    }
    const block = part.text && part.thought !== true ? firstBlock(part.text, delimiters) : undefined;
    if (!block) continue;
    const { before, code, language } = block;
    const text: Part[] = before.trim() === '' ? [] : [{ text: before }];
    const executableCode = { id, code, language: language.toUpperCase() || 'LANGUAGE_UNSPECIFIED' };
    const kept = [...parts.slice(0, index), ...text, { executableCode }];
    return { id, code, language, content: { ...content, parts: kept } };
  }
  return undefined;
}

interface Block {
  readonly before: string;
  readonly code: string;
  readonly language: string;
}

/** Takes linear time whatever the model says: each kind is sought once through the text, and no more when nothing closes it. */
function firstBlock(text: string, delimiters: readonly CodeDelimiters[]): Block | undefined {
  const kinds = delimiters.map(([opening, closing]) => ({ opening, closing, at: text.indexOf(opening) }));
  for (;;) {
    const [next] = kinds.filter(({ at }) => at >= 0).toSorted((one, other) => one.at - other.at);
    if (!next) return undefined;
    const { opening, closing, at } = next;
    const start = at + opening.length;
    const end = text.indexOf(closing, start);
    const code = text.slice(start, Math.max(start, end));
    if (code.trim() !== '') return { before: text.slice(0, at), code, language: languageOf(opening) };
    for (const kind of kinds) if (kind.at >= 0 && kind.at < start) kind.at = text.indexOf(kind.opening, start);
    if (end < 0) next.at = -1;
  }
}
