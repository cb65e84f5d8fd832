import type { PersonRequest } from '@eventloom/client';
import type { SessionKey } from '@eventloom/core';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button } from 'react-aria-components';
import {
  client,
  messageOf,
  type OpenRunInfo,
  readOpenRuns,
  readWaitingRuns,
  serverNow,
  type WaitingRunInfo,
} from './studio-client.ts';
import { formatDuration } from './trace.ts';

interface RunsTabProps {
  readonly place: SessionKey;
  readonly goTo: (place: SessionKey) => void;
  /** The status of the page's run. The lists are read again when it changes. */
  readonly status: string;
  /** Shows the request of the open session that has no answer yet. */
  readonly onAnswer: () => void;
}

/** The open runs are read at this interval, in milliseconds. */
const READ_AGAIN_MS = 2000;

/** The waiting runs are read at this interval, in milliseconds, and when a run begins or ends. The server reads the sessions for them. */
const READ_WAITING_MS = 10_000;

/** Lists the unfinished runs of all sessions of the user: active runs, runs whose process was lost, and runs that wait for an answer. */
export function RunsTab({ place, goTo, status, onAnswer }: RunsTabProps) {
  const { appName, userId } = place;
  const [actionError, setActionError] = useState<string>();
  const readOpen = useCallback(() => readOpenRuns(appName, userId), [appName, userId]);
  const { value: open, error: openError, readAgain: readOpenAgain } = useRead(readOpen, READ_AGAIN_MS, status);
  const openIds = open?.map(({ invocationId }) => invocationId).join(' ');
  const [pages, setPages] = useState(1);
  const readWaiting = useCallback(() => readWaitingRuns(appName, userId, pages), [appName, userId, pages]);
  const waitingRead = useRead(readWaiting, READ_WAITING_MS, `${status} ${openIds}`);
  const { value: waiting, error: waitingError } = waitingRead;

  const act = async (action: () => Promise<unknown>): Promise<void> => {
    try {
      setActionError(undefined);
      await action();
    } catch (thrown) {
      setActionError(messageOf(thrown));
    }
    await Promise.all([readOpenAgain(), waitingRead.readAgain()]);
  };
  /** Resumes a run. The page that shows the session follows it. */
  const takeUp = async ({ sessionId, invocationId }: OpenRunInfo): Promise<void> => {
    for await (const _event of client.session({ appName, userId, sessionId }).resume(invocationId)) break;
    goTo({ ...place, sessionId });
  };
  const cancel = ({ sessionId, invocationId }: OpenRunInfo | WaitingRunInfo): Promise<void> =>
    act(() => client.session({ appName, userId, sessionId }).follow(invocationId).cancel());

  const error = actionError ?? openError ?? waitingError;
  return (
    <div className="runs">
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <h2>Runs that have not ended</h2>
      {open?.length === 0 && <p className="empty">No run is open in any session of this user.</p>}
      {open && open.length > 0 && (
        <ul>
          {open.map((run) => (
            <RunItem key={`${run.sessionId} ${run.invocationId}`} run={run} status={describeOpen(run)} messages={[]}>
              {run.sessionId !== place.sessionId && (
                <Button className="quiet" onPress={() => goTo({ ...place, sessionId: run.sessionId })}>
                  Open
                </Button>
              )}
              {!run.isHeld && run.resumable && (
                <Button className="primary" onPress={() => void act(() => takeUp(run))}>
                  Take up
                </Button>
              )}
              <Button className="danger" onPress={() => void cancel(run)}>
                {run.isHeld ? 'Cancel' : 'Close'}
              </Button>
            </RunItem>
          ))}
        </ul>
      )}
      <h2>Runs that wait for an answer</h2>
      {waiting?.runs.length === 0 && (
        <p className="empty">
          No run waits for an answer{waiting.hasMore ? ' in the latest sessions' : ' in any session of this user'}.
        </p>
      )}
      {waiting && waiting.runs.length > 0 && (
        <ul>
          {waiting.runs.map((run) => (
            <RunItem
              key={`${run.sessionId} ${run.invocationId}`}
              run={run}
              status={describeWaiting(run)}
              messages={run.waitingFor.flatMap(({ message }) => message ?? [])}
            >
              <Button
                className="primary"
                onPress={() =>
                  run.sessionId === place.sessionId ? onAnswer() : goTo({ ...place, sessionId: run.sessionId })
                }
              >
                Answer
              </Button>
              <CloseButton onClose={() => void cancel(run)} />
            </RunItem>
          ))}
        </ul>
      )}
      {waiting?.hasMore && (
        <Button className="quiet" onPress={() => setPages(pages + 1)}>
          Look in older sessions
        </Button>
      )}
    </div>
  );
}

