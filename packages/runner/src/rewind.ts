import {
  checkName,
  ConfigurationError,
  createEvent,
  type Event,
  type OnBusy,
  RunAbortedError,
  RUN_CONFIG_DEFAULTS,
  SessionNotFoundError,
  type StaleWriterError,
} from '@eventloom/core';
import { afterCovered } from './covered-until.ts';
import { RewindArtifacts } from './rewind-artifacts.ts';
import { planRewind } from './rewind-plan.ts';
import type { RunSupport } from './run.ts';
import type { Runner } from './runner.ts';

/** What a rewind is given. */
export interface RewindParams {
  readonly userId: string;
  readonly sessionId: string;
  /** The invocation that is undone, with all that came after its first event. */
  readonly rewindBeforeInvocationId: string;
  /** What to do while a run holds the session; default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** Gives up, as long as nothing is written. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: ReadonlySet<string> = new Set<keyof RewindParams>([
  'userId',
  'sessionId',
  'rewindBeforeInvocationId',
  'onBusy',
  'abortSignal',
]);

/** Takes a session back to before an invocation; see `Runner.rewindAsync`. */
export async function rewind(runner: Runner, { sessions, keeper }: RunSupport, params: RewindParams): Promise<Event> {
  checkParams(params);
  const { userId, sessionId, rewindBeforeInvocationId, onBusy = RUN_CONFIG_DEFAULTS.onBusy, abortSignal } = params;
  const { appName, platform, sessionService, artifactService } = runner;
  const key = { appName, userId, sessionId };
  const lease = await sessions.acquire(key, { onBusy }, false, abortSignal);
  let lost: StaleWriterError | undefined;
  const held = { lease, renewedMs: platform.now(), onLost: (error: StaleWriterError) => void (lost = error) };
  keeper.hold(held);
  try {
    const plan = await planRewind(sessionService, key, rewindBeforeInvocationId);
    const artifacts = await RewindArtifacts.load(artifactService, key, plan.artifacts);
    const session = await sessionService.getSession({ ...key, config: { numRecentEvents: 0 } });
    if (!session) throw new SessionNotFoundError(`session ${JSON.stringify(sessionId)} was deleted meanwhile`);
    if (abortSignal?.aborted) throw new RunAbortedError('the rewind was aborted', { cause: abortSignal.reason });
    if (lost) throw lost;
    const artifactDelta = (await artifacts?.save()) ?? {};
    const invocationId = `e-${platform.newUuid()}`;
    const event = createEvent({
      id: platform.newEventId(),
      invocationId,
      author: 'user',
      timestamp: afterCovered(platform.now() / 1000, plan.coveredUntil),
      executionId: invocationId,
      actions: { rewindBeforeInvocationId, ...plan.stateChange, artifactDelta },
    });
    const stored = await sessionService.appendEvent({ session, event, lease });
    await artifacts?.deleteAbsent();
    return stored;
  } finally {
    keeper.letGo(held);
    await sessionService.releaseLease(lease);
  }
}

function checkParams(params: RewindParams): void {
  for (const name in params) {
    if (PARAMS.has(name)) continue;
    throw new ConfigurationError(
      `rewindAsync: ${name} is not supported by this version; it has ${[...PARAMS].join(', ')}`,
    );
  }
  checkName('rewindBeforeInvocationId', params.rewindBeforeInvocationId);
}
