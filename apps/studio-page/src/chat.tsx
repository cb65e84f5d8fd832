import { Fragment, useCallback, useEffect, useMemo, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Event, Part, SessionKey } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { type Conversation, type Message, ServerError } from '@eventloom/client';
import type { UseAgentResult } from '@eventloom/client/react';
import { Button } from 'react-aria-components';
import { MeasuredTimes, useCallTimes } from './call-times.ts';
import { Composer } from './composer.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { type FoldedCalls, foldedCalls } from './folded-calls.ts';
import { askedToolsIn, GivenAnswers, givenAnswersIn } from './given-answers.ts';
import { contentOf, isStop, MessageView, Stopped, textOf } from './message-view.tsx';
import { RequestForm } from './request-form.tsx';
import {
  artifactsByMessage,
  artifactsIn,
  type SavedArtifact,
  SavedArtifacts,
  type StoredArtifacts,
} from './saved-artifacts.tsx';
import { type AppAgent, messageOf } from './studio-client.ts';
import { type ShownRequest, useAnswers } from './use-answers.ts';
import { UnfinishedRun } from './unfinished-run.tsx';
import { useEnd } from './use-end.ts';
import type { VoiceCall } from './voice.tsx';

interface ChatProps {
  readonly place: SessionKey;
  readonly agent: UseAgentResult;
  readonly conversation: Conversation;
  /** The events of the conversation. */
  readonly events: readonly Event[];
  /** The agents that work, or the one that worked last. */
  readonly agentNames: readonly string[];
  /** True if an earlier moment is shown, at which nothing can be sent. */
  readonly isPast: boolean;
  /** True if the run waits for another run of the session. */
  readonly isQueued: boolean;
  /** The root agent; undefined until it is read. */
  readonly root: AppAgent | undefined;
  readonly call: VoiceCall;
  readonly storedArtifacts: StoredArtifacts;
  readonly onSelectEvent: (id: string) => void;
  /** Shows the trace of a run. */
  readonly onTrace: (invocationId: string) => void;
  readonly onShowArtifact: (artifact: SavedArtifact) => void;
}

/** Number of colors that distinguish agents. */
const HUES = 5;

/** Number of messages that are drawn; earlier ones are drawn on request. */
const SHOWN = 100;

/** Number of tools that the welcome names. */
const SHOWN_TOOLS = 12;

const NO_PROMPTS: readonly string[] = [];
const NONE_UNFOLDED: ReadonlySet<string> = new Set();

