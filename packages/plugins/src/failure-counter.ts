import type { Invocation } from '@eventloom/core';
import type { OptionRules } from '@eventloom/core/internal';

/** The `response_type` of responses that tell a model how to repair a failure. */
export const REFLECT_AND_RETRY_RESPONSE_TYPE = 'ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN';

/** The scope in which failures are counted: one run, or the lifetime of the plugin. */
export const TrackingScope = { INVOCATION: 'invocation', GLOBAL: 'global' } as const;
/** The time over which failures are counted. */
export type TrackingScope = (typeof TrackingScope)[keyof typeof TrackingScope];

/** Options of the plugins that let a model repair its failures. */
export interface RetryLimits {
  /** Maximum number of consecutive failures after which the model is asked to try again; 0: the model is never asked. Default 3. */
  readonly maxRetries?: number | undefined;
  /** True fails the run at the next failure; false tells the model to stop trying. Default true. */
  readonly throwExceptionIfRetryExceeded?: boolean | undefined;
  /** The time over which failures are counted. Default: `TrackingScope.INVOCATION`, one run. */
  readonly trackingScope?: TrackingScope | undefined;
}

/** The options of plugins that repeat failed calls or replies. */
export const RETRY_LIMITS: OptionRules<RetryLimits> = {
  maxRetries: { is: 'number', isInteger: true, min: 0, write: '3' },
  throwExceptionIfRetryExceeded: 'flag',
  trackingScope: { is: 'text', oneOf: Object.values(TrackingScope) },
};

/** Counts consecutive failures by name. The counts of a run are dropped with the run. */
export class FailureCounter {
  readonly #ofRuns = new WeakMap<Invocation, Map<string, number>>();
  readonly #all: Map<string, number> | undefined;

  constructor(scope: TrackingScope = TrackingScope.INVOCATION) {
    this.#all = scope === TrackingScope.GLOBAL ? new Map() : undefined;
  }

  /** Counts a failure and returns the number of consecutive failures. */
  add(invocation: Invocation, name: string): number {
    let counts = this.#all ?? this.#ofRuns.get(invocation);
    if (!counts) this.#ofRuns.set(invocation, (counts = new Map()));
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count;
  }

  /** Resets the count after a success. */
  reset(invocation: Invocation, name: string): void {
    (this.#all ?? this.#ofRuns.get(invocation))?.delete(name);
  }
}
