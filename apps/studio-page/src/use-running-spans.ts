import { useEffect, useState } from 'react';
import type { SessionKey } from '@eventloom/core';
import { readSpans } from './studio-client.ts';

/** The spans are read at this interval, in milliseconds. */
const READ_AGAIN_MS = 1000;

const NO_NAMES: readonly string[] = [];

/**
 * Returns the names of the agents whose models and tools work now. The calls of an agent inside a tool are not in the stream of its run, so they are
 * known from the server's spans. Empty if the server keeps none.
 *
 * @param isNeeded true while an agent works as a tool
 */
export function useInnerAgents({ appName, userId, sessionId }: SessionKey, isNeeded: boolean): readonly string[] {
  const [names, setNames] = useState(NO_NAMES);
  useEffect(() => {
    if (!isNeeded) return undefined;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      try {
        const spans = await readSpans({ appName, userId, sessionId }, leaving.signal);
        if (leaving.signal.aborted || !spans) return;
        const calls = spans.filter(({ kind, status }) => status === 'running' && (kind === 'model' || kind === 'tool'));
        const working = new Set(calls.map(({ attributes }) => String(attributes['gen_ai.agent.name'])));
        setNames(Array.from(working));
      } catch (error) {
        // The agents that the stream names are shown.
        if (leaving.signal.aborted) return;
        console.warn(error);
      }
      timer = setTimeout(() => void read(), READ_AGAIN_MS);
    };
    void read();
    return () => {
      leaving.abort();
      clearTimeout(timer);
      setNames(NO_NAMES);
    };
  }, [appName, userId, sessionId, isNeeded]);
  return names;
}
