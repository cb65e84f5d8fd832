import { EventloomError, ShuttingDownError } from '@eventloom/core';
import { errorStatus } from './error-status.ts';

/** Reports the failures that are the server's own and that nobody meant, each once: a run's failure is also the answer to its request. */
export function createReporter(
  onError: (error: unknown) => void = (error) => console.error(error),
): (error: unknown) => void {
  const reported = new WeakSet<object>();
  return (error) => {
    if (EventloomError.isInstance(error) && (errorStatus(error.code) < 500 || ShuttingDownError.isInstance(error)))
      return;
    if (typeof error === 'object' && error !== null) {
      if (reported.has(error)) return;
      reported.add(error);
    }
    onError(error);
  };
}
