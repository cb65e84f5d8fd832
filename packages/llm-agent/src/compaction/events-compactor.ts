import {
  type BaseSessionService,
  ConfigurationError,
  createEvent,
  type Event,
  type InvocationContext,
} from '@eventloom/core';
import {
  checkOptions,
  DerivedKey,
  type DerivedValues,
  integer,
  newInvocationId,
  type OptionRules,
  readNewest,
  sessionKeyOf,
  wrongOption,
} from '@eventloom/core/internal';
import { type BaseEventsSummarizer, isBaseEventsSummarizer } from './base-events-summarizer.ts';
import { CompactionCounters } from './compaction-counters.ts';
import { type CompactionPlan, type Overlap, planWhole, planWindow } from './compaction-plan.ts';
import { effectiveHistory, type EffectiveHistory } from './effective-history.ts';

/**
 * Decides when a session is compacted: by the tokens of its model requests, by the number of invocations, or by both
 * (then tokens are checked first). An invocation is never split. A long-running call or a request to a person that
 * waits for its answer is not compacted, nor is any event after it. (ADK, `EventsCompactionConfig`.)
 *
 * @example
 * const eventsCompaction: EventsCompactionConfig = {
 *   summarizer: new LlmEventSummarizer({ model }),
 *   compactionInterval: 20,
 *   overlapSize: 2,
 * };
 */
export interface EventsCompactionConfig {
  /** Writes the summaries. */
  readonly summarizer: BaseEventsSummarizer;
  /**
   * Number of invocations since the last summary after which these are summarized, beside the earlier summaries. At least 1. If absent, the
   * number of invocations never causes a compaction.
   */
  readonly compactionInterval?: number | undefined;
  /** Number of already summarized invocations that the next summary includes again. Default 0. Requires `compactionInterval`. */
  readonly overlapSize?: number | undefined;
  /**
   * Number of prompt tokens in the last model request at which all but the newest events, with all earlier summaries,
   * become one summary. If the model reports no tokens, one token for four characters is assumed. If absent, tokens
   * never cause a compaction. Requires `eventRetentionSize`.
   */
  readonly tokenThreshold?: number | undefined;
  /** Minimum number of newest events that stay unsummarized when `tokenThreshold` is reached. Requires `tokenThreshold`. */
  readonly eventRetentionSize?: number | undefined;
}

/** The part of a session service that the compactor uses. */
type Reading = Pick<BaseSessionService, 'listEvents'>;

/** Maximum number of summaries side by side; the next summary replaces all of them. Without a limit, requests grow with the session. */
const MAX_SUMMARIES = 32;

/** Decides after a run whether the session is compacted, and creates the event of the compaction. */
export class EventsCompactor {
  readonly #config: EventsCompactionConfig;

  /** @throws ConfigurationError for an invalid config */
  constructor(config: EventsCompactionConfig) {
    checkEventsCompactionConfig(config);
    this.#config = config;
  }

  /**
   * Returns the compaction event to append; undefined if no threshold is reached, or no event can be compacted yet. The
   * session must contain all events that no summary covers.
   * @throws ConfigurationError if the summarizer returns an event without a summary; errors of the summarizer are passed on
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
        'maybeSummarizeEvents: expected an event with actions.compaction.compactedContent, or undefined, as the result; write return createEvent({ actions: { compaction } })',
      );
    }
    const { platform } = context;
    const invocationId = newInvocationId(platform);
    const { usageMetadata, customMetadata, modelVersion } = made;
    return createEvent({
      id: platform.newEventId(),
      // A new id, because a reader that sees the compaction but not the run before it must not take it for the start of that run.
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

const COUNTERS = new DerivedKey<CompactionCounters>('compaction counters');

function countersOf(derived: DerivedValues): CompactionCounters {
  let counters = derived.get(COUNTERS);
  if (!counters) derived.set(COUNTERS, (counters = new CompactionCounters()));
  return counters;
}

/** Returns the ids of the invocations that summaries cover, in order. */
function invocationsOf(events: readonly Event[], { covered }: EffectiveHistory): string[] {
  return [...new Set(covered.map((index) => events[index]?.invocationId ?? ''))];
}

/** Returns the events of the last `size` invocations that summaries cover. */
function overlapOf(events: readonly Event[], size: number): Overlap {
  const history = effectiveHistory(events);
  const again = new Set(invocationsOf(events, history).slice(-size));
  const covered = history.covered.map((index) => events[index] as Event);
  return {
    events: covered.filter(({ invocationId }) => again.has(invocationId)),
    before: covered.filter(({ invocationId }) => !again.has(invocationId)),
  };
}

const SUMMARIZER = 'new LlmEventSummarizer({ model })';

const OPTIONS: OptionRules<EventsCompactionConfig> = {
  summarizer: { is: 'object', wanted: 'a summarizer', write: SUMMARIZER },
  compactionInterval: integer(1),
  overlapSize: integer(0),
  tokenThreshold: integer(1),
  eventRetentionSize: integer(0),
};

/**
 * Checks the config of compactions.
 * @throws ConfigurationError for an invalid config, and for an option name that this version does not know
 */
function checkEventsCompactionConfig(config: EventsCompactionConfig): void {
  checkOptions('eventsCompaction', OPTIONS, config);
  if (!isBaseEventsSummarizer(config.summarizer))
    throw wrongOption('eventsCompaction', 'summarizer', 'a summarizer', config.summarizer, SUMMARIZER);
  const { compactionInterval, overlapSize, tokenThreshold, eventRetentionSize } = config;
  if ((tokenThreshold === undefined) !== (eventRetentionSize === undefined))
    fail('tokenThreshold and eventRetentionSize need each other; write tokenThreshold: 30_000, eventRetentionSize: 20');
  if (compactionInterval === undefined && tokenThreshold === undefined)
    fail('no threshold is set; write compactionInterval: 10, or tokenThreshold: 30_000, eventRetentionSize: 20');
  if (compactionInterval === undefined && overlapSize !== undefined)
    fail('overlapSize needs compactionInterval; write compactionInterval: 10');
}

function fail(fault: string): never {
  throw new ConfigurationError(`eventsCompaction: ${fault}`);
}
