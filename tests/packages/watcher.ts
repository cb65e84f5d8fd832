import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server to which programs report their steps. Each step waits for the response. */
export interface Watcher {
  readonly origin: string;
  /** The requested paths, in order. */
  readonly asked: readonly string[];
  /** Paths that get no response. */
  held: ReadonlySet<string>;
  /** Resolves when all of these were requested since this call. */
  seen(paths: readonly string[]): Promise<void>;
  stop(): void;
}

/** Starts a watcher on a free port. */
export async function startWatcher(): Promise<Watcher> {
  const asked: string[] = [];
  const listeners = new Set<() => void>();
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (!watcher.held.has(url)) response.end();
    for (const listener of listeners) listener();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const watcher: Watcher = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    held: new Set(),
    seen(paths) {
      const from = asked.length;
      return new Promise((resolve) => {
        listeners.add(() => {
          if (paths.every((path) => asked.includes(path, from))) resolve();
        });
      });
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
  return watcher;
}
