import {
  type Content,
  enclosureOf,
  type Event,
  type GetSessionConfig,
  InvalidMessageError,
  type InvocationContext,
  type MaybePromise,
  type RunConfig,
} from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { matchAnswers, type MatchedMessage, type RequestAnswers } from './answers.ts';
import { answeredRun, findAnsweredRun } from './answered-run.ts';
import { checkNewMessage } from './new-message.ts';
import { agentOfCalls, findLastAgent, lastSpeaker, type PickedAgent } from './pick-agent.ts';
import { type ResumedInvocation, resumeInvocation } from './resume/resume-invocation.ts';
import type { RunControl } from './run-control.ts';
import { answeredCallIds, callIdsOf, messageOf, type RunRequest, windowOf } from './run-start.ts';
import { messageToBeginWith } from './store-message.ts';
import type { Runner } from './runner.ts';
import type { LoadedSession } from './session-loader.ts';
import type { LockedSession } from './session-locks.ts';

/** A run whose session is locked and read. */
export interface LockedRun {
  readonly invocationId: string;
  /** The config that is in force: that of a resumed run, with the caller's options over it. */
  readonly config: RunConfig;
  readonly session: LockedSession;
  readonly loaded: LoadedSession;
  /** The events that were read; undefined for everything that counts. */
  readonly window: GetSessionConfig | undefined;
  /** The run that goes on; undefined for a new one. */
  readonly resumed: ResumedInvocation | undefined;
}

/** Locks the session of a run, reads it, and decides which run goes on, if one does. A client that leaves meanwhile need not wait. */
export function lockForRun(runner: Runner, request: RunRequest, control: RunControl): Promise<LockedRun> {
  const { live, signal } = control;
  return (
    live?.whileWaiting((abortSignal) => lock(runner, request, control, abortSignal), signal) ??
    lock(runner, request, control, signal)
  );
}

/**
 * A session is locked for a run, so the run that the answers continue is looked up before, and again once nobody else can change the
 * session.
 */
async function lock(
  runner: Runner,
  request: RunRequest,
  control: RunControl,
  abortSignal: AbortSignal | undefined,
): Promise<LockedRun> {
  const { start, key, config } = request;
  const callIds = callIdsOf(start);
  for (let tries = 1; ; tries++) {
    const resumedId =
      start.kind === 'resume'
        ? start.invocationId
        : start.kind === 'answers'
          ? await findAnsweredRun(runner.sessionService, key, callIds, tries)
          : undefined;
    const isResume = resumedId !== undefined;
    const invocationId = resumedId ?? control.invocationId;
    const window = isResume ? undefined : windowOf(request);
    const message = start.kind === 'message' ? messageToBeginWith(runner, request, invocationId) : undefined;
    const resumable = isResume || config.resumable === true;
    const { locked: session, loaded } = await runner.sessions.begin({
      key,
      purpose: 'another run',
      onBusy: config.onBusy,
      busyWaitMs: config.busyWaitMs,
      mayCreate: start.kind === 'message' || start.kind === 'live',
      run: { invocationId, resumable },
      window,
      callIds,
      message,
      invocationId: resumedId,
      leaveOpen: isResume || (resumable && message !== undefined),
      abortSignal,
      onLost: (error) => control.abort(error),
      holder: control,
    });
    try {
      if (start.kind !== 'answers' || answeredRun(callsOf(loaded), callIds) === resumedId) {
        if (message) control.start(invocationId);
        const run = { invocationId, session, loaded, window };
        if (!isResume) return { ...run, config, resumed: undefined };
        const resumed = resumeInvocation(runner.agent, loaded, resumedId);
        return { ...run, config: resumedConfig(resumed, config), resumed };
      }
    } catch (error) {
      await session.unlock();
      throw error;
    }
    await session.unlock();
  }
}

function callsOf({ session, derived }: LoadedSession): Calls {
  return Calls.of(session, derived);
}

function resumedConfig(resumed: ResumedInvocation, given: RunConfig): RunConfig {
  const options = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...resumed.config, ...Object.fromEntries(options), resumable: true };
}

/**
 * Matches the message that the run starts with to the calls that it answers. Undefined when there is no message: in a live run, and in
 * one that goes on without answers.
 *
 * @throws InvalidMessageError
 */
export function matchMessage(
  runner: Runner,
  { start }: RunRequest,
  run: LockedRun,
): Promise<MatchedMessage> | MatchedMessage | undefined {
  const message = messageOf(start);
  return message && matchContent(runner, run, message);
}

/**
 * Matches a message to the calls that it answers.
 *
 * @param before the answers of the message that this one replaces
 * @throws InvalidMessageError
 */
export function matchContent(
  { platform, requestTtlMs, credentialService }: Runner,
  { loaded, resumed, invocationId }: LockedRun,
  message: Content,
  before?: RequestAnswers,
): Promise<MatchedMessage> | MatchedMessage {
  if (answeredCallIds(message).length === 0) return { message, calls: [], answers: undefined };
  const { events } = loaded.session;
  const calls = callsOf(loaded);
  const onlyRun = resumed && invocationId;
  const params = { events, calls, invocationId: onlyRun, platform, requestTtlMs, credentialService };
  return matchAnswers(message, params, before);
}

/**
 * Lets the plugins replace the message that the run starts with.
 *
 * @throws InvalidMessageError, also for a message that answers another run than the one it replaces
 */
export async function replaceMessage(
  runner: Runner,
  run: LockedRun,
  matched: MatchedMessage,
  invocationContext: InvocationContext,
): Promise<MatchedMessage> {
  const userMessage = matched.message;
  const given = await invocationContext.plugins.first('onUserMessageCallback', { invocationContext, userMessage });
  if (!given) return matched;
  const message = checkNewMessage(given);
  checkReplacement(run, message);
  return matchContent(runner, run, message, matched.answers);
}

function checkReplacement({ resumed, loaded }: LockedRun, message: Content): void {
  const callIds = answeredCallIds(message);
  const isSameRun = resumed
    ? callIds.length > 0
    : callIds.length === 0 || answeredRun(callsOf(loaded), callIds) === undefined;
  if (isSameRun) return;
  throw new InvalidMessageError('newMessage: what onUserMessageCallback returns must answer the same run, or none');
}

/** Picks the agent that the run starts with. */
export function pickAgent(
  { agent, sessionService }: Runner,
  { resumed, loaded, window }: LockedRun,
  matched: MatchedMessage | undefined,
): MaybePromise<PickedAgent> {
  if (resumed) return resumed.picked;
  if (matched && matched.calls.length > 0) return agentOfCalls(agent, matched.calls);
  const { session, derived } = loaded;
  const isCut = window === undefined && session.events.length < session.lastSeq;
  const last = (): PickedAgent => ({ agent: lastSpeaker(agent, session.events, derived) });
  return isCut ? findLastAgent(agent, loaded, sessionService).then(last) : last();
}

/** The stored events that the stream of a resumed run begins with: not those of agents that were called as tools. */
export function replayedEvents({ resumed }: LockedRun): Event[] {
  const isYielded = ({ author, branch, actions }: Event): boolean =>
    author !== 'user' && enclosureOf(branch) === '' && !actions.compaction;
  return resumed?.resumedFrom.events.filter(isYielded) ?? [];
}
