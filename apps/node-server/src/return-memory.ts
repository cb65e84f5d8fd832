/** Interval between two checks for active runs, in milliseconds. */
const EVERY_MS = 15_000;
/** Minimum growth of the resident memory since the last collection for the next one, in bytes. */
const WORTH_BYTES = 32 * 1024 * 1024;

/**
 * Returns memory to the system after load. V8 keeps the pages that a burst of requests filled, and an idle server never collects garbage:
 * after 2,000 runs it has more than twice the memory with which it started. The collection that V8 makes before it runs out of memory
 * returns these pages. It takes a tenth of a second, so it runs only after two checks in a row found no run. Does nothing without
 * `--expose-gc`.
 */
export function returnMemory(server: { readonly runsInFlight: number }, everyMs = EVERY_MS): void {
  const { gc } = globalThis;
  if (!gc) return;
  let settledBytes = process.memoryUsage.rss();
  let wasIdle = false;
  setInterval(() => {
    const isIdle = server.runsInFlight === 0;
    if (isIdle && wasIdle && process.memoryUsage.rss() > settledBytes + WORTH_BYTES) {
      gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      settledBytes = process.memoryUsage.rss();
    }
    wasIdle = isIdle;
  }, everyMs).unref();
}
