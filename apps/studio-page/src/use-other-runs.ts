import { useEffect, useState } from 'react';
import type { UseAgentResult } from '@eventloom/client/react';
import { readOpenRuns } from './studio-client.ts';

/** The newest event of the session is looked up at this interval, in milliseconds. */
const LOOK_AGAIN_MS = 3000;

/**
 * Reads the session again if another page has written to it: when the page gets the focus, and at intervals while it is visible. The page
 * then follows a run that another page has started. An error of the page is shown until then.
 *
 * @param isEnabled false while the page itself writes
 */
export function useChangesElsewhere({ chat, status, events }: UseAgentResult, isEnabled: boolean): void {
  const newestId = events.at(-1)?.id;
  const isWaiting = isEnabled && status === 'idle';
  useEffect(() => {
    if (!isWaiting) return undefined;
    let isCurrent = true;
    const { appName, userId, sessionId } = chat.session.key;
    /** Returns true if the session may have an event that the page does not have. */
    const hasOthers = async (): Promise<boolean> => {
      // The session may not exist yet, and the browser would log each failed request for its events.
      if (newestId === undefined)
        return (await readOpenRuns(appName, userId)).some((run) => run.sessionId === sessionId);
      const { items } = await chat.session.listEvents({ order: 'desc', limit: 1 });
      const [newest] = items;
      return newest !== undefined && newest.id !== newestId;
    };
    const look = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      try {
        if ((await hasOthers()) && isCurrent && chat.snapshot.status === 'idle') void chat.load();
      } catch {
        // The server may be restarting. The next action of the person shows an error that lasts.
      }
    };
    const timer = setInterval(() => void look(), LOOK_AGAIN_MS);
    const onFocus = (): void => {
      if (newestId === undefined && document.visibilityState === 'visible') void chat.load();
      else void look();
    };
    addEventListener('focus', onFocus);
    document.addEventListener('visibilitychange', onFocus);
    return () => {
      isCurrent = false;
      clearInterval(timer);
      removeEventListener('focus', onFocus);
      document.removeEventListener('visibilitychange', onFocus);
    };
  }, [chat, isWaiting, newestId]);
}

/** The state of the page's own run is read at this interval until its first event comes, in milliseconds. */
const READ_STATE_MS = 500;

/** The beginning of the id of a message whose run the server has not named; the id of its request follows. */
const LOCAL = 'local-';

/** Returns true while the message that was sent last waits for another run of the session. */
export function useIsQueued({ chat, status, events }: UseAgentResult): boolean {
  const [queuedId, setQueuedId] = useState<string>();
  const last = events.at(-1);
  const sentId = status === 'running' && last?.invocationId.startsWith(LOCAL) ? last.id : undefined;
  useEffect(() => {
    if (sentId === undefined) return undefined;
    let isCurrent = true;
    const read = async (): Promise<void> => {
      // A run that has begun may work for a while before its first event.
      const run = await chat.session
        .follow(sentId.slice(LOCAL.length))
        .state({ ifExists: true })
        .catch(() => undefined);
      if (isCurrent) setQueuedId(run?.state === 'queued' ? sentId : undefined);
    };
    const timer = setInterval(() => void read(), READ_STATE_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [sentId, chat]);
  return sentId !== undefined && queuedId === sentId;
}
