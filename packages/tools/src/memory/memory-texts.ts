import { contentText, type MemoryEntry } from '@eventloom/core';

/** A memory as a model reads it. */
export interface MemoryText {
  readonly content: string;
  readonly author?: string;
  readonly timestamp?: string;
}

/** The texts of memories in their order, as many characters of them as there is room for; the last one may end in `…`. */
export function memoryTexts(memories: readonly MemoryEntry[], maxCharacters: number): MemoryText[] {
  const texts: MemoryText[] = [];
  let room = maxCharacters;
  for (const { content, author, timestamp } of memories) {
    const text = contentText(content);
    if (text === '') continue;
    if (room <= 0) break;
    texts.push({
      content: text.length <= room ? text : `${text.slice(0, room).toWellFormed()}…`,
      ...(author === undefined ? {} : { author }),
      ...(timestamp === undefined ? {} : { timestamp }),
    });
    room -= text.length;
  }
  return texts;
}
