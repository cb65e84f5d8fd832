import { createContext, useEffect, useMemo, useState } from 'react';
import type { SessionKey } from '@eventloom/core';
import type { CallPart, Message } from '@eventloom/client';
import { type KeptSpan, readSpans } from './studio-client.ts';

/** Durations of calls in seconds, by the id of the call. */
export type CallTimes = ReadonlyMap<string, number>;

const NO_TIMES: CallTimes = new Map();

/** The durations that the server measured. */
export const MeasuredTimes = createContext(NO_TIMES);

/**
 * Returns the calls of a message that began at once. Their responses are in one event, which has the time of the slowest. A call that a person
 * approved begins with the answer, alone.
 */
export function parallelCalls({ parts, timestamp }: Message): readonly CallPart[] {
  const calls = parts.filter((part) => part.type === 'call');
  return calls.length < 2
    ? []
    : calls.filter(
        (call) =>
          call.startedAt <= timestamp || calls.some((other) => other !== call && other.startedAt === call.startedAt),
      );
}

/** Returns the durations of the tool calls that have ended. A call that ran again, after an answer or in a resumed run, has that of its last time. */
export function timesIn(spans: readonly KeptSpan[]): CallTimes {
  const times = new Map<string, number>();
  for (const { kind, startMs, endMs, attributes } of spans) {
    const id = attributes['gen_ai.tool.call.id'];
    if (kind === 'tool' && typeof id === 'string' && endMs !== undefined) times.set(id, (endMs - startMs) / 1000);
  }
  return times;
}

/** Reads the durations of parallel calls from the server's spans, once the calls have ended. */
export function useCallTimes({ appName, userId, sessionId }: SessionKey, messages: readonly Message[]): CallTimes {
  const [times, setTimes] = useState(NO_TIMES);
  /** True if the server has no routes for spans. */
  const [isAbsent, setIsAbsent] = useState(false);
  const ended = useMemo(
    () =>
      messages
        .flatMap(parallelCalls)
        .flatMap(({ id, endedAt }) => (endedAt === undefined ? [] : [id]))
        .join('\n'),
    [messages],
  );
  useEffect(() => {
    if (ended === '' || isAbsent) return undefined;
    const leaving = new AbortController();
    readSpans({ appName, userId, sessionId }, leaving.signal)
      .then((spans) => {
        if (leaving.signal.aborted) return;
        setIsAbsent(spans === undefined);
        setTimes(timesIn(spans ?? []));
      })
      // The calls are then shown without their durations.
      .catch((error: unknown) => {
        if (!leaving.signal.aborted) console.warn(error);
      });
    return () => leaving.abort();
  }, [appName, userId, sessionId, ended, isAbsent]);
  return times;
}
