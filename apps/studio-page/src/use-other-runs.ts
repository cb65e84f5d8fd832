import { useEffect, useState } from 'react';
import type { UseAgentResult } from '@eventloom/client/react';
import { readNewestEventId } from './studio-client.ts';

/** The beginning of the id of a message that the page has not read from the server; the id of its request follows. */
const LOCAL = 'local-';

/** The newest event of the session is looked up at this interval, in milliseconds. */
const LOOK_AGAIN_MS = 3000;

/**
 * Reads the session again if another page has written to it or deleted it: when the page gets the focus, and at
 * intervals while it is visible. The page then follows a run that another page has started. An error of the page is
 * shown until then.
 *
 * @param isEnabled false while the page itself writes
 */
export function useChangesElsewhere({ chat, status, events }: UseAgentResult, isEnabled: boolean): void {
  // A message that the server refused is not stored, and is shown with its error.
  const newestId = events.findLast(({ id }) => !id.startsWith(LOCAL))?.id;
  const isWaiting = isEnabled && status === 'idle';
  useEffect(() => {
    if (!isWaiting) return undefined;
    let isCurrent = true;
    const look = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      try {
        // The session may not exist yet, or may have been deleted.
        const isChanged = (await readNewestEventId(chat.session.key)) !== newestId;
        if (isChanged && isCurrent && chat.snapshot.status === 'idle') void chat.load();
      } catch {
        // The server may be restarting. The next action of the person shows an error that lasts.
      }
    };
    const timer = setInterval(() => void look(), LOOK_AGAIN_MS);
    const onFocus = (): void => void look();
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
