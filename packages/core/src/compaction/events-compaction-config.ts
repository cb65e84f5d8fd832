import { ConfigurationError } from '../errors.ts';
import type { BaseEventsSummarizer } from './base-events-summarizer.ts';

/**
 * When a session is compacted, and what of it: by its tokens, by a window of invocations, or by both; then tokens come first. An
 * invocation is compacted whole or not at all. What is not over stays: a long-running call that the user has not answered, a
 * question to a person, and all that came since. (ADK, `EventsCompactionConfig`.)
 */
export interface EventsCompactionConfig {
  /** Makes the summaries. */
  readonly summarizer: BaseEventsSummarizer;
  /** Compact when so many invocations came since the last summary: them, in a summary of their own beside the earlier ones. */
  readonly compactionInterval?: number | undefined;
  /** So many invocations from before are summed up again with those of a window. Default 0. */
  readonly overlapSize?: number | undefined;
  /**
   * Compact when the model's last request had so many tokens: all but the newest events, earlier summaries included, in one summary
   * that stands for all of it. Where models do not tell, four characters are taken for a token. Together with `eventRetentionSize`.
   */
  readonly tokenThreshold?: number | undefined;
  /** Of the newest events at least so many stay as they are when tokens are the reason. */
  readonly eventRetentionSize?: number | undefined;
}

/** The least that each number may be. */
const MINIMA = { compactionInterval: 1, overlapSize: 0, tokenThreshold: 1, eventRetentionSize: 0 } as const;

/** @throws ConfigurationError for a config that cannot work, and for an option this version does not have */
export function checkEventsCompactionConfig(config: EventsCompactionConfig): void {
  for (const [option, value] of Object.entries(config)) {
    if (option === 'summarizer' || value === undefined) continue;
    if (!Object.hasOwn(MINIMA, option)) fail(`has no option ${option}`);
    const minimum = MINIMA[option as keyof typeof MINIMA];
    if (!Number.isInteger(value) || value < minimum) fail(`${option} must be an integer of at least ${minimum}`);
  }
  const { compactionInterval, overlapSize, tokenThreshold, eventRetentionSize } = config;
  if ((tokenThreshold === undefined) !== (eventRetentionSize === undefined))
    fail('tokenThreshold and eventRetentionSize go together');
  if (compactionInterval === undefined && tokenThreshold === undefined)
    fail('say when: compactionInterval, or tokenThreshold with eventRetentionSize');
  if (compactionInterval === undefined && overlapSize !== undefined) fail('overlapSize needs a compactionInterval');
}

function fail(fault: string): never {
  throw new ConfigurationError(`eventsCompaction: ${fault}`);
}
