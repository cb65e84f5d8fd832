import { constants } from 'node:os';
import type { NodeServer } from './serve.ts';

/** The signals that shut the server down. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Shuts the server down at the first SIGTERM or SIGINT, then calls `onDone`. A second signal ends the process immediately, even if it is
 * the first process of a container.
 * @param onStart called at the first signal, before the server begins to shut down
 */
export function shutDownOnSignal(
  server: NodeServer,
  onDone: () => void,
  onStart?: (signal: NodeJS.Signals) => void,
): void {
  const start = (received: NodeJS.Signals): void => {
    for (const signal of SIGNALS) process.on(signal, endAtOnce).off(signal, start);
    onStart?.(received);
    void server.shutDown().then(onDone);
  };
  for (const signal of SIGNALS) process.on(signal, start);
}

function endAtOnce(received: NodeJS.Signals): void {
  process.off(received, endAtOnce);
  process.kill(process.pid, received);
  // The first process of a container ignores signals without a handler.
  process.exit(128 + constants.signals[received]);
}
