import type { Platform } from '@eventloom/core';

/** Resolves when the work or the time-out ends, whichever comes first. Rejects if the work rejects before that. */
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
