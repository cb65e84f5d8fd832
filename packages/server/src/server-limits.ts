import type { RunBounds } from '@eventloom/core';
import { MAX_RUN_ATTEMPTS } from '@eventloom/core/internal';

/** Limits of a server's concurrent work and of its memory. */
export interface ServerLimits {
  /** Maximum number of bytes of a request's body. Default 20 MiB. */
  readonly maxBodyBytes: number;
  /**
   * Maximum number of bytes of all request bodies in flight together: bodies that are being read, bodies of requests without an answer yet, and
   * messages of runs in flight. A further body is refused with SERVER_BUSY. Default 256 MiB.
   */
  readonly maxBodyBytesInFlight: number;
  /** Maximum number of bytes of one user's request bodies in flight; a further body is refused with USER_LIMIT. Default 64 MiB. */
  readonly maxBodyBytesInFlightPerUser: number;
  /** Maximum number of parts in a message, an imported event or a live frame. Default 1,000. */
  readonly maxBodyParts: number;
  /** Maximum number of events that a new session imports. Default 10,000. */
  readonly maxBodyEvents: number;
  /** Maximum number of keys in a state or a state change. Default 1,000. */
  readonly maxBodyKeys: number;
  /** Runs in flight; a further one is refused with SERVER_BUSY. Default 2,000. */
  readonly maxRuns: number;
  /** Runs of one user in flight; a further one is refused with USER_LIMIT. Default 100. */
  readonly maxRunsPerUser: number;
  /**
   * Requests that wait for a session, because a run or another request holds it, or because the storage is slow. A further one is refused
   * with SERVER_BUSY. Default 1,000.
   */
  readonly maxQueuedRequests: number;
  /** Requests of one user that wait for a session; a further request is refused with USER_LIMIT. Default 32. */
  readonly maxQueuedRequestsPerUser: number;
  /** Model calls of one run, whatever its config says. An integer of at least 1, or Infinity: the config decides. Default Infinity. */
  readonly maxLlmCalls: number;
  /** Tool calls of one model reply that run at the same time, whatever the config says. As `maxLlmCalls`. Default Infinity. */
  readonly maxParallelToolCalls: number;
  /** Characters of events kept of one run, beside its largest one; the oldest go first. Default 16 Mi. */
  readonly maxRunChars: number;
  /**
   * Characters of events kept of all runs together, until their last reader has read them. Finished runs get a quarter of it, and the oldest goes
   * first. At the limit, events of the user whose runs keep most are dropped. Default 64 Mi.
   */
  readonly maxKeptChars: number;
  /** The time for which a finished run can still be read, in milliseconds. Default 5 minutes. */
  readonly keepRunsMs: number;
  /** Finished runs that are kept in memory; 0 keeps none. Default 1,000. */
  readonly maxKeptRuns: number;
  /** Readers of one run at a time; a further one is refused with TOO_MANY_READERS. Default 64. */
  readonly maxReadersPerRun: number;
  /**
   * Connections that read runs of one user at a time; a further one, to follow a run or to begin a run whose events are streamed, is refused
   * with USER_LIMIT. Default 200.
   */
  readonly maxReadersPerUser: number;
  /** A stream that is silent for this long gets a comment; the client of a live run is pinged at this interval. Default 15,000 ms. */
  readonly heartbeatMs: number;
  /**
   * The time that `/run_sse` waits for the first event before its answer begins. A run that fails sooner is answered with the status of its
   * error, later with 200 and the error as the stream's last line. Default 1,000 ms.
   */
  readonly answerAfterMs: number;
  /** Maximum number of attempts at a run, the first one included. If the process of the last one ends, the run is closed. Default 3. */
  readonly maxRunAttempts: number;
  /** Runs in flight that the server resumed by itself; further ones wait. Default 32. */
  readonly maxResumedRuns: number;
  /**
   * The time after which the server looks again for runs, and for messages of webhooks, that other processes left; sooner where a session is about to be free. 0: only when
   * `EventloomServer.takeUpUnfinishedRuns` and `deliverWebhooks` are called. Default 15,000 ms.
   */
  readonly unfinishedRunsEveryMs: number;
  /** Live runs at a time, those that are about to end included; a further one is refused with SERVER_BUSY. Default 1,000. */
  readonly maxLiveRuns: number;
  /** Live runs of one user at a time; a further one is refused with USER_LIMIT. Default 20. */
  readonly maxLiveRunsPerUser: number;
  /** Bytes of a binary frame, and characters of a text frame, that the client of a live run may send. Default 2 MiB. */
  readonly maxLiveFrameBytes: number;
  /**
   * Maximum number of bytes on their way to the client of a live run. The run waits while there are more, and the client
   * is disconnected if it takes nothing for two heartbeats. Default 1 MiB: 20 seconds of speech.
   */
  readonly maxLiveWaitingBytes: number;
  /**
   * Bytes that the client of a live run may be sent in total, when the server cannot know how much the client has received: on Workers, and the client does not say
   * `ping=text`. All of it may still wait in memory. A run that reaches the limit ends with SLOW_READER when the model has said its sentence. Default 48 MiB: eleven
   * minutes of speech.
   */
  readonly maxLiveUnconfirmedBytes: number;
}