export function Chat({
  place,
  agent,
  conversation,
  events,
  agentNames,
  isPast,
  isQueued,
  root,
  call,
  storedArtifacts,
  onSelectEvent,
  onTrace,
  onShowArtifact,
}: ChatProps) {
  const { messages, requests } = conversation;
  const { prompts = NO_PROMPTS, canSpeak = false } = root ?? {};
  const { status, error, failed, rewind, chat } = agent;
  const answers = useAnswers(agent, isPast ? agent.requests : requests, call);
  const stop = useStop(agent);
  const calls = useMemo(() => new Calls(events), [events]);
  const times = useCallTimes(place, messages, calls);
  const given = useMemo(() => givenAnswersIn(calls), [calls]);
  const tools = useMemo(() => askedToolsIn(calls), [calls]);
  const saves = useMemo(() => events.filter((event) => artifactsIn(event).length > 0), [events]);
  const artifacts = useMemo(() => artifactsByMessage(saves, messages), [saves, messages]);
  // In the order in which the agents first spoke, so that the first agents of a session have different colors.
  const agents = useMemo(
    () => [...new Set(messages.map(({ author }) => author))].filter((author) => author !== 'user'),
    [messages],
  );
  const keys = useMemo(() => keysOf(messages), [messages]);
  const [shown, setShown] = useState(SHOWN);
  const first = Math.max(0, messages.length - shown);
  const folds = useMemo(() => foldedCalls(messages, artifacts), [messages, artifacts]);
  /** The keys of the first messages of sequences of calls that the person has unfolded. */
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(NONE_UNFOLDED);
  const foldAt = (index: number): FoldedCalls | undefined =>
    folds.find(({ start, end }) => index >= start && index < end && !unfolded.has(keys[start] ?? ''));
  const isRunning = status === 'running' || status === 'reconnecting';
  const last = messages.at(-1);
  const untried = useMemo(() => untriedPrompts(prompts, messages), [prompts, messages]);
  const { scroller, content, forms, onScroll, follow, stay } = useEnd([last, requests, error, status]);

  const { clear } = answers;
  const send = useCallback(
    async (message: string | readonly Part[]): Promise<void> => {
      follow();
      clear();
      await agent.send(message);
    },
    [agent.send, clear, follow],
  );
  const sendInstead = useCallback(
    async ({ invocationId }: Message, parts: readonly Part[]): Promise<boolean> => {
      // A second click comes before the page has drawn what the first one began.
      if (chat.snapshot.status !== 'idle') return false;
      // A message that the server refused belongs to no run.
      if (!invocationId.startsWith('local-')) {
        await rewind(invocationId);
        if (chat.snapshot.error) return false;
      }
      void send(parts);
      return true;
    },
    [chat, rewind, send],
  );
  const lastOfUser = messages.findLast(({ author }) => author === 'user');
  const isStopped = !isPast && !isRunning && (isStop(codeOf(error)) || hasStop(last));
  const isSaid = error !== undefined && (hasError(last, codeOf(error)) || answers.isRefused || isStopped);
  const hasFailed =
    failed === 'run' || last?.status === 'interrupted' || last?.parts.some(({ type }) => type === 'error') === true;
  const canAnswer = status === 'idle' && (call.status === 'idle' || call.status === 'open');
  const isIdle = status === 'idle' && call.status === 'idle' && !isPast;
  const isSilent = isIdle && last?.author === 'user' && !isStopped && !error && requests.length === 0;
  const isAskedInCall = useMemo(() => {
    const runs = new Set(requests.map(({ invocationId }) => invocationId));
    const isSpoken = ({ inputTranscription, outputTranscription }: Event): boolean =>
      (inputTranscription ?? outputTranscription) !== undefined;
    return requests.length > 0 && events.some((event) => runs.has(event.invocationId) && isSpoken(event));
  }, [events, requests]);
  const isWaiting = isIdle && requests.length > 0;
  const shownRequests: readonly ShownRequest[] = isPast ? requests.map((request) => ({ request })) : answers.shown;

  return (
    <>
      <header className="chat-head">
        <span className="agent-now" data-running={isRunning || call.status !== 'idle'} data-waiting={isWaiting}>
          {agentNames.length > 0 ? agentNames.join(', ') : root?.name}
        </span>
        <span role="status" className="status">
          {status === 'idle'
            ? isPast
              ? 'earlier moment'
              : isWaiting
                ? 'waits for your answer'
                : ''
            : stop.isAsked
              ? 'stopping'
              : isQueued
                ? 'queued'
                : status}
        </span>
      </header>
      <div className="messages" ref={scroller} role="log" aria-label="Conversation" tabIndex={0} onScroll={onScroll}>
        <div
          className="messages-content"
          ref={content}
          onClick={({ target }) => {
            // A part that the reader opens stays in view.
            if (target instanceof Element && target.closest('summary')) stay();
          }}
        >
          {messages.length === 0 && status === 'idle' && failed !== 'session' && (
            <section className="welcome">
              <h2>
                {root && <small>{[root.kind, root.model].filter(Boolean).join(', ')}</small>}
                Talk to {root?.name ?? 'the agent'}
              </h2>
              {root && root.description !== '' && <p dir="auto">{root.description}</p>}
              {root && root.tools.length > 0 && (
                <ul className="tools" aria-label={`Tools of ${root.name}`}>
                  {root.tools.slice(0, SHOWN_TOOLS).map((tool) => (
                    <li key={tool.name} title={tool.description}>
                      {tool.name}
                    </li>
                  ))}
                  {root.tools.length > SHOWN_TOOLS && <li>{root.tools.length - SHOWN_TOOLS} more</li>}
                </ul>
              )}
              <h3>Messages to try</h3>
              <ul>
                {(prompts.length > 0 ? prompts : ['What can you do?']).map((text) => (
                  <li key={text}>
                    <Button className="prompt" onPress={() => void send(text)}>
                      {text}
                    </Button>
                  </li>
                ))}
              </ul>
              <p className="hint">
                Each step of the agent is an event. The inspector shows the events, the state and a trace while it
                works, and the time slider goes back to any moment.
              </p>
            </section>
          )}
          {first > 0 && (
            <Button className="quiet earlier" onPress={() => setShown(shown + SHOWN)}>
              Show earlier messages ({first.toLocaleString()})
            </Button>
          )}
          <MeasuredTimes value={times}>
            <GivenAnswers value={given}>
              {messages.slice(first).map((message, index, all) => {
                const fold = foldAt(first + index);
                if (fold)
                  return first + index === Math.max(first, fold.start) ? (
                    <Button
                      key={keys[first + index]}
                      className="link folded-calls"
                      onPress={({ target }) => {
                        const before = target.previousElementSibling;
                        flushSync(() => setUnfolded(new Set([...unfolded, keys[fold.start] ?? ''])));
                        // The first unfolded call stands where the button was.
                        before?.nextElementSibling?.querySelector('summary')?.focus();
                      }}
                    >
                      Show {fold.calls.toLocaleString()} more calls
                      {fold.failed > 0 && `, ${fold.failed} of them failed`}
                    </Button>
                  ) : null;
                const saved = artifacts.get(message.id);
                return (
                  <Fragment key={keys[first + index]}>
                    <ErrorBoundary value={message} fallback={<PlainMessage message={message} />}>
                      <MessageView
                        message={message}
                        isNamed={all[index - 1]?.author !== message.author}
                        hue={agents.indexOf(message.author) % HUES}
                        canEdit={!isPast && !isRunning && message.author === 'user' && textOf(message) !== ''}
                        canSend={!isPast && status === 'idle'}
                        isStopped={isStopped && message === last && message.author !== 'user'}
                        onEdit={sendInstead}
                        onSelect={onSelectEvent}
                        onTrace={onTrace}
                      />
                    </ErrorBoundary>
                    {saved && (
                      <ErrorBoundary value={saved}>
                        <SavedArtifacts
                          place={place}
                          artifacts={saved}
                          stored={storedArtifacts}
                          onShow={onShowArtifact}
                        />
                      </ErrorBoundary>
                    )}
                  </Fragment>
                );
              })}
            </GivenAnswers>
          </MeasuredTimes>
          {isStopped && last?.author === 'user' && <Stopped />}
          {isSilent && <p className="stopped">The run ended without an answer.</p>}
          {isRunning && !isPast && last?.status !== 'streaming' && (
            <p className="working" aria-hidden="true">
              <i />
              <i />
              <i />
            </p>
          )}
          {isRunning && !isPast && <UnfinishedRun place={place} status={status} />}
          {shownRequests.length > 0 && (
            <div className="requests" ref={forms}>
              {canSpeak && isAskedInCall && isIdle && (
                <p className="hint">
                  The agent asked in a voice call. An answer here begins a text run, which a model that only speaks
                  cannot answer. To answer in a call, press Speak first.
                </p>
              )}
              {shownRequests.map(({ request, answer, refusal }) => (
                <ErrorBoundary key={request.id} value={request}>
                  <RequestForm
                    request={request}
                    toolName={tools.get(request.id)}
                    given={answer}
                    refusal={refusal}
                    isDisabled={isPast || !canAnswer || (answer !== undefined && refusal === undefined)}
                    onAnswer={(chosen) => {
                      follow();
                      void answers.give(request, chosen);
                    }}
                  />
                </ErrorBoundary>
              ))}
            </div>
          )}
          {error && !isSaid && (
            <p className="error" role="alert">
              {messageOf(error)}{' '}
              {failed === 'session' && (
                <Button className="link" onPress={() => void chat.load()}>
                  Read the session again
                </Button>
              )}
            </p>
          )}
          {stop.error !== undefined && (
            <p className="error" role="alert">
              {stop.error}
            </p>
          )}
          {hasFailed && lastOfUser && !isPast && status === 'idle' && shownRequests.length === 0 && (
            <Retry
              calls={callsAfter(messages, lastOfUser)}
              text={textOf(lastOfUser)}
              onTrace={isStopped ? undefined : () => onTrace(lastOfUser.invocationId)}
              onContinue={() => void send('Please continue.')}
              onRetry={() => void sendInstead(lastOfUser, contentOf(lastOfUser))}
            />
          )}
        </div>
      </div>
      {messages.length > 0 &&
        untried.length > 0 &&
        requests.length === 0 &&
        call.status === 'idle' &&
        !isPast &&
        !isRunning && (
          <ul className="suggestions" aria-label="Messages to try">
            {untried.map((text) => (
              <li key={text}>
                <Button className="suggestion" onPress={() => void send(text)}>
                  {text}
                </Button>
              </li>
            ))}
          </ul>
        )}
      <Composer
        place={place}
        isDisabled={isPast || isRunning}
        isRunning={isRunning}
        canSpeak={canSpeak}
        call={call}
        onSend={(parts) => void send(parts)}
        onStop={() => void stop.stop()}
      />
    </>
  );
}

