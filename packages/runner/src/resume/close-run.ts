import {
  afterCovered,
  beginsResumableRun,
  checkKnown,
  checkName,
  coveredUntil,
  createErrorEvent,
  createEvent,
  type Event,
  type EventParams,
  ObjectType,
  type OnBusy,
  RUN_ABANDONED,
  RUN_CONFIG_DEFAULTS,
  type SessionKey,
  sessionKeyOf,
  type SessionLease,
} from '@eventloom/core';
import type { RunSupport } from '../run.ts';
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
export async function closeRun(
  runner: Runner,
  { sessions, keeper, active }: RunSupport,
  params: CloseRunParams,
): Promise<Event | undefined> {
  checkParams(params);
  const { userId, sessionId, invocationId, reason, onBusy = RUN_CONFIG_DEFAULTS.onBusy, abortSignal } = params;
  const { appName, platform, sessionService } = runner;
  const key: SessionKey = { appName, userId, sessionId };
  const name = `${userId}\0${sessionId}`;
  await active.makeWay(name, onBusy, 'the closing of a run');
  // Open until it is closed: should this process end meanwhile, somebody else goes on.
  const lease = await sessions.acquire(key, { onBusy }, false, abortSignal, { invocationId, resumable: true });
  // A lease that is lost is noticed by the next append.
  const held = { lease, renewedMs: platform.now(), onLost: () => undefined };
  keeper.hold(held);
  let isClosed = false;
  try {
    const loaded = await sessions.load(key, name, undefined, [], invocationId);
    const told = await storeClosing(runner, lease, loaded, invocationId, reason);
    sessions.keep(name, loaded);
    isClosed = true;
    return told;
  } finally {
    keeper.letGo(held);
    await sessionService.releaseLease(lease, { leaveOpen: !isClosed });
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
  const append = (event: Event): Promise<Event> => sessionService.appendEvent({ session, event, lease });
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
