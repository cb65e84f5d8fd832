import { type Platform, RunAbortedError, type SessionKey, ShuttingDownError } from '@eventloom/core';
import { ServerBusyError } from '../errors.ts';
import { Heartbeat } from '../runs/heartbeat.ts';
import { within } from '../runs/within.ts';
import { GRACE_MS } from '../runs/run-drain.ts';
import type { ServerLimits } from '../server-limits.ts';
import { LiveCall, type LiveCallParams } from './live-call.ts';
import { UnconfirmedBytes } from './unconfirmed-bytes.ts';

/** What the calls of a server have in common. */
type OwnParams = Omit<LiveCallParams, 'platform' | 'limits' | 'maxWaiting' | 'unconfirmed'>;

/** The calls of a server, while they last. A call is with one client, and nothing of it is kept for another one. */
export class LiveCalls {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  readonly #report: (error: unknown) => void;
  readonly #heartbeat: Heartbeat<LiveCall>;
  readonly #calls = new Set<LiveCall>();
  readonly #unconfirmed: UnconfirmedBytes;
  #isDraining = false;

  /** @param report told of each failure of a call */
  constructor(platform: Platform, limits: ServerLimits, report: (error: unknown) => void) {
    this.#platform = platform;
    this.#limits = limits;
    this.#report = report;
    this.#heartbeat = new Heartbeat(platform, limits.heartbeatMs);
    this.#unconfirmed = new UnconfirmedBytes(limits.maxLiveUnconfirmedBytes);
  }

  get size(): number {
    return this.#calls.size;
  }

  /** @throws ServerBusyError @throws ShuttingDownError, and what the runner throws */
  start(params: OwnParams): LiveCall {
    const limits = this.#limits;
    const { maxLiveCalls, maxLiveWaitingBytes } = limits;
    if (this.#isDraining) throw shuttingDown();
    if (this.#calls.size >= maxLiveCalls) {
      throw new ServerBusyError(`the server has ${this.#calls.size} calls, as many as it takes; try again`);
    }
    // What clients that were let go did not take waits in memory as well.
    if (!params.socket.tellsTaken && this.#unconfirmed.isTooMuch) {
      throw new ServerBusyError(
        'too much waits for clients that do not take it, or do not say so; try again, with ping=text',
      );
    }
    const bounds = { limits, maxWaiting: maxLiveWaitingBytes, unconfirmed: this.#unconfirmed };
    const call = new LiveCall({ ...params, ...bounds, platform: this.#platform });
    this.#calls.add(call);
    this.#heartbeat.join(call);
    void call.ended.then(() => {
      this.#calls.delete(call);
      this.#heartbeat.leave(call);
      if (call.failure) this.#report(call.failure);
    });
    return call;
  }

  /** Ends the call of this session that has this name, and waits until it has. False when there is none. */
  async cancel(key: SessionKey, invocationId: string): Promise<boolean> {
    const [call] = this.#of(key).filter((one) => one.invocationId === invocationId);
    call?.abort(new RunAbortedError('the call was cancelled'));
    await call?.ended;
    return call !== undefined;
  }

  /** Ends the calls of a session that is about to be deleted. Settles when they have ended. */
  async forgetSession(key: SessionKey): Promise<void> {
    const calls = this.#of(key);
    for (const call of calls) call.abort(new RunAbortedError('the session was deleted'));
    await Promise.all(calls.map(({ ended }) => ended));
  }

  /**
   * Takes no call any more and ends those there are: for half of the time the model may say its sentence, then what was said is stored, and
   * at the end of the time the call ends at once. Settles at the latest one second later.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    const calls = Array.from(this.#calls);
    const reason = shuttingDown();
    for (const call of calls) call.stopAtTurn(reason);
    const later = (delayMs: number, end: (call: LiveCall) => void): (() => void) =>
      this.#platform.schedule(delayMs, () => {
        for (const call of calls) end(call);
      });
    const callsOff = [
      later(timeoutMs / 2, (call) => call.stop(reason)),
      later(timeoutMs, (call) => call.abort(reason)),
    ];
    await within(this.#platform, Promise.all(calls.map(({ ended }) => ended)), timeoutMs + GRACE_MS);
    for (const callOff of callsOff) callOff();
  }

  #of({ appName, userId, sessionId }: SessionKey): LiveCall[] {
    return Array.from(this.#calls).filter(
      ({ key }) => key.sessionId === sessionId && key.userId === userId && key.appName === appName,
    );
  }
}

function shuttingDown(): ShuttingDownError {
  return new ShuttingDownError('the server is shutting down; what was said is in the session: call again');
}
