import type { RunBounds } from '@eventloom/core';
import { MAX_RUN_ATTEMPTS } from '@eventloom/core/internal';

/** Maximum of a time: a day. A timer of Node with a delay of more than 24 days would end at once. */
export const MAX_TIME_MS = 86_400_000;

/** Limits of a server's concurrent work and of its memory. A time (`…Ms`) is at most a day. */
export interface ServerLimits {
  /** Maximum number of bytes of a request's body. Default 20 MiB. */
  readonly maxBodyBytes: number;
  /**
   * Maximum number of bytes of all request bodies in flight: bodies that are being read, bodies of unanswered requests,
   * and messages of active runs. A further body is refused with `SERVER_BUSY`. The last eighth is for users who have
   * fewer bytes in flight than are left, and for bodies of up to 64 KiB whose user is not yet known. Default 256 MiB.
   */
  readonly maxBodyBytesInFlight: number;
  /**
   * The same limit for the bodies of one user, and for the events of a session that is copied. A further body is refused with `USER_LIMIT`.
   * Default 64 MiB.
   */
  readonly maxBodyBytesInFlightPerUser: number;
  /**
   * Maximum number of characters of responses that clients have not read yet: sessions, pages of sessions and events,
   * artifacts, and the events of a run. Responses of up to 16 Ki characters do not count, nor do streams with small
   * events: only text of more than 128 Ki characters at a time. A further one is refused with `SERVER_BUSY`, and a
   * change whose response it would be before it is made. A user who has as many as are left, or more, gets no further
   * one while others have some. Default 128 Mi.
   */
  readonly maxResponseChars: number;
  /**
   * The same limit for the responses of one user. A further one is refused with `USER_LIMIT`. A larger response is
   * possible if the user has no other one. Default 32 Mi.
   */
  readonly maxResponseCharsPerUser: number;
  /** Maximum number of parts in a message, an imported event or a live frame. Default 1,000. */
  readonly maxBodyParts: number;
  /** Maximum number of events that a new session imports. Default 10,000. */
  readonly maxBodyEvents: number;
  /** Maximum number of keys in a state, a state change or `customMetadata`; keys of their values do not count. Default 1,000. */
  readonly maxBodyKeys: number;
  /**
   * Maximum number of keys of all objects in a body together, at any depth; 50 more for each event that a new session
   * imports. Default 20,000.
   */
  readonly maxBodyTotalKeys: number;
  /**
   * Maximum number of values in a body, at any depth: items of lists, and values of keys; 100 more for each event that
   * a new session imports. Default 200,000.
   */
  readonly maxBodyTotalValues: number;
  /**
   * Maximum length of the `customMetadata` of a request for a run as JSON, in characters, because every event of the run stores it. Default
   * 16 Ki.
   */
  readonly maxBodyMetadataChars: number;
  /**
   * Maximum number of active runs; a further one is refused with `SERVER_BUSY`. A user who has as many runs as there are free places, or
   * more, cannot start another one while other users have runs. Default 2,000.
   */
  readonly maxRuns: number;
  /** Maximum number of active runs of one user; a further one is refused with `USER_LIMIT`. Default 100. */
  readonly maxRunsPerUser: number;
  /**
   * Maximum number of requests that wait for a session, because a run or another request holds it, or because the
   * storage is slow. A further one is refused with `SERVER_BUSY`. A user who has as many of them as are left, or more,
   * gets no further one while others have some. Default 1,000.
   */
  readonly maxQueuedRequests: number;
  /** Maximum number of requests of one user that wait for a session; a further one is refused with `USER_LIMIT`. Default 32. */
  readonly maxQueuedRequestsPerUser: number;
  /**
   * Maximum of `maxLlmCalls` of a run, which counts connections in a live run: an integer of at least 1, or Infinity
   * for no maximum. Default Infinity.
   */
  readonly maxLlmCalls: number;
  /**
   * Maximum of `maxRunMs` of a run, live runs included, in milliseconds: an integer from 1 to a day, or Infinity for no
   * maximum. A run without a `maxRunMs` gets it. Default Infinity.
   */
  readonly maxRunMs: number;
  /** Maximum of `maxParallelToolCalls` of a run: an integer of at least 1, or Infinity for no maximum. Default Infinity. */
  readonly maxParallelToolCalls: number;
  /**
   * Maximum number of characters of one run's events that are kept in memory, not counting its largest event. The oldest events are dropped
   * first. Default 16 Mi.
   */
  readonly maxRunChars: number;
  /**
   * Maximum number of characters of events that are kept in memory, of all runs together. Ended runs may use a quarter of it; the oldest
   * ended run of the user whose ended runs use most is dropped first. At the limit, events of the user whose runs use most are dropped.
   * Default 64 Mi.
   */
  readonly maxKeptChars: number;
  /**
   * Time for which the chunks of an ended run can be read, in milliseconds. The run's stored events can always be read. Default 300,000: 5
   * minutes.
   */
  readonly keepRunsMs: number;
  /**
   * Maximum number of ended runs and cancelled requests that are kept in memory; 0 keeps none. When there are more, the oldest of the user
   * who has the most is dropped. Default 1,000.
   */
  readonly maxKeptRuns: number;
  /** Maximum number of concurrent readers of one run; a further one is refused with `TOO_MANY_READERS`. Default 64. */
  readonly maxReadersPerRun: number;
  /**
   * Maximum number of concurrent connections that read runs of one user. A further request that follows a run, or starts one with a
   * streamed response, is refused with `USER_LIMIT`. Default 200.
   */
  readonly maxReadersPerUser: number;
  /**
   * Time without an event after which a stream gets a comment, so that proxies keep it open, in milliseconds. It is also the interval of
   * pings to clients of live runs. Default 15,000.
   */
  readonly heartbeatMs: number;
  /**
   * Time in milliseconds that `/run_sse` waits for the first event before it begins its response. A run that fails within this time is
   * answered with the status of its error; a run that fails later is answered with 200 and the error as the last line of the stream. The
   * response of a protocol waits the same time for its first bytes. Default 1,000.
   */
  readonly respondAfterMs: number;
  /**
   * Maximum number of attempts at a run, including the first: an integer of at least 1. If the process of the last attempt ends, the run is
   * closed. Default 3.
   */
  readonly maxRunAttempts: number;
  /**
   * Maximum number of active runs that the server resumed by itself; further ones wait. A user with as many as are left
   * gets the others only if no other user has left runs, or runs whose leases are not renewed. Default 32.
   */
  readonly maxResumedRuns: number;
  /**
   * Maximum interval in milliseconds at which the server searches for unfinished runs and unsent webhook messages of lost processes. 0:
   * only when `EventloomServer.takeUpUnfinishedRuns` and `deliverWebhooks` are called. Default 15,000.
   */
  readonly unfinishedRunsEveryMs: number;
  /** Maximum number of concurrent live runs; a further one is refused with `SERVER_BUSY`. Default 1,000. */
  readonly maxLiveRuns: number;
  /** Maximum number of concurrent live runs of one user; a further one is refused with `USER_LIMIT`. Default 20. */
  readonly maxLiveRunsPerUser: number;
  /** Maximum size of a frame from the client of a live run: bytes of a binary frame, characters of a text frame. Default 2 MiB. */
  readonly maxLiveFrameBytes: number;
  /**
   * Maximum number of bytes in transit to the client of a live run. The run waits while there are more, and the client is disconnected if
   * it receives nothing for two heartbeats. Default 1 MiB: 20 seconds of speech.
   */
  readonly maxLiveWaitingBytes: number;
  /**
   * Maximum total number of bytes that are sent to the client of a live run if the server cannot know how much the client has received: on
   * Workers, for clients without `ping=text`. All of them may wait in memory. A run that reaches the limit ends with `SLOW_READER` after
   * the model's sentence. Default 48 MiB: eleven minutes of speech.
   */
  readonly maxLiveUnconfirmedBytes: number;
}

