import type { SessionKey } from '@eventloom/core';
import {
  type RelayedRun,
  type RelayHost,
  type RemoteRun,
  type RemoteRunFollower,
  type RunEnd,
  RunEventsGoneError,
  RunHostLostError,
  type RunPublication,
  type RunRelay,
  RunRelayError,
} from '@eventloom/server';
import type { NumberedEvent } from '@eventloom/server/internal';
import type { KeptRun, RunStore } from './run-store.ts';

/** How long the pieces of an answer are gathered before they are stored, so that they lie many to a row. */
const GATHER_MS = 1000;
/** Characters of events that are stored at once. */
const GATHER_CHARS = 128 * 1024;

/**
 * The runs of a user's object, for readers that come after the object lost its memory: the "other processes" are what the same
 * object was before. A run that was going on then is lost, and says so to whoever follows it.
 */
export class ObjectRunRelay implements RunRelay {
  readonly #store: RunStore;
  readonly #onChange: () => void;
  readonly #running = new Set<string>();
  #host: RelayHost | undefined;

  /** @param onChange told when a run begins, and when it ended and is stored */
  constructor(store: RunStore, onChange: () => void) {
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Runs that go on. */
  get running(): number {
    return this.#running.size;
  }

  attach(host: RelayHost): void {
    this.#host = host;
  }

  publish(run: RelayedRun): RunPublication {
    const { key, invocationId, buffer } = run;
    const { firstSeq: beginSeq } = buffer;
    const kept = run.isRetold ? this.#store.find(key, invocationId) : undefined;
    const told = kept && this.#store.reopen(kept.pk, beginSeq);
    const pk = kept?.pk ?? this.#store.open(key, invocationId, beginSeq);
    this.#running.add(invocationId);
    this.#onChange();
    let storedSeq = 0;
    let storedChars = 0;
    let isForgotten = false;
    let callOff: (() => void) | undefined;
    const store = (): void => {
      callOff?.();
      callOff = undefined;
      if (isForgotten) return;
      const firstSeq = Math.max(storedSeq + 1, buffer.firstSeq);
      const texts: string[] = [];
      for (let seq = firstSeq; seq <= buffer.lastSeq; seq++) texts.push(buffer.at(seq) ?? '');
      if (texts.length > 0) this.#store.append(pk, firstSeq, texts);
      storedSeq = buffer.lastSeq;
      storedChars = buffer.chars;
    };
    const forget = (): void => {
      isForgotten = true;
      this.#store.forget(invocationId);
    };
    /** The run goes on without its buffer when that cannot be stored. */
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        this.#host?.report(error);
        if (!isForgotten) attempt(forget);
      }
    };
    return {
      announced: Promise.resolve(),
      ...(told && { told, earlier: (afterSeq) => this.#earlier(key, invocationId, afterSeq) }),
      notify: (isCommitted) => {
        if (run.isEnded) {
          attempt(() => {
            store();
            if (!isForgotten) this.#store.end(pk, this.#now(), run.failureText);
          });
          this.#running.delete(invocationId);
          this.#onChange();
        } else if (isCommitted || buffer.chars - storedChars > GATHER_CHARS) {
          // In the turn in which the event was handed to readers: it is stored before any of them has it.
          attempt(store);
        } else {
          callOff ??= this.#host?.platform.schedule(GATHER_MS, () => attempt(store));
        }
      },
      forget: () => attempt(forget),
    };
  }

  find(key: SessionKey, invocationId: string): Promise<RemoteRun | undefined> {
    const kept = this.#store.find(key, invocationId);
    if (!kept) return Promise.resolve(undefined);
    const { firstSeq, lastSeq } = kept;
    const earlier = (afterSeq: number) => this.#earlier(key, invocationId, afterSeq);
    return Promise.resolve({ firstSeq, lastSeq, end: endOf(kept, key, invocationId), earlier });
  }

  #earlier(key: SessionKey, invocationId: string, afterSeq: number): Iterator<NumberedEvent> | undefined {
    const kept = this.#store.find(key, invocationId);
    if (!kept || afterSeq >= kept.beginSeq - 1) return undefined;
    if (afterSeq < kept.goneSeq) {
      throw new RunEventsGoneError(
        `what the run ${invocationId} said up to number ${kept.goneSeq} is more than is kept; read session ${JSON.stringify(key.sessionId)}, then follow the run from ${kept.goneSeq}`,
      );
    }
    return this.#eventsBefore(kept, afterSeq);
  }

  *#eventsBefore({ pk, beginSeq }: KeptRun, afterSeq: number): Generator<NumberedEvent> {
    for (const { firstSeq, texts } of this.#store.chunks(pk, afterSeq, beginSeq)) {
      for (const [index, text] of texts.entries()) {
        if (firstSeq + index > afterSeq) yield { seq: firstSeq + index, text };
      }
    }
  }

  lastSeqOf(key: SessionKey, invocationId: string): number | undefined {
    return this.#store.find(key, invocationId)?.lastSeq;
  }

  follow(key: SessionKey, invocationId: string, afterSeq: number, follower: RemoteRunFollower): () => void {
    let isLeft = false;
    const read = (): void => {
      const kept = this.#store.find(key, invocationId);
      for (const { firstSeq, texts } of kept ? this.#store.chunks(kept.pk, afterSeq) : []) {
        if (isLeft) return;
        const skipped = Math.max(0, afterSeq + 1 - firstSeq);
        follower.appended(firstSeq + skipped, texts.slice(skipped));
      }
      if (!isLeft) follower.ended(endOf(kept, key, invocationId));
    };
    queueMicrotask(() => {
      try {
        read();
      } catch (cause) {
        // Nothing called this that could catch it: the follower would wait for ever.
        this.#host?.report(cause);
        const message = `the events of run ${invocationId} cannot be read from storage; connect again`;
        if (!isLeft) follower.ended({ kind: 'lost', error: new RunRelayError(message, { cause }) });
      }
    });
    return () => void (isLeft = true);
  }

  /** The runs that can be asked for their end are in the object's memory. */
  cancel(): Promise<void> {
    return Promise.resolve();
  }

  forgetSession(key: SessionKey): Promise<void> {
    this.#store.forgetSession(key);
    return Promise.resolve();
  }

  #now(): number {
    return this.#host?.platform.now() ?? 0;
  }
}

function endOf(kept: KeptRun | undefined, { sessionId }: SessionKey, invocationId: string): RunEnd {
  if (kept?.isEnded && !kept.isLost) return { kind: 'ended', failureText: kept.failureText };
  const error = new RunHostLostError(
    `the object that ran ${invocationId} was evicted in mid-run; what was committed is in session ${JSON.stringify(sessionId)}`,
  );
  return { kind: 'lost', error };
}
