import type { SessionKey } from '@eventloom/core';
import type { LogMirror } from '../runs/run-relay.ts';
import { runKeyOf } from './published-run.ts';
import { type FeedSource, RunFeed } from './run-feed.ts';

/** The runs of other processes that are followed in this one. */
export class RunFeeds {
  readonly #source: FeedSource;
  /** The feeds of each run, under the key of the run. */
  readonly #feeds = new Map<string, Set<RunFeed>>();

  constructor(source: FeedSource) {
    this.#source = source;
  }

  follow(key: SessionKey, invocationId: string, position: number, mirror: LogMirror): () => void {
    const runKey = runKeyOf(key, invocationId);
    const feeds = this.#feeds.get(runKey) ?? new Set<RunFeed>();
    this.#feeds.set(runKey, feeds);
    const leave = (): void => {
      feed.leave();
      feeds.delete(feed);
      if (feeds.size === 0 && this.#feeds.get(runKey) === feeds) this.#feeds.delete(runKey);
    };
    const feed = new RunFeed(this.#source, key, invocationId, position, {
      mirror: (frames, gonePosition) => mirror.mirror(frames, gonePosition),
      mirrorEnded(end) {
        leave();
        mirror.mirrorEnded(end);
      },
    });
    feeds.add(feed);
    feed.wake();
    return leave;
  }

  /** Wakes the feeds of a run that may have more frames. */
  wake(runKey: string): void {
    for (const feed of this.#feeds.get(runKey) ?? []) feed.wake();
  }

  /** Wakes all feeds, because any run may have more frames. */
  wakeAll(): void {
    for (const feeds of this.#feeds.values()) for (const feed of feeds) feed.wake();
  }

  close(): void {
    for (const feeds of this.#feeds.values()) for (const feed of feeds) feed.leave();
    this.#feeds.clear();
  }
}
