import {
  InvalidRequestError,
  RunAbortedError,
  type RunConfig,
  type SessionKey,
  ShuttingDownError,
} from '@eventloom/core';
import { mergeRunConfigs, readTraceHeaders, within } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import {
  type AuthenticatedUser,
  type LiveAdmission,
  type LiveHost,
  type LiveServer,
  type LiveSocket,
  type LiveSocketEvents,
  type RunPolicy,
  ServerBusyError,
  UserLimitError,
} from '@eventloom/server';
import {
  boundsOf,
  callRunConfigHook,
  requireSameUser,
  errorBody,
  GRACE_MS,
  liveProtocolOf,
  runnerOf,
  socketCloseOf,
} from '@eventloom/server/internal';
import { HostedLiveRun, type HostedLiveRunParams } from './hosted-live-run.ts';
import { UnconfirmedBytes } from './live-frame-writer.ts';
import { LIVE_PROTOCOL, type LiveQuery, parseLiveQuery } from './live-query.ts';

/** The parameters that differ from run to run. */
type OwnParams = Omit<HostedLiveRunParams, 'platform' | 'limits' | 'bounds' | 'maxWaiting' | 'unconfirmed'>;

/** The open live runs of a server. A live run has one client, and no other client can follow it. */
export class HostedLiveRuns implements LiveHost {
  readonly #server: LiveServer;
  readonly #runs = new Set<HostedLiveRun>();
  /** Number of live runs of each user. */
  readonly #ofUser = new Map<string, number>();
  readonly #unconfirmed: UnconfirmedBytes;
  #isDraining = false;
  #callOffBeat: (() => void) | undefined;

  constructor(server: LiveServer) {
    this.#server = server;
    this.#unconfirmed = new UnconfirmedBytes(server.limits.maxLiveUnconfirmedBytes);
  }

  get size(): number {
    return this.#runs.size;
  }

