import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { SeededRandom } from './seeded-random.ts';

/** A proxy in front of a server that cuts connections. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** Number of connections that it cut. */
  readonly cuts: number;
}

/**
 * Starts a proxy that forwards bytes, and cuts each connection after a random one of the first `maxBytes` bytes from
 * the server.
 */
export async function startCuttingProxy(target: string, random: SeededRandom, maxBytes: number): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let left = random.between(1, maxBytes);
    const cut = (): void => {
      for (const socket of [client, upstream]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut).on('close', cut);
    }
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      if (left <= 0) return;
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left > 0) return;
      cuts++;
      client.end(cut);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
