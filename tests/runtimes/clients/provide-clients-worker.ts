import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type DevServer, startDevServer } from '../dev-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address that answers with that of the Worker of `tests/clients`: see `provideClientsWorker`. */
    readonly clientsWorker: string;
  }
}

/**
 * Provides the tests of `tests/clients` with one Worker for all of their files, because each start of wrangler takes three seconds of
 * processor time. The first request for its address starts it, and it ends with the run of vitest. Each file has a user of its own.
 */
export default async function provideClientsWorker(project: TestProject): Promise<() => Promise<void>> {
  const persistTo = mkdtempSync(join(tmpdir(), 'eventloom-clients-'));
  let worker: Promise<DevServer> | undefined;
  const addresses = createServer((_request, response) => {
    worker ??= startDevServer(join(import.meta.dirname, '../../clients'), { persistTo });
    void answer(worker, response);
  });
  await once(addresses.listen(0, '127.0.0.1'), 'listening');
  project.provide('clientsWorker', `http://127.0.0.1:${(addresses.address() as AddressInfo).port}`);
  return async () => {
    addresses.closeAllConnections();
    addresses.close();
    await worker?.then(
      (started) => started.stop(),
      () => undefined, // The tests have reported that it did not start.
    );
    rmSync(persistTo, { recursive: true });
  };
}

async function answer(worker: Promise<DevServer>, response: ServerResponse): Promise<void> {
  try {
    response.end((await worker).origin);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}