/** Closes a run after a second press, because its questions cannot be answered afterwards. */
function CloseButton({ onClose }: { readonly onClose: () => void }) {
  const [isAsked, setAsked] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const ask = (asked: boolean): void => {
    flushSync(() => setAsked(asked));
    box.current?.querySelector<HTMLElement>('button:last-child')?.focus();
  };
  return (
    <div
      className="row close-run"
      ref={box}
      onKeyDown={({ key }) => {
        if (isAsked && key === 'Escape') ask(false);
      }}
    >
      {isAsked && (
        <>
          <span>Close it without an answer?</span>
          <Button className="danger" onPress={onClose}>
            Close it
          </Button>
        </>
      )}
      <Button className={isAsked ? 'quiet' : 'danger'} onPress={() => ask(!isAsked)}>
        {isAsked ? 'Keep it' : 'Close'}
      </Button>
    </div>
  );
}

interface RunItemProps {
  readonly run: OpenRunInfo | WaitingRunInfo;
  readonly status: string;
  /** The texts for the person. */
  readonly messages: readonly string[];
  readonly children: ReactNode;
}

/** Shows a run with its buttons. */
function RunItem({ run, status, messages, children }: RunItemProps) {
  const { title, sessionId, invocationId } = run;
  return (
    <li className="open-run" data-held={'isHeld' in run && run.isHeld}>
      <b>{title ?? sessionId}</b>
      <small>{status}</small>
      {messages.map((message, index) => (
        <span key={index}>{message}</span>
      ))}
      <code>
        {sessionId} · {invocationId}
      </code>
      <div className="row">{children}</div>
    </li>
  );
}

function describeOpen({ isHeld, resumable, attempts, startedAt }: OpenRunInfo): string {
  return [
    isHeld ? 'in flight' : resumable ? 'unfinished, can be resumed' : 'unfinished',
    ...(startedAt === undefined ? [] : [`began ${ageOf(startedAt)} ago`]),
    ...(attempts > 1 ? [`attempt ${attempts}`] : []),
  ].join(', ');
}

/** Returns a line such as `has waited 5 min 2 s for an approval of pay and an input for ask`. */
function describeWaiting({ waitingFor, waitsSince }: WaitingRunInfo): string {
  const answers = waitingFor.map(({ kind, toolName }) => {
    const { name, word } = ANSWERS[kind];
    return toolName === undefined ? name : `${name} ${word} ${toolName}`;
  });
  return `has waited ${ageOf(waitsSince)} for ${answers.join(' and ')}`;
}

/** The name of the answer to each kind of request, and the word before the name of the tool. */
const ANSWERS: Readonly<Record<PersonRequest['kind'], { readonly name: string; readonly word: string }>> = {
  confirmation: { name: 'an approval', word: 'of' },
  credential: { name: 'a credential', word: 'for' },
  input: { name: 'an input', word: 'for' },
  call: { name: 'the result', word: 'of' },
};

/** Returns how long ago a time was. @param time seconds since the epoch */
function ageOf(time: number): string {
  const seconds = Math.round(serverNow() / 1000 - time);
  return seconds < 60 ? `${Math.max(1, seconds)} s` : formatDuration(seconds);
}

/** A value that is read at intervals. */
interface ReadValue<T> {
  /** Undefined until it was read for the first time. */
  readonly value: T | undefined;
  /** The error of the last reading, which left the value as it was; undefined if that succeeded. */
  readonly error: string | undefined;
  readonly readAgain: () => Promise<void>;
}

/** Reads a value now, at intervals while the page is visible, and when `changes` changes. The tab is drawn only while it is chosen. */
function useRead<T>(read: () => Promise<T>, intervalMs: number, changes: string): ReadValue<T> {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<string>();
  const newest = useRef(0);
  const readAgain = useCallback(async () => {
    const reading = ++newest.current;
    // An older answer may come after a newer one.
    const isNewest = (): boolean => reading === newest.current;
    try {
      const found = await read();
      if (!isNewest()) return;
      setValue(found);
      setError(undefined);
    } catch (thrown) {
      if (isNewest()) setError(messageOf(thrown));
    }
  }, [read]);
  useEffect(() => {
    void readAgain();
    // Runs begin and end in other pages too.
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void readAgain();
    }, intervalMs);
    return () => clearInterval(timer);
  }, [readAgain, intervalMs, changes]);
  return { value, error, readAgain };
}