/** The default limits. */
export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 20 * 1024 * 1024,
  maxBodyBytesInFlight: 256 * 1024 * 1024,
  maxBodyBytesInFlightPerUser: 64 * 1024 * 1024,
  maxBodyParts: 1000,
  maxBodyEvents: 10_000,
  maxBodyKeys: 1000,
  maxRuns: 2000,
  maxRunsPerUser: 100,
  maxQueuedRequests: 1000,
  maxQueuedRequestsPerUser: 32,
  maxLlmCalls: Infinity,
  maxParallelToolCalls: Infinity,
  maxRunChars: 16 * 1024 * 1024,
  maxKeptChars: 64 * 1024 * 1024,
  keepRunsMs: 300_000,
  maxKeptRuns: 1000,
  maxReadersPerRun: 64,
  maxReadersPerUser: 200,
  heartbeatMs: 15_000,
  answerAfterMs: 1000,
  maxRunAttempts: MAX_RUN_ATTEMPTS,
  maxResumedRuns: 32,
  unfinishedRunsEveryMs: 15_000,
  maxLiveRuns: 1000,
  maxLiveRunsPerUser: 20,
  maxLiveFrameBytes: 2 * 1024 * 1024,
  maxLiveWaitingBytes: 1024 * 1024,
  maxLiveUnconfirmedBytes: 48 * 1024 * 1024,
};

/** The limits that are given, over others; undefined gives none. */
export function mergeLimits<T extends Partial<ServerLimits>>(limits: T, given: Partial<ServerLimits> = {}): T {
  const isGiven = ([, value]: readonly [string, unknown]): boolean => value !== undefined;
  return { ...limits, ...Object.fromEntries(Object.entries(given).filter(isGiven)) };
}

/** The bounds of every run of a server; undefined when its limits bound none. */
export function boundsOf({ maxLlmCalls, maxParallelToolCalls, maxRunAttempts }: ServerLimits): RunBounds | undefined {
  const isDefault = maxRunAttempts === MAX_RUN_ATTEMPTS;
  if (maxLlmCalls === Infinity && maxParallelToolCalls === Infinity && isDefault) return undefined;
  return {
    maxLlmCalls: maxLlmCalls === Infinity ? undefined : maxLlmCalls,
    maxParallelToolCalls: maxParallelToolCalls === Infinity ? undefined : maxParallelToolCalls,
    maxRunAttempts: isDefault ? undefined : Math.min(Math.max(maxRunAttempts, 1), Number.MAX_SAFE_INTEGER),
  };
}