/** Shows the text of a message that cannot be drawn. */
function PlainMessage({ message }: { readonly message: Message }) {
  return (
    <p className="plain" dir="auto">
      {textOf(message)}
    </p>
  );
}

/**
 * Returns a key for each message: its number among those of its agent in its run. A streamed message has another id
 * when the session is read after the run, and what the person opened in it stays open.
 */
function keysOf(messages: readonly Message[]): readonly string[] {
  const counts = new Map<string, number>();
  return messages.map(({ invocationId, author, branch = '' }) => {
    const place = `${invocationId} ${author} ${branch}`;
    const count = counts.get(place) ?? 0;
    counts.set(place, count + 1);
    return `${place} ${count}`;
  });
}

/** Returns the prompts that the person has not sent; an empty list once they have written a message of their own. */
function untriedPrompts(prompts: readonly string[], messages: readonly Message[]): readonly string[] {
  const sent = new Set(messages.flatMap((message) => (message.author === 'user' ? textOf(message) : [])));
  sent.delete('');
  const untried = prompts.filter((text) => !sent.delete(text));
  return sent.size === 0 ? untried : [];
}

export function codeOf(error: Error | undefined): string | undefined {
  return ServerError.isInstance(error) ? error.serverCode : undefined;
}

function hasError(message: Message | undefined, code: string | undefined): boolean {
  return code !== undefined && message?.parts.some((part) => part.type === 'error' && part.code === code) === true;
}

