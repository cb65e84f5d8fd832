import type { BaseEventsSummarizer } from './base-events-summarizer.ts';

/** Marks summarizers. Apart from the class, so that a runner without one does not bring it along. */
export const SUMMARIZER_BRAND: unique symbol = Symbol.for('eventloom.events-summarizer') as never;

/** True for summarizers, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseEventsSummarizer(value: unknown): value is BaseEventsSummarizer {
  return typeof value === 'object' && value !== null && SUMMARIZER_BRAND in value;
}