/** The default limits. */
export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 20 * 1024 * 1024,
  maxBodyBytesInFlight: 256 * 1024 * 1024,
  maxBodyBytesInFlightPerUser: 64 * 1024 * 1024,
  maxResponseChars: 128 * 1024 * 1024,
  maxResponseCharsPerUser: 32 * 1024 * 1024,
  maxBodyParts: 1000,
  maxBodyEvents: 10_000,
  maxBodyKeys: 1000,
  maxBodyTotalKeys: 20_000,
  maxBodyTotalValues: 200_000,
  maxBodyMetadataChars: 16 * 1024,
  maxRuns: 2000,
  maxRunsPerUser: 100,
  maxQueuedRequests: 1000,
  maxQueuedRequestsPerUser: 32,
  maxLlmCalls: Infinity,
  maxRunMs: Infinity,
  maxParallelToolCalls: Infinity,
  maxRunChars: 16 * 1024 * 1024,
  maxKeptChars: 64 * 1024 * 1024,
  keepRunsMs: 300_000,
  maxKeptRuns: 1000,
  maxReadersPerRun: 64,
  maxReadersPerUser: 200,
  heartbeatMs: 15_000,
  respondAfterMs: 1000,
  maxRunAttempts: MAX_RUN_ATTEMPTS,
  maxResumedRuns: 32,
  unfinishedRunsEveryMs: 15_000,
  maxLiveRuns: 1000,
  maxLiveRunsPerUser: 20,
  maxLiveFrameBytes: 2 * 1024 * 1024,
  maxLiveWaitingBytes: 1024 * 1024,
  maxLiveUnconfirmedBytes: 48 * 1024 * 1024,
};

/** Returns the limits, replaced by the given ones. A given limit that is undefined is ignored. */
export function mergeLimits<T extends Partial<ServerLimits>>(limits: T, given: Partial<ServerLimits> = {}): T {
  const isGiven = ([, value]: readonly [string, unknown]): boolean => value !== undefined;
  return { ...limits, ...Object.fromEntries(Object.entries(given).filter(isGiven)) };
}

/** Returns the bounds of all runs of a server; undefined if its limits set none. */
export function boundsOf(limits: ServerLimits): RunBounds | undefined {
  const { maxRunAttempts } = limits;
  const [maxLlmCalls, maxRunMs, maxParallelToolCalls] = [
    limits.maxLlmCalls,
    limits.maxRunMs,
    limits.maxParallelToolCalls,
  ].map((limit) => (limit === Infinity ? undefined : limit));
  const isDefault = maxRunAttempts === MAX_RUN_ATTEMPTS;
  if (maxLlmCalls === undefined && maxRunMs === undefined && maxParallelToolCalls === undefined && isDefault)
    return undefined;
  return {
    maxLlmCalls,
    maxRunMs,
    maxParallelToolCalls,
    maxRunAttempts: isDefault ? undefined : Math.min(maxRunAttempts, Number.MAX_SAFE_INTEGER),
  };
}
