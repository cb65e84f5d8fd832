import { RunAbortedError, toError } from '../errors.ts';
import type { Platform } from './platform.ts';

/** For what goes wrong when the outcome of the work is settled already: the platform's to report. */
export function reportTo(platform: Platform, error: unknown): void {
  platform.background(Promise.reject(toError(error)));
}

/** The same for work that was stopped: that it says so is no news. */
export function reportUnlessStopped(platform: Platform, error: unknown): void {
  if (!RunAbortedError.isInstance(error) && toError(error).name !== 'AbortError') reportTo(platform, error);
}
