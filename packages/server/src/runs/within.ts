import type { Platform } from '@eventloom/core';

/** Settles with the work, or after the time-out. Rejects if the work does. */
export async function within(
  timers: Pick<Platform, 'schedule'>,
  work: Promise<unknown>,
  timeoutMs: number,
): Promise<void> {
  const late = Promise.withResolvers<void>();
  const callOff = timers.schedule(timeoutMs, late.resolve);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    callOff();
  }
}
