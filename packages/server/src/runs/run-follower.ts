import type { BaseSessionService, RunRecord, Session, SessionKey } from '@eventloom/core';
import { readWithoutEvents } from '@eventloom/core/internal';
import { RunEventNotFoundError, RunEventsGoneError, RunRelayError } from '../errors.ts';
import type { ActiveRun } from './active-run.ts';
import { eventPosition, formatPosition, MESSAGE_POSITION, offsetOf, RunLog } from './run-log.ts';
import type { RunHub, RunHubOptions } from './run-hub.ts';
import { notBegun, openError, RunMirror, runNotFound } from './run-mirror.ts';
import { type RunMemory, runName } from './run-memory.ts';
import type { EarlierFrames, RunFormat } from './run-reader.ts';
import type { RunReaders } from './run-readers.ts';
import type { RemoteRun, RunRelay } from './run-relay.ts';
import { type RunState, readRunState, readWaitingCalls } from './run-state.ts';
import { findReadRun, isNotBegun, readEnd, storedFrames } from './stored-frames.ts';

/** The id of a run, and the body of the connection that reads it; no body if there is nothing more to read. */
export interface RunConnection<Body> {
  readonly invocationId: string;
  readonly body: Body | undefined;
}

/** A run to read: its session and its id, the position after which it is read, and the form in which the reader gets it. */
interface RunToRead<Body> {
  /** The service of the session. */
  readonly service: BaseSessionService;
  readonly key: SessionKey;
  /** The run's invocation id, or the id of a request that began or continued it, which may still wait for its session. */
  readonly id: string;
  readonly position: number;
  readonly format: RunFormat<Body>;
}

/**
 * Answers requests for the events and the state of a run in any process. Looks the run up among the logs of this process that have begun,
 * then in a copy of another process's log, and then in its session. Requests whose runs have not begun come after that: those that wait in
 * this process or another one, and at last those that ended here before their run began.
 */
export class RunFollower {
  readonly #hub: RunHub;
  readonly #readers: RunReaders;
  readonly #memory: RunMemory;
  readonly #options: RunHubOptions;
  readonly #relay: RunRelay | undefined;
  /** Active runs of other processes that have readers here. */
  readonly #mirrors = new Map<string, RunLog>();

  constructor(hub: RunHub, memory: RunMemory, options: RunHubOptions) {
    this.#hub = hub;
    this.#readers = hub.readers;
    this.#memory = memory;
    this.#options = options;
    this.#relay = options.relay;
  }

