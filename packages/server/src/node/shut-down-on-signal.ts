import type { NodeServer } from './serve.ts';

/** What ends a server. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Shuts the server down at the first SIGTERM or SIGINT, and calls `onDone` when that is done. A second signal ends the process
 * at once, as it would have without this.
 */
export function shutDownOnSignal(server: NodeServer, onDone: () => void): void {
  const begin = (): void => {
    for (const signal of SIGNALS) process.off(signal, begin);
    void server.shutDown().then(onDone);
  };
  for (const signal of SIGNALS) process.on(signal, begin);
}
