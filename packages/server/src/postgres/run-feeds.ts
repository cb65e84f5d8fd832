import type { SessionKey } from '@eventloom/core';
import type { LogMirror } from '../runs/run-relay.ts';
import { type FeedSource, RunFeed } from './run-feed.ts';

/** The runs of other processes that are followed in this one. */
export class RunFeeds {
  readonly #source: FeedSource;
  readonly #feeds = new Map<string, Set<RunFeed>>();

  constructor(source: FeedSource) {
    this.#source = source;
  }

  follow(key: SessionKey, invocationId: string, position: number, mirror: LogMirror): () => void {
    const feeds = this.#feeds.get(invocationId) ?? new Set<RunFeed>();
    this.#feeds.set(invocationId, feeds);
    const leave = (): void => {
      feed.leave();
      feeds.delete(feed);
      if (feeds.size === 0 && this.#feeds.get(invocationId) === feeds) this.#feeds.delete(invocationId);
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

  /** Called when a run may have more frames. */
  wake(invocationId: string): void {
    for (const feed of this.#feeds.get(invocationId) ?? []) feed.wake();
  }

  /** Called when any run may have more frames. */
  wakeAll(): void {
    for (const feeds of this.#feeds.values()) for (const feed of feeds) feed.wake();
  }

  close(): void {
    for (const feeds of this.#feeds.values()) for (const feed of feeds) feed.leave();
    this.#feeds.clear();
  }
}
