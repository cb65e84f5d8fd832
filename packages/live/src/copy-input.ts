import type { BaseLiveRequestQueue, Blob } from '@eventloom/core';

/** Gives a piece of what the client says to every tool that listens. One that is slow misses the oldest. */
export function copyInput({ activeStreamingTools }: BaseLiveRequestQueue, blob: Blob): void {
  for (const queue of activeStreamingTools.values()) queue.sendLatest(blob);
}
