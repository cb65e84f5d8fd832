import { constants } from 'node:os';

const END_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Ends the process at a signal, until `stopEndingEarly`. The first process of a container ignores signals without a
 * handler, so they have one from the first line of the program on.
 */
export function endEarlyAtSignals(): void {
  for (const signal of END_SIGNALS) process.on(signal, endEarly);
}

/** Leaves signals to the handlers of a server that is ready. */
export function stopEndingEarly(): void {
  for (const signal of END_SIGNALS) process.off(signal, endEarly);
}

function endEarly(signal: NodeJS.Signals): never {
  process.exit(128 + constants.signals[signal]);
}