function hasStop(message: Message | undefined): boolean {
  return message?.parts.some((part) => part.type === 'error' && isStop(part.code)) === true;
}

/** Returns the names of the tools that were called since a message. */
function callsAfter(messages: readonly Message[], message: Message): readonly string[] {
  return messages
    .slice(messages.indexOf(message))
    .flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'call' && part.status === 'completed' ? [part.name] : [])),
    );
}

/** A run that could not be stopped is stopped again after this time, in milliseconds. */
const STOP_AGAIN_MS = 1000;

/** Stops the run. Asks again until the run has ended, if the server does not answer or cannot stop the run yet. */
function useStop({ stop, status }: UseAgentResult) {
  const [error, setError] = useState<string>();
  /** Number of failed attempts; undefined if the person has not stopped the run. */
  const [failures, setFailures] = useState<number>();
  const [isAsked, setAsked] = useState(false);
  const tryToStop = useCallback(async () => {
    setAsked(true);
    try {
      await stop();
      setFailures(undefined);
      setError(undefined);
    } catch (thrown) {
      setError(`The run is not stopped yet: ${messageOf(thrown)}`);
      setFailures((before = 0) => before + 1);
    }
  }, [stop]);
  const isIdle = status === 'idle';
  useEffect(() => {
    if (isIdle) {
      setAsked(false);
      setFailures(undefined);
      setError(undefined);
    }
    if (isIdle || !failures) return undefined;
    const timer = setTimeout(() => void tryToStop(), STOP_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isIdle, failures, tryToStop]);
  return { stop: tryToStop, isAsked, error };
}

interface RetryProps {
  /** The names of the tools that the failed run called. */
  readonly calls: readonly string[];
  /** The message that began the run. */
  readonly text: string;
  /** Shows the trace, which has the reason of a failure. Undefined for a run that was stopped. */
  readonly onTrace: (() => void) | undefined;
  readonly onContinue: () => void;
  readonly onRetry: () => void;
}

/** Maximum length of a message's text in a button, in characters. */
const MAX_QUOTED = 40;

/** Offers to repeat a failed run, and names the calls that are then made again. */
function Retry({ calls, text, onTrace, onContinue, onRetry }: RetryProps) {
  const trace = onTrace && (
    <Button className="quiet" onPress={onTrace}>
      Show the trace
    </Button>
  );
  if (calls.length === 0)
    return (
      <div className="row retry">
        <Button className="quiet" onPress={onRetry}>
          Try again
        </Button>
        {trace}
      </div>
    );
  const quoted = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return (
    <section className="retry" aria-label="After the failure">
      <p>
        {calls.length === 1 ? 'A call has' : `${calls.length} calls have`} already been made: {calls.join(', ')}.
        Starting over makes {calls.length === 1 ? 'it' : 'them'} again.
      </p>
      <div className="row">
        <Button className="primary" onPress={onContinue}>
          Continue
        </Button>
        <Button className="quiet" onPress={onRetry}>
          Start over from “{quoted}”
        </Button>
        {trace}
      </div>
    </section>
  );
}
