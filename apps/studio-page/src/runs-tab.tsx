import type { SessionKey } from '@eventloom/core';
import { useCallback, useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import { client, messageOf, type OpenRunInfo, readOpenRuns, serverNow } from './studio-client.ts';
import { formatDuration } from './trace.ts';

interface RunsTabProps {
  readonly place: SessionKey;
  readonly goTo: (place: SessionKey) => void;
  /** The status of the page's run. The list is read again when it changes. */
  readonly status: string;
}

/** The list is read at this interval, in milliseconds. */
const READ_AGAIN_MS = 2000;

/** Lists the unfinished runs of all sessions of the user: active runs, and runs whose process was lost. */
export function RunsTab({ place, goTo, status }: RunsTabProps) {
  const { appName, userId } = place;
  const [runs, setRuns] = useState<readonly OpenRunInfo[]>();
  const [error, setError] = useState<string>();

  const read = useCallback(async () => {
    try {
      setRuns(await readOpenRuns(appName, userId));
    } catch (thrown) {
      setError(messageOf(thrown));
    }
  }, [appName, userId]);
  const act = async (action: () => Promise<unknown>): Promise<void> => {
    try {
      setError(undefined);
      await action();
    } catch (thrown) {
      setError(messageOf(thrown));
    }
    await read();
  };
  useEffect(() => {
    void read();
    // Runs begin and end in other pages too. The tab is drawn only while it is chosen.
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void read();
    }, READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, [read, status]);

  /** Resumes a run. The page that shows the session follows it. */
  const takeUp = async ({ sessionId, invocationId }: OpenRunInfo): Promise<void> => {
    for await (const _event of client.session({ appName, userId, sessionId }).resume(invocationId)) break;
    goTo({ ...place, sessionId });
  };

  return (
    <div className="runs">
      <h2>Runs that have not ended</h2>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      {runs?.length === 0 && <p className="empty">No run is open in any session of this user.</p>}
      {runs && runs.length > 0 && (
        <ul>
          {runs.map((run) => {
            const { sessionId, invocationId, isHeld, resumable, attempts, title, startedAt } = run;
            const session = client.session({ appName, userId, sessionId });
            return (
              <li key={`${sessionId} ${invocationId}`} className="open-run" data-held={isHeld}>
                <b>{title ?? sessionId}</b>
                <small>
                  {isHeld ? 'in flight' : resumable ? 'unfinished, can be resumed' : 'unfinished'}
                  {startedAt !== undefined &&
                    `, began ${formatDuration(Math.max(0, serverNow() / 1000 - startedAt))} ago`}
                  {attempts > 1 ? `, attempt ${attempts}` : ''}
                </small>
                <code>
                  {sessionId} · {invocationId}
                </code>
                <div className="row">
                  {sessionId !== place.sessionId && (
                    <Button className="quiet" onPress={() => goTo({ ...place, sessionId })}>
                      Open
                    </Button>
                  )}
                  {!isHeld && resumable && (
                    <Button className="primary" onPress={() => void act(() => takeUp(run))}>
                      Take up
                    </Button>
                  )}
                  <Button className="danger" onPress={() => void act(() => session.follow(invocationId).cancel())}>
                    {isHeld ? 'Cancel' : 'Close'}
                  </Button>
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
