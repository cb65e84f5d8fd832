import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports below those that systems choose from for port 0 and for connections, so that nobody gets one by chance between two uses. */
const [FIRST, COUNT] = [20_000, 12_000];

/** Returns a port of 127.0.0.1 for a server that is started later, or started again. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
