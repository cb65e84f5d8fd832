import { type Blob, type InvocationContext, LiveQueueFullError } from '@eventloom/core';

/** Gives a piece of what the client says to every tool that listens. One that is slow misses the oldest: what is live is worth more. */
export function copyInput({ activeStreamingTools }: InvocationContext, blob: Blob): void {
  for (const queue of activeStreamingTools.values()) {
    while (!queue.isClosed) {
      try {
        queue.sendRealtime(blob);
        break;
      } catch (error) {
        if (!LiveQueueFullError.isInstance(error) || queue.chars === 0) throw error;
        queue.shift();
      }
    }
  }
}
