import type { EventloomError, SessionKey } from '@eventloom/core';
import { isRunOf } from './followed-run.ts';
import { type MirrorHost, MirroredRun } from './mirrored-run.ts';
import type { RunRelay } from './run-relay.ts';

/** What the mirrors share with the runs of this process. */
export type MirrorsHost = Pick<MirrorHost, 'appended'> & {
  /** A mirror is not kept any more, with this many characters. */
  released(chars: number): void;
  /** Calls back once after `delayMs`; the returned function calls it off. */
  schedule(delayMs: number, callback: () => void): () => void;
};

/** The runs of other processes that are followed here, one mirror for all readers of a run. */
export class RunMirrors implements MirrorHost {
  readonly #relay: RunRelay;
  readonly #host: MirrorsHost;
  readonly #mirrors = new Map<string, MirroredRun>();

  constructor(relay: RunRelay, host: MirrorsHost) {
    this.#relay = relay;
    this.#host = host;
  }

  /**
   * Looks for a run in the other processes and gives it to `use`, which follows it then and there or lets it be. Undefined when there is
   * no such run. @throws RunRelayError, and what `use` throws
   */
  async find<T>(
    key: SessionKey,
    invocationId: string,
    afterSeq: number,
    use: (run: MirroredRun) => T,
  ): Promise<T | undefined> {
    const open = this.#open(key, invocationId);
    if (open) return use(open);
    const remote = await this.#relay.find(key, invocationId);
    // Between here and the first follower nothing else runs, so there are never two mirrors of a run.
    const openMeanwhile = this.#open(key, invocationId);
    if (openMeanwhile) return use(openMeanwhile);
    return remote && use(new MirroredRun(key, invocationId, remote, afterSeq, this.#relay, this));
  }

  /** Asks for the end of a run, and waits for it for a time. False when there is no such run. @throws RunRelayError */
  async cancel(key: SessionKey, invocationId: string, timeoutMs: number): Promise<boolean> {
    const remote = await this.#relay.find(key, invocationId);
    if (remote?.end?.kind === 'ended') return true;
    if (!remote) return false;
    await this.#relay.cancel(key, invocationId);
    if (remote.end) return true;
    const over = Promise.withResolvers<void>();
    const callOff = this.#host.schedule(timeoutMs, over.resolve);
    const follower = { appended: () => undefined, ended: () => over.resolve() };
    const leave = this.#relay.follow(key, invocationId, remote.lastSeq, follower);
    await over.promise;
    callOff();
    leave();
    return true;
  }

  forgetSession(key: SessionKey): Promise<void> {
    return this.#relay.forgetSession(key);
  }

  /** Ends all readers. */
  abandon(reason: EventloomError): void {
    for (const mirror of this.#mirrors.values()) mirror.abandon(reason);
  }

  appended(run: MirroredRun, chars: number): void {
    this.#host.appended(run, chars);
  }

  opened(run: MirroredRun): void {
    this.#mirrors.set(run.invocationId, run);
  }

  closed(run: MirroredRun): void {
    if (this.#mirrors.get(run.invocationId) === run) this.#mirrors.delete(run.invocationId);
    this.#host.released(run.buffer.chars);
  }

  /** One that ended is left to those who read it: whether it can still be found is for the relay to say. */
  #open(key: SessionKey, invocationId: string): MirroredRun | undefined {
    const mirror = this.#mirrors.get(invocationId);
    return mirror && !mirror.isEnded && isRunOf(mirror, key) ? mirror : undefined;
  }
}
