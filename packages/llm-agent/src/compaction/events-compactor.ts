import {
  type BaseSessionService,
  ConfigurationError,
  createEvent,
  type Event,
  type InvocationContext,
} from '@eventloom/core';
import { readNewest, sessionKeyOf, type OptionNames, checkKnown } from '@eventloom/core/internal';
import type { BaseEventsSummarizer } from './base-events-summarizer.ts';
import { CompactionCounters } from './compaction-counters.ts';
import { type CompactionPlan, type Overlap, planWhole, planWindow } from './compaction-plan.ts';
import { effectiveHistory, type EffectiveHistory } from './effective-history.ts';

/**
 * Says when a session is compacted: by the tokens of its requests, by a number of invocations, or by both; then tokens come first. An
 * invocation is compacted whole or not at all. Open work stays: a long-running call or a question that waits for its answer, and
 * everything after it. (ADK, `EventsCompactionConfig`.)
 */
export interface EventsCompactionConfig {
  /** Makes the summaries. */
  readonly summarizer: BaseEventsSummarizer;
  /** Compact after this many invocations since the last summary: they get a summary of their own beside the earlier ones. */
  readonly compactionInterval?: number | undefined;
  /** The number of invocations before the window that are summarized again with it. Default 0. */
  readonly overlapSize?: number | undefined;
  /**
   * Compact when the model's last request had this many tokens: all but the newest events, with earlier summaries, become one
   * summary. A model that reports no tokens is taken to need one for four characters. Requires `eventRetentionSize`.
   */
  readonly tokenThreshold?: number | undefined;
  /** At least this many of the newest events stay as they are when tokens are the reason. Requires `tokenThreshold`. */
  readonly eventRetentionSize?: number | undefined;
}

/** The part of a session service that is used. */
type Reading = Pick<BaseSessionService, 'listEvents'>;

/** The most summaries side by side; the next one replaces all of them. Without a limit, requests grow with the session. */
const MAX_SUMMARIES = 32;

/** Decides after a run whether the session is compacted, and creates the event of the compaction. */
export class EventsCompactor {
  readonly #config: EventsCompactionConfig;

  /** @throws ConfigurationError for a config that cannot work */
  constructor(config: EventsCompactionConfig) {
    checkEventsCompactionConfig(config);
    this.#config = config;
  }

  /**
   * Returns the event to append; undefined when it is not time, or nothing can be compacted yet. The events of the session must hold
   * everything that no summary stands for. Throws what the summarizer throws.
   */
  async compact(context: InvocationContext, sessionService: Reading): Promise<Event | undefined> {
    const plan = await this.#plan(context, sessionService);
    if (!plan || plan.events.length === 0) return undefined;
    const { events, startTimestamp, endTimestamp } = plan;
    const made = await this.#config.summarizer.maybeSummarizeEvents({ events, abortSignal: context.abortSignal });
    if (made === undefined) return undefined;
    const compactedContent = made.actions?.compaction?.compactedContent;
    if (!compactedContent?.parts?.length) {
      throw new ConfigurationError(
        'maybeSummarizeEvents: must return an event with actions.compaction.compactedContent, or undefined',
      );
    }
    const { platform } = context;
    const invocationId = `e-${platform.newUuid()}`;
    const { usageMetadata, customMetadata, modelVersion } = made;
    return createEvent({
      id: platform.newEventId(),
      // A new one: the compaction may be read without the run before it, and must not be taken for the start of that run.
      invocationId,
      executionId: invocationId,
      author: 'user',
      timestamp: Math.max(platform.now() / 1000, endTimestamp),
      actions: { compaction: { startTimestamp, endTimestamp, compactedContent } },
      ...(usageMetadata === undefined ? {} : { usageMetadata }),
      ...(customMetadata === undefined ? {} : { customMetadata }),
      ...(modelVersion === undefined ? {} : { modelVersion }),
    });
  }

  async #plan({ invocation, session }: InvocationContext, service: Reading): Promise<CompactionPlan | undefined> {
    const {
      compactionInterval = Infinity,
      overlapSize = 0,
      tokenThreshold = Infinity,
      eventRetentionSize = 0,
    } = this.#config;
    const { events } = session;
    const counters = countersOf(invocation.derived);
    counters.update(events);
    const isLarge = counters.tokens >= tokenThreshold;
    const isDue = counters.invocations >= compactionInterval;
    if (!isLarge && !isDue) return undefined;
    const history = effectiveHistory(events);
    const isCrowded = history.summaries.length >= MAX_SUMMARIES;
    const whole = isLarge || isCrowded ? planWhole(events, history, isLarge ? eventRetentionSize : 0) : undefined;
    if (whole || !isDue) return whole;
    if (overlapSize === 0 || history.summaries.length === 0) return planWindow(events, history);
    const isHere = events.length >= session.lastSeq;
    const isEnough = (read: readonly Event[]): boolean =>
      invocationsOf(read, effectiveHistory(read)).length > overlapSize;
    const newest = isHere ? events : await readNewest(service, sessionKeyOf(session), isEnough);
    return planWindow(events, history, overlapOf(newest, overlapSize));
  }
}

const COUNTERS = Symbol('compaction counters');

function countersOf(derived: Map<unknown, unknown>): CompactionCounters {
  // Only this file uses the key.
  let counters = derived.get(COUNTERS) as CompactionCounters | undefined;
  if (!counters) derived.set(COUNTERS, (counters = new CompactionCounters()));
  return counters;
}

/** The invocations that summaries stand for, in order. */
function invocationsOf(events: readonly Event[], { covered }: EffectiveHistory): string[] {
  return [...new Set(covered.map((position) => events[position]?.invocationId ?? ''))];
}

/** The last `size` invocations that summaries stand for. */
function overlapOf(events: readonly Event[], size: number): Overlap {
  const history = effectiveHistory(events);
  const again = new Set(invocationsOf(events, history).slice(-size));
  const covered = history.covered.map((position) => events[position] as Event);
  return {
    events: covered.filter(({ invocationId }) => again.has(invocationId)),
    before: covered.filter(({ invocationId }) => !again.has(invocationId)),
  };
}

const OPTIONS: OptionNames<EventsCompactionConfig> = {
  summarizer: true,
  compactionInterval: true,
  overlapSize: true,
  tokenThreshold: true,
  eventRetentionSize: true,
};

/** The minimum of each number. */
const MINIMA = { compactionInterval: 1, overlapSize: 0, tokenThreshold: 1, eventRetentionSize: 0 } as const;

/** @throws ConfigurationError for a config that cannot work, and for an option this version does not have */
function checkEventsCompactionConfig(config: EventsCompactionConfig): void {
  checkKnown('eventsCompaction', OPTIONS, config);
  for (const [option, value] of Object.entries(config)) {
    if (option === 'summarizer' || value === undefined) continue;
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
