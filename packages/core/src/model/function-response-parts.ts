import type { Content, FunctionResponsePart, Part } from '../content/content.ts';

/** True for media that may stay inside a function response. */
export type TakesResponsePart = (part: FunctionResponsePart) => boolean;

/**
 * Moves media that a model does not accept in function responses after the responses of the same content, in order. Returns a
 * content without such media as it is, and modifies none.
 */
export function moveResponseParts(content: Content, takes: TakesResponsePart): Content {
  const { parts = [] } = content;
  let isMoved = false;
  for (const { functionResponse } of parts) if (functionResponse?.parts?.some((part) => !takes(part))) isMoved = true;
  if (!isMoved) return content;
  const moved: Part[] = [];
  const kept = parts.map((part) => {
    const { functionResponse } = part;
    if (!functionResponse?.parts) return part;
    const { parts: media, ...response } = functionResponse;
    const taken = media.filter(takes);
    moved.push(...media.filter((each) => !taken.includes(each)));
    return { ...part, functionResponse: taken.length > 0 ? { ...response, parts: taken } : response };
  });
  return { ...content, parts: [...kept, ...moved] };
}
