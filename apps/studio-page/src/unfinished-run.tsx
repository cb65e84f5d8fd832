import { useEffect, useRef, useState } from 'react';
import type { SessionKey } from '@eventloom/core';
import { Button } from 'react-aria-components';
import { client, messageOf, type OpenRunInfo, readOpenRuns } from './studio-client.ts';

interface UnfinishedRunProps {
  readonly place: SessionKey;
  /** The status of the page's run. */
  readonly status: string;
}

/** The run of the session is looked up at this interval while the page cannot read it, in milliseconds. */
const LOOK_EVERY_MS = 2000;

/**
 * Says that the process of the page's run was lost, and offers to resume the run or to close it. Shows nothing while a process works on the
 * run, or soon takes it up.
 */
export function UnfinishedRun({ place: { appName, userId, sessionId }, status }: UnfinishedRunProps) {
  const [run, setRun] = useState<OpenRunInfo>();
  const [error, setError] = useState<string>();
  const newest = useRef(status);
  newest.current = status;
  useEffect(() => {
    let isCurrent = true;
    const look = async (): Promise<void> => {
      if (newest.current !== 'reconnecting') return;
      try {
        const runs = await readOpenRuns(appName, userId);
        if (isCurrent) setRun(runs.find((each) => each.sessionId === sessionId && !each.isHeld));
      } catch {
        // The server does not answer: the page says already that it reconnects.
      }
    };
    const timer = setInterval(() => void look(), LOOK_EVERY_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [appName, userId, sessionId]);
  if (!run || status !== 'reconnecting') return null;
  const act = async (action: (invocationId: string) => Promise<void>): Promise<void> => {
    try {
      setError(undefined);
      await action(run.invocationId);
      setRun(undefined);
    } catch (thrown) {
      setError(messageOf(thrown));
    }
  };
  const session = client.session({ appName, userId, sessionId });
  const takeUp = async (invocationId: string): Promise<void> => {
    // The page follows the run, and reads the rest.
    for await (const _event of session.resume(invocationId)) break;
  };
  return (
    <section className="retry" aria-label="Unfinished run">
      <p>The server process of this run was lost, and no other one has taken the run up.</p>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <div className="row">
        {run.resumable && (
          <Button className="primary" onPress={() => void act(takeUp)}>
            Take up
          </Button>
        )}
        <Button className="quiet" onPress={() => void act((invocationId) => session.follow(invocationId).cancel())}>
          Close the run
        </Button>
      </div>
    </section>
  );
}
