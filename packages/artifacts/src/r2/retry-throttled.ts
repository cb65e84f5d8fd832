import type { Platform } from '@eventloom/core';

/** R2 takes one write of a key at a time: another one meanwhile fails with this code at the end of its message. */
const TOO_MANY_WRITES = '(10058)';
/** Together about as long as R2 asks to wait. */
const WAITS_MS: readonly number[] = [250, 500, 1000, 2000, 4000];

/** Writes, and again after a while when R2 is still writing the same key for somebody else. The last error is thrown. */
export async function retryThrottled<T>(platform: Platform, write: () => Promise<T>): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Error && error.message.endsWith(TOO_MANY_WRITES))) throw error;
    }
    // Those who met once do not meet again.
    const spreadMs = waitMs * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => platform.schedule(spreadMs, resolve));
  }
  return write();
}
