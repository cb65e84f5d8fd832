import type { Content } from '@eventloom/core';
import { indexWords } from './words.ts';

/**
 * Changes with what a word is. A back end stores it with its index, and where it finds an older one it gives each memory the words
 * of `memoryWords` anew: a query asks for words of this version.
 */
export const MEMORY_WORDS_VERSION = 2;

/** The words that a memory is found by: each once, well-formed Unicode, none when nothing in it can be found. */
export function memoryWords(content: Content): Set<string> {
  // Parts are apart: the end of one and the begin of the next make no word.
  return indexWords((content.parts ?? []).map(({ text }) => text).join('\n'));
}
