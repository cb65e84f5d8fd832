import { createContext, useEffect, useMemo, useState } from 'react';
import type { SessionKey } from '@eventloom/core';
import type { Calls } from '@eventloom/core/internal';
import type { CallPart, Message } from '@eventloom/client';
import { type KeptSpan, readSpans } from './studio-client.ts';
import { type CallTimes, timesIn } from './trace.ts';

const NO_TIMES: CallTimes = new Map();

/** The durations that the server measured. */
export const MeasuredTimes = createContext(NO_TIMES);

/**
 * Returns the calls of a message that began at once. Their responses are in one event, which has the time of the
 * slowest. A call that a person approved begins with the answer, alone.
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

/** Reads the durations of parallel calls from the server's spans, once the calls have ended. */
export function useCallTimes(
  { appName, userId, sessionId }: SessionKey,
  messages: readonly Message[],
  calls: Calls,
): CallTimes {
  const [spans, setSpans] = useState<readonly KeptSpan[]>();
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
      .then((read) => {
        if (leaving.signal.aborted) return;
        setIsAbsent(read === undefined);
        setSpans(read);
      })
      // The calls are then shown without their durations.
      .catch((error: unknown) => {
        if (!leaving.signal.aborted) console.warn(error);
      });
    return () => leaving.abort();
  }, [appName, userId, sessionId, ended, isAbsent]);
  return useMemo(() => (spans ? timesIn(spans, calls) : NO_TIMES), [spans, calls]);
}