  async admit(request: Request, identified: Promise<AuthenticatedUser | undefined>): Promise<LiveAdmission> {
    const protocol = liveProtocolOf(request, { protocol: LIVE_PROTOCOL });
    const refuse = (error: unknown, socket: LiveSocket): LiveSocketEvents => {
      this.#server.report(error);
      return refuseLive(error, socket);
    };
    try {
      const user = await identified;
      const query = parseLiveQuery(new URL(request.url).searchParams);
      requireSameUser(user, query.key.userId);
      const { appName } = query.key;
      const runner = runnerOf(this.#server, appName);
      checkAgainst(runner, query);
      const { runConfig: hook, platform } = this.#server;
      const decided = hook && (await callRunConfigHook(hook, request, user, appName, platform));
      const runConfig = liveRunConfig(query.runConfig, decided, runner);
      const traceHeaders = runner.instrumentation && readTraceHeaders(request.headers);
      return {
        protocol,
        open: (socket) => {
          try {
            return this.start({ ...query, runConfig, runner, socket, traceHeaders });
          } catch (error) {
            return refuse(error, socket);
          }
        },
      };
    } catch (error) {
      return { protocol, open: (socket) => refuse(error, socket) };
    }
  }

  /** Starts a live run. @throws ServerBusyError @throws UserLimitError @throws ShuttingDownError, and what the runner throws */
  start(params: OwnParams): HostedLiveRun {
    const { limits, platform, report } = this.#server;
    const { maxLiveRuns, maxLiveRunsPerUser, maxLiveWaitingBytes } = limits;
    const { userId } = params.key;
    if (this.#isDraining) throw shuttingDown();
    if (this.#runs.size >= maxLiveRuns) {
      throw new ServerBusyError(
        `the server has ${this.#runs.size} live runs, the maximum (limits.maxLiveRuns); try again later`,
      );
    }
    const ofUser = this.#ofUser.get(userId) ?? 0;
    if (ofUser >= maxLiveRunsPerUser) {
      throw new UserLimitError(
        `the user has ${ofUser} live runs, the maximum (limits.maxLiveRunsPerUser); end one, or try again later`,
      );
    }
    // Frames that disconnected clients did not take wait in memory as well.
    if (!params.socket.reportsTaken && this.#unconfirmed.isTooMuch) {
      throw new ServerBusyError(
        'too much sent data is not yet acknowledged by clients; try again later, or connect with ?ping=text and answer pings',
      );
    }
    const bounds = boundsOf(limits);
    const waiting = { maxWaiting: maxLiveWaitingBytes, unconfirmed: this.#unconfirmed };
    const run = new HostedLiveRun({ ...params, ...waiting, limits, bounds, platform });
    this.#runs.add(run);
    this.#ofUser.set(userId, ofUser + 1);
    this.#scheduleBeat();
    void run.ended.then(() => {
      this.#runs.delete(run);
      const left = (this.#ofUser.get(userId) ?? 0) - 1;
      if (left > 0) this.#ofUser.set(userId, left);
      else this.#ofUser.delete(userId);
      if (run.failure) report(run.failure);
      if (this.#runs.size > 0) return;
      this.#callOffBeat?.();
      this.#callOffBeat = undefined;
    });
    return run;
  }

  /** Checks silent connections, and keeps them open. One timer serves all runs, and exists only while there are any. */
  #scheduleBeat(): void {
    if (this.#callOffBeat || this.#runs.size === 0) return;
    const { platform, limits } = this.#server;
    this.#callOffBeat = platform.schedule(limits.heartbeatMs, () => {
      this.#callOffBeat = undefined;
      for (const run of this.#runs) run.beat();
      this.#scheduleBeat();
    });
  }

  async cancel(key: SessionKey, invocationId: string): Promise<boolean | undefined> {
    const run = this.#of(key).find((one) => one.invocationId === invocationId);
    if (!run) return undefined;
    const { limits, platform } = this.#server;
    run.abort(new RunAbortedError('the live run was cancelled', { cancelsCalls: true }));
    await within(platform, run.ended, limits.respondAfterMs);
    if (run.leavesRunOpen) return undefined;
    return run.hasEnded;
  }

  async forgetSession(key: SessionKey): Promise<void> {
    const runs = this.#of(key);
    for (const run of runs) run.abort(new RunAbortedError('the session was deleted'));
    await Promise.all(runs.map(({ ended }) => ended));
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    const { platform } = this.#server;
    const runs = Array.from(this.#runs);
    const reason = shuttingDown();
    for (const run of runs) run.stopAtTurn(reason);
    const later = (delayMs: number, end: (run: HostedLiveRun) => void): (() => void) =>
      platform.schedule(delayMs, () => {
        for (const run of runs) end(run);
      });
    const callsOff = [later(timeoutMs / 2, (run) => run.stop(reason)), later(timeoutMs, (run) => run.abort(reason))];
    await within(platform, Promise.all(runs.map(({ ended }) => ended)), timeoutMs + GRACE_MS);
    for (const callOff of callsOff) callOff();
  }

  #of({ appName, userId, sessionId }: SessionKey): HostedLiveRun[] {
    return Array.from(this.#runs).filter(
      ({ key }) => key.sessionId === sessionId && key.userId === userId && key.appName === appName,
    );
  }
}

function shuttingDown(): ShuttingDownError {
  return new ShuttingDownError('the server is shutting down, and the conversation is in the session; call again');
}

/** Sends the client of an open socket the reason why there is no run, and closes the socket. */
export function refuseLive(error: unknown, socket: LiveSocket): LiveSocketEvents {
  socket.send(JSON.stringify(errorBody(error)));
  const { code, reason } = socketCloseOf(error);
  socket.close(code, reason);
  const ignore = (): void => undefined;
  return { message: ignore, taken: ignore, pong: ignore, closed: ignore, ended: Promise.resolve() };
}

/** Default time that a live run waits for its session: short, because the client waits. */
const BUSY_WAIT_MS = 5000;

/**
 * Returns the config of a live run: values of the server before those of the query, without options that apply only to
 * resumable runs. The query only switches transcriptions on or off, so the runner's options for them are kept.
 */
function liveRunConfig(asked: RunConfig, decidedConfig: RunPolicy | undefined, runner: Runner): RunConfig {
  const { resumable: _, ...decided } = decidedConfig ?? {};
  const {
    busyWaitMs = BUSY_WAIT_MS,
    inputAudioTranscription = asked.inputAudioTranscription,
    outputAudioTranscription = asked.outputAudioTranscription,
  } = runner.runConfig;
  return mergeRunConfigs(decided, { ...asked, busyWaitMs, inputAudioTranscription, outputAudioTranscription });
}

/** Checks the options of a live run. @throws InvalidRequestError for an option that the runner cannot serve */
function checkAgainst({ artifactService }: Pick<Runner, 'artifactService'>, { runConfig }: LiveQuery): void {
  if (runConfig.saveLiveBlob && !artifactService) {
    throw new InvalidRequestError('save_live_blob: the app has no artifact service to save audio in; remove it');
  }
}