  /**
   * Opens a connection that reads a run, whatever process it runs in.
   *
   * @returns no body if the run has ended and has nothing after the position
   * @throws RunNotFoundError
   * @throws RunEventsGoneError
   * @throws TooManyReadersError
   * @throws UserLimitError
   * @throws RunRelayError
   * @throws RunEventNotFoundError for a position that the run does not have
   * @throws RunNotBegunError
   */
  async follow<Body>(run: RunToRead<Body>): Promise<RunConnection<Body>> {
    const { position } = run;
    const own = await this.#findStarted(run);
    const isActive = own && !own.end;
    const log = isActive ? own : ((await this.#findElsewhere(run, own)) ?? own);
    if (!log) return this.#followStored(run);
    const isBehind = isAfterEnd(log, position) && (await this.#isInSession(run, log));
    return isBehind ? this.#followStored(run) : this.#read(run, log);
  }

  /**
   * True if the session has events of the run up to a position. A process that resumed a run may be killed before it published the stored
   * events; the published log then ends before that position.
   */
  async #isInSession({ service, key, position }: RunToRead<unknown>, { invocationId }: RunLog): Promise<boolean> {
    const stored = await service.findRun({ ...key, id: invocationId });
    const session = stored && (await readWithoutEvents(service, key));
    return Boolean(stored && session && session.lastSeq >= stored.firstSeq + offsetOf(position));
  }

  /**
   * Finds a run of this process. Waits a moment for an open run that is being resumed, because its log begins after the frames in the
   * session, which are known only once the run has the session. Another process may have it; the run is then read from there. Does not
   * wait for a run that is not open, because the answer that continues it may wait long for the session.
   *
   * @throws RunNotFoundError for a run that has ended, and whose session was deleted
   */
  async #findStarted({ service, key, id }: RunToRead<unknown>): Promise<RunLog | undefined> {
    const run = this.#hub.inFlightRun(key, id);
    if (run?.waitsToContinue && (await findReadRun(service, key, id))?.open) await this.#hub.whenContinued(key, id);
    const found = this.#hub.find(key, id);
    if (!found?.end) return found;
    const stored = await findReadRun(service, key, id);
    if (stored && !(await isOutdated(service, key, stored, found))) return found;
    this.#memory.drop(runName(key, id));
    if (!stored) throw runNotFound(key, id);
    return undefined;
  }

  #read<Body>(run: RunToRead<Body>, log: RunLog): Promise<RunConnection<Body>> {
    return log.whileJoining(() => this.#open(run, log));
  }

  async #open<Body>({ service, position, format }: RunToRead<Body>, log: RunLog): Promise<RunConnection<Body>> {
    const { key, invocationId, isCopy, end, lastPosition, gonePosition } = log;
    // The log of a run in another process may be behind that run.
    if (offsetOf(position) > offsetOf(lastPosition) && (end || !isCopy)) throw beyondEnd(log, position, lastPosition);
    if (end && end.kind !== 'continues' && position >= lastPosition) return { invocationId, body: undefined };
    if (position >= gonePosition) return { invocationId, body: this.#readers.join(log, position, format) };
    const untilPosition = Math.max(eventPosition(offsetOf(lastPosition)), MESSAGE_POSITION);
    const stored = untilPosition < gonePosition ? undefined : await service.findRun({ ...key, id: invocationId });
    if (!stored) throw goneError(log);
    const pages = storedFrames(service, key, stored, position, untilPosition);
    return { invocationId, body: this.#readers.join(log, position, format, { pages, untilPosition }) };
  }

  /**
   * Finds a run in its session, when no process has its log, and reads it there. A run whose process ended is resumed
   * first. A request that the session does not have may wait, or may have ended before its run began.
   */
  async #followStored<Body>(run: RunToRead<Body>): Promise<RunConnection<Body>> {
    const { service, key, id, position } = run;
    const request = this.#hub.inFlightRequest(key, id);
    let stored = await findReadRun(service, key, id);
    // The session records a request when its run begins, shortly before its message is stored.
    if (request && (!stored || request.waitsToContinue)) return this.#followRequest(run, request);
    // The run keeps its end, but the request is in progress.
    const isAttempt = stored?.open && stored.end;
    if (stored && stored.invocationId !== id && !isAttempt) return this.follow({ ...run, id: stored.invocationId });
    if (stored?.open) {
      if (stored.open.heldUntilMs <= this.#options.platform.now()) await this.#hub.unfinished.search();
      const log = await this.#findStarted(run);
      if (log && !isAfterEnd(log, position)) return this.#read(run, log);
      stored = await findReadRun(service, key, id);
    }
    const session = stored && (await readWithoutEvents(service, key));
    if (stored && session) return this.#readStored(run, stored, session);
    const waiting = await this.#hub.findWaiting(key, id);
    if (waiting && waiting.invocationId !== id) return this.follow({ ...run, id: waiting.invocationId });
    const refused = stored ? undefined : this.#hub.findRefused(key, id);
    if (refused) return this.#read(run, refused);
    throw runNotFound(key, id);
  }

  /**
   * Reads a run from its session. The reader of a run that is still open gets the events that are stored so far and
   * then `RUN_GOES_ON`.
   */
  async #readStored<Body>(
    { service, key, id, position, format }: RunToRead<Body>,
    stored: RunRecord,
    session: Pick<Session, 'lastSeq'>,
  ): Promise<RunConnection<Body>> {
    const { invocationId, firstSeq, open } = stored;
    if (open && isNotBegun(stored, session)) throw notBegun(id);
    // The process of the run was killed before it stored the message.
    if (session.lastSeq < firstSeq && !stored.end) throw runNotFound(key, id);
    const end = open ? undefined : await readEnd(service, key, stored);
    const storedOffset = Math.max(stored.end?.lastSeq ?? session.lastSeq, firstSeq) - firstSeq;
    const lastPosition = end?.eventPosition ?? eventPosition(storedOffset);
    // Chunks have positions up to that of the last stored event, including an event that readers do not get because it
    // only records agent state.
    const isChunk = position > eventPosition(offsetOf(position));
    if (offsetOf(position) > (isChunk ? storedOffset : offsetOf(lastPosition)))
      throw beyondEnd(stored, position, lastPosition);
    const isEndUndone =
      end?.frame !== undefined &&
      session.lastSeq > firstSeq + storedOffset &&
      (await readWaitingCalls(service, this.#options.platform, key, stored)).isEndUndone;
    // A run whose failure was undone by a rewind may wait for answers again.
    const failure = isEndUndone ? undefined : end?.frame;
    const untilPosition = failure?.position ?? lastPosition;
    const log = new RunLog(this.#memory, { key, invocationId, isCopy: true });
    log.startAfter(untilPosition);
    log.endWith(open ? { kind: 'continues', failure: openError() } : { kind: 'copied' });
    const pages = storedFrames(service, key, stored, position, lastPosition, failure);
    const first = await this.#readers.nextPage(key.userId, pages);
    if (first.done === true && !open) return { invocationId, body: undefined };
    const earlier: EarlierFrames = { first: first.value, pages, untilPosition };
    return { invocationId, body: this.#readers.join(log, position, format, earlier) };
  }

  /** Reads the run of a request that was not stored when it was looked up. */
  async #followRequest<Body>(run: RunToRead<Body>, request: ActiveRun): Promise<RunConnection<Body>> {
    const { log, key } = request;
    const { requestId = '' } = log;
    if (!request.waitsToContinue) return this.#read(run, log);
    // The run that an answer continues is known only when the answer is stored.
    const hasBegun = await request.whenBegun();
    if (!hasBegun && !(await run.service.findRun({ ...key, id: requestId }))) throw runNotFound(key, requestId);
    return this.follow({ ...run, id: hasBegun ? log.invocationId : requestId });
  }

  /**
   * Returns a copy of the log of a run of another process, or of a later attempt at it; undefined if there is none.
   * @throws RunRelayError
   */
  async #findElsewhere(
    { service, key, id: invocationId, position }: RunToRead<unknown>,
    own: RunLog | undefined,
  ): Promise<RunLog | undefined> {
    const name = runName(key, invocationId);
    const isLater = ({ attempt }: { readonly attempt: number }): boolean => !own || own.attempt < attempt;
    let remote: RemoteRun | undefined;
    if (this.#mirrors.get(name)?.end || !this.#mirrors.has(name)) {
      remote = await this.#relay?.find(key, invocationId).catch((error: unknown) => {
        if (!own || !RunRelayError.isInstance(error)) throw error;
        return undefined;
      });
    }
    if (remote?.end) {
      const stored = await findReadRun(service, key, invocationId);
      if (stored && (await isOutdated(service, key, stored, remote))) remote = undefined;
    }
    const mirrored = this.#mirrors.get(name);
    if (mirrored && !mirrored.end) return isLater(mirrored) ? mirrored : undefined;
    // The relay found the run by a request with this id. The session is asked first whether it has a run with that id.
    if (remote && remote.invocationId !== invocationId) return undefined;
    // The events of a lost process are in the session if they were stored.
    if (!remote || remote.end?.kind === 'lost' || !isLater(remote)) return undefined;
    const log = new RunLog(this.#memory, { key, invocationId, isCopy: true });
    log.attempt = remote.attempt;
    const isAtEnd = remote.end !== undefined && position >= remote.lastPosition;
    log.startAfter(isAtEnd ? remote.lastPosition : remote.gonePosition);
    if (isAtEnd) {
      log.endWith({ kind: 'copied' });
    } else {
      this.#mirrors.set(name, log);
      const { platform, report } = this.#options;
      const mirror = new RunMirror({ log, service, platform, report });
      const stopFollowing = this.#relay?.follow(key, invocationId, log.gonePosition, mirror);
      log.stopMirroring = () => {
        if (this.#mirrors.get(name) === log) this.#mirrors.delete(name);
        stopFollowing?.();
      };
    }
    return log;
  }

  /**
   * Returns the state of a run of this session, whatever process it runs in.
   *
   * @param id the run's invocation id, or a request id that it was begun with
   * @throws RunNotFoundError
   * @throws RunRelayError
   */
  async state(service: BaseSessionService, key: SessionKey, id: string): Promise<RunState> {
    const request = this.#hub.inFlightRun(key, id) ?? this.#hub.inFlightRequest(key, id);
    // The session comes first also for a run of this process, because another process may have ended the run. While an answer waits for
    // the session, the run that it continues keeps its stored state.
    const stored = await findReadRun(service, key, id);
    if (stored) return readRunState(service, this.#options.platform, key, stored);
    if (request && !request.log.end) return stateOf(request);
    // Another process may be about to store the message.
    const remote = await this.#hub.findWaiting(key, id);
    if (remote) return { invocationId: remote.invocationId, state: 'queued' };
    throw runNotFound(key, id);
  }

  /** Stops following runs of other processes. */
  stop(): void {
    for (const log of this.#mirrors.values()) log.endWith({ kind: 'continues', failure: openError() });
  }
}

/** Returns the state of an active run. */
function stateOf({ hasBegun, stream, log }: ActiveRun): RunState {
  return hasBegun
    ? { invocationId: log.invocationId, state: 'running' }
    : { invocationId: stream.invocationId, state: 'queued' };
}

/**
 * True if the session has more of a run than the log that ended: the run waited for answers, and was then continued or cancelled in another
 * process. A run without a recorded end is one of another session, which was imported or copied under the same id.
 */
async function isOutdated(
  service: BaseSessionService,
  key: SessionKey,
  stored: RunRecord,
  { lastPosition }: Pick<RunLog, 'lastPosition'>,
): Promise<boolean> {
  const { open, end, firstSeq } = stored;
  if (open || !end) return true;
  // A log of a run that did not complete ends with a frame of its failure, behind the last event.
  if (lastPosition !== eventPosition(offsetOf(lastPosition))) return false;
  // Readers do not get the last events if these only record the state of agents.
  const mayHaveMore = end.lastSeq - firstSeq > offsetOf(lastPosition);
  return mayHaveMore && (await readEnd(service, key, stored)).eventPosition > lastPosition;
}

/** True for the position of a stored event after the end of a log. */
function isAfterEnd({ end, lastPosition }: RunLog, position: number): boolean {
  return end !== undefined && offsetOf(position) > offsetOf(lastPosition);
}

/** Creates the error for a number higher than that of the run's newest frame. */
function beyondEnd(
  { invocationId }: { readonly invocationId: string },
  position: number,
  lastPosition: number,
): RunEventNotFoundError {
  const [asked, last] = [formatPosition(position), formatPosition(lastPosition)];
  return new RunEventNotFoundError(
    `lastEventId: the run ${invocationId} has no event ${asked}, its newest is ${last}; follow it from that id, or without one`,
  );
}

function goneError({ invocationId, gonePosition, key }: RunLog): RunEventsGoneError {
  const gone = formatPosition(gonePosition);
  return new RunEventsGoneError(
    `the events of run ${invocationId} up to number ${gone} are no longer kept; ` +
      `read session ${JSON.stringify(key.sessionId)}, then follow the run from ${gone}`,
  );
}
