import type { Content } from './content.ts';

/** The text of a content without its thoughts, parts joined as they are. Empty when there is none. */
export function contentText(content: Content | undefined): string {
  let text = '';
  for (const part of content?.parts ?? []) {
    if (part.text !== undefined && part.thought !== true) text += part.text;
  }
  return text;
}
