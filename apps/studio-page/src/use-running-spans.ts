import { useEffect, useState } from 'react';
import type { SessionKey } from '@eventloom/core';
import { type KeptSpan, readSpans } from './studio-client.ts';

/** The spans are read at this interval, in milliseconds. */
const READ_AGAIN_MS = 600;

const NO_SPANS: readonly KeptSpan[] = [];

/**
 * Returns the spans of the work in progress. Calls of an agent inside a tool, and nodes of a graph that have not sent
 * an event, are not in the stream of their run, so they are known from the server's spans. Empty if the server keeps
 * none.
 *
 * @param isNeeded true while such work may be in progress
 */
export function useRunningSpans({ appName, userId, sessionId }: SessionKey, isNeeded: boolean): readonly KeptSpan[] {
  const [spans, setSpans] = useState(NO_SPANS);
  useEffect(() => {
    if (!isNeeded) return undefined;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      try {
        const kept = await readSpans({ appName, userId, sessionId }, leaving.signal);
        if (leaving.signal.aborted || !kept) return;
        setSpans(kept.filter(({ status }) => status === 'running'));
      } catch (error) {
        // What the stream and the events name is shown.
        if (leaving.signal.aborted) return;
        console.warn(error);
      }
      timer = setTimeout(() => void read(), READ_AGAIN_MS);
    };
    void read();
    return () => {
      leaving.abort();
      clearTimeout(timer);
      setSpans(NO_SPANS);
    };
  }, [appName, userId, sessionId, isNeeded]);
  return spans;
}
