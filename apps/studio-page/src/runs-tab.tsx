import type { SessionKey } from '@eventloom/core';
import { useCallback, useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import { client, type OpenRunInfo, readOpenRuns } from './studio-client.ts';

interface RunsTabProps {
  readonly place: SessionKey;
  readonly goTo: (place: SessionKey) => void;
  /** The status of the page's run: the list is read again when it changes. */
  readonly status: string;
}

/** Lists the unfinished runs of all sessions of the user: active ones, and those whose process was lost. */
export function RunsTab({ place, goTo, status }: RunsTabProps) {
  const { appName, userId } = place;
  const [runs, setRuns] = useState<readonly OpenRunInfo[]>();
  const [error, setError] = useState<string>();

  const act = useCallback(
    async (action: () => Promise<unknown> = () => Promise.resolve()) => {
      try {
        setError(undefined);
        await action();
        setRuns(await readOpenRuns(appName, userId));
      } catch (thrown) {
        setError(thrown instanceof Error ? thrown.message : String(thrown));
      }
    },
    [appName, userId],
  );
  useEffect(() => void act(), [act, status]);

  /** Resumes a run. The page that shows the session follows it. */
  const takeUp = async ({ sessionId, invocationId }: OpenRunInfo): Promise<void> => {
    for await (const _event of client.session({ appName, userId, sessionId }).resume(invocationId)) break;
    goTo({ ...place, sessionId });
  };

  return (
    <div className="runs">
      <div className="row">
        <h2 className="grow">Runs that have not ended</h2>
        <Button className="quiet" onPress={() => void act()}>
          Read again
        </Button>
      </div>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      {runs?.length === 0 && <p className="empty">None, in no session of this user.</p>}
      <ul>
        {runs?.map((run) => {
          const { sessionId, invocationId, isHeld, resumable, attempts } = run;
          const session = client.session({ appName, userId, sessionId });
          return (
            <li key={`${sessionId} ${invocationId}`} className="open-run" data-held={isHeld}>
              <b>{sessionId}</b>
              <small>
                {isHeld ? 'in flight' : resumable ? 'unfinished, can be resumed' : 'unfinished'}
                {attempts > 1 ? `, attempt ${attempts}` : ''}
              </small>
              <code>{invocationId}</code>
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
    </div>
  );
}
