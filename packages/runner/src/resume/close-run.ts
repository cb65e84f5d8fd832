import {
  beginsResumableRun,
  checkKnown,
  checkName,
  createErrorEvent,
  createEvent,
  type Event,
  type EventParams,
  ObjectType,
  type OnBusy,
  RUN_ABANDONED,
  sessionKeyOf,
  type SessionLease,
} from '@eventloom/core';
import { afterCovered } from '@eventloom/core/internal';
import { coveredUntil } from '../covered-until.ts';
import type { Runner } from '../runner.ts';
import type { LoadedSession } from '../session-loader.ts';
import { eventsOfRun, isRunOver } from './events-of-run.ts';
import { answerOpenCalls } from './open-calls.ts';

/** Which run is given up, and why. */
export interface CloseRunParams {
  readonly userId: string;
  readonly sessionId: string;
  readonly invocationId: string;
  /** Told in the event's `errorMessage`. */
  readonly reason: string;
  /** What to do while a run holds the session; default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** Gives up waiting for the session. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: ReadonlySet<string> = new Set<keyof CloseRunParams>([
  'userId',
  'sessionId',
  'invocationId',
  'reason',
  'onBusy',
  'abortSignal',
]);

/** Gives up a run that did not come to its end; see `Runner.closeRun`. */
export async function closeRun(runner: Runner, params: CloseRunParams): Promise<Event | undefined> {
  checkParams(params);
  const { userId, sessionId, invocationId, reason, onBusy, abortSignal } = params;
  const session = await runner.sessions.lock({
    key: { appName: runner.appName, userId, sessionId },
    purpose: 'the closing of a run',
    onBusy,
    abortSignal,
    // The run stays open until it is closed: if this process ends meanwhile, another one resumes it.
    run: { invocationId, resumable: true },
    // The next append notices it.
    onLost: () => undefined,
  });
  let isClosed = false;
  try {
    const loaded = await session.read({ invocationId });
    const told = await storeClosing(runner, session.lease, loaded, invocationId, reason);
    isClosed = true;
    return told;
  } finally {
    await session.unlock(!isClosed);
  }
}

/** The event that tells of it, or undefined for a run that is over already, or is none. */
async function storeClosing(
  { appName, platform, sessionService }: Runner,
  lease: SessionLease,
  { session, derived }: LoadedSession,
  invocationId: string,
  reason: string,
): Promise<Event | undefined> {
  const events = eventsOfRun(session.events, invocationId);
  const [first] = events;
  if (!first || !beginsResumableRun(first) || isRunOver(events)) return undefined;
  const { requestId, customMetadata } = first;
  const covered = coveredUntil(session.events, derived);
  const params = (author: string): EventParams => ({
    id: platform.newEventId(),
    invocationId,
    executionId: invocationId,
    author,
    timestamp: afterCovered(platform.now() / 1000, covered),
    ...(requestId === undefined ? {} : { requestId }),
    ...(customMetadata === undefined ? {} : { customMetadata }),
  });
  const append = async (event: Event): Promise<Event> => sessionService.appendEvent({ session, event, lease });
  const ledger = await sessionService.listToolCalls({ ...sessionKeyOf(session), invocationId });
  for (const { asking, content, actions } of answerOpenCalls(events, ledger)) {
    const { author, branch, executionId, parentExecutionId } = asking;
    await append(
      createEvent({
        ...params(author),
        content,
        actions,
        ...(branch === undefined ? {} : { branch }),
        ...(executionId === undefined ? {} : { executionId }),
        ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
      }),
    );
  }
  // A process that ended in the midst of this may have told of it already.
  const told =
    events.find(({ errorCode }) => errorCode === RUN_ABANDONED) ??
    (await append(createErrorEvent(params(appName), RUN_ABANDONED, reason)));
  await append(createEvent({ ...params(appName), object: ObjectType.runnerEnd, actions: { endOfAgent: true } }));
  return told;
}

function checkParams(params: CloseRunParams): void {
  checkKnown('closeRun', PARAMS, params);
  checkName('invocationId', params.invocationId);
}
