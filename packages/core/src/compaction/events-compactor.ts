import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import { createEvent } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { readNewest } from '../session/read-newest.ts';
import { sessionKeyOf } from '../session/session.ts';
import type { BaseSessionService } from '../session/session-service.ts';
import { type CompactionScope, compactSession } from './compact-session.ts';
import { CompactionCounters } from './compaction-counters.ts';
import { type CompactionPlan, type Overlap, planWhole, planWindow } from './compaction-plan.ts';
import { effectiveHistory, type EffectiveHistory } from './effective-history.ts';
import { checkEventsCompactionConfig, type EventsCompactionConfig } from './events-compaction-config.ts';

/** What of a session service is read. */
type Reading = Pick<BaseSessionService, 'listEvents'>;

/** So many summaries stand beside each other; the next one stands for all of them. Without a bound, requests grow with the session. */
const MAX_SUMMARIES = 32;

/** Decides at the end of a run whether the session is compacted, and makes the event of it. */
export class EventsCompactor {
  readonly #config: EventsCompactionConfig;

  /** @throws ConfigurationError for a config that cannot work */
  constructor(config: EventsCompactionConfig) {
    checkEventsCompactionConfig(config);
    this.#config = config;
  }

  /**
   * Compacts the session of a run that is over, when it is time: everything that no summary stands for is among its events. What goes wrong is
   * reported to the platform.
   */
  compactSession(scope: CompactionScope, sessionService: Reading): Promise<void> {
    return compactSession(scope, () => this.#compact(scope.context, sessionService));
  }

  /** The event to append; undefined when it is not time, or nothing can be compacted yet. Passes on what the summarizer throws. */
  async #compact(context: InvocationContext, sessionService: Reading): Promise<Event | undefined> {
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
      // Its own: it is read without the run that it came after, and must not be taken for the begin of that one.
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
  // The key is this file's own.
  let counters = derived.get(COUNTERS) as CompactionCounters | undefined;
  if (!counters) derived.set(COUNTERS, (counters = new CompactionCounters()));
  return counters;
}

/** The invocations that summaries stand for, in order. */
function invocationsOf(events: readonly Event[], { covered }: EffectiveHistory): string[] {
  return [...new Set(covered.map((position) => events[position]?.invocationId ?? ''))];
}

/** The last covered invocations, so many of them. */
function overlapOf(events: readonly Event[], size: number): Overlap {
  const history = effectiveHistory(events);
  const again = new Set(invocationsOf(events, history).slice(-size));
  const covered = history.covered.map((position) => events[position] as Event);
  return {
    events: covered.filter(({ invocationId }) => again.has(invocationId)),
    before: covered.filter(({ invocationId }) => !again.has(invocationId)),
  };
}
