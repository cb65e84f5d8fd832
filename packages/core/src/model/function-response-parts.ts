import type { Content, FunctionResponsePart, Part } from '../content/content.ts';

/** True for media that may stay inside a function response. */
export type TakesResponsePart = (part: FunctionResponsePart) => boolean;

/**
 * Moves the media that a model does not take in function responses behind the responses of their content, in their order. A content without
 * such media is returned as it is; none is modified.
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
