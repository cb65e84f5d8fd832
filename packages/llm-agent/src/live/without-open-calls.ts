import type { Content, Part } from '@eventloom/core';

/**
 * A history without calls that have no response yet: a service refuses such a history, and its session could not take their responses. What
 * comes of them is told in words.
 */
export function withoutOpenCalls(history: readonly Content[]): Content[] {
  const responses = new Map<string, number>();
  for (const part of history.flatMap(({ parts = [] }) => parts)) {
    if (part.functionResponse) count(responses, part.functionResponse, 1);
  }
  const isKept = ({ functionCall }: Part): boolean => !functionCall || count(responses, functionCall, -1) >= 0;
  return history.flatMap((content) => {
    const { parts = [] } = content;
    const kept = parts.filter(isKept);
    if (kept.length === parts.length) return [content];
    return kept.length > 0 ? [{ ...content, parts: kept }] : [];
  });
}

/** By the id of the call, or by its name where it has none. */
function count(responses: Map<string, number>, { id, name }: { id?: string; name?: string }, step: number): number {
  const key = id === undefined ? `name ${name}` : `id ${id}`;
  const left = (responses.get(key) ?? 0) + step;
  responses.set(key, left);
  return left;
}
