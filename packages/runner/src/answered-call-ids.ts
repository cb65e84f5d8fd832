import type { Content } from '@eventloom/core';

/** The ids of the calls that a message answers; none for a message that is no answer. */
export function answeredCallIds(message: Content | undefined): string[] {
  return message?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
}
