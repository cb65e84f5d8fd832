import type { BaseEventsSummarizer } from './base-events-summarizer.ts';

/** True for summarizers, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseEventsSummarizer(value: unknown): value is BaseEventsSummarizer {
  return typeof value === 'object' && value !== null && '~eventloom.events-summarizer' in value;
}
