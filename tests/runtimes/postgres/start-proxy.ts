import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';

/** A proxy to a server whose connections can be cut. */
export interface Proxy {
  /** The given URL, through this proxy. */
  readonly url: string;
  /** Cuts every connection and refuses new ones, like a stopped server. */
  stop(): void;
  /** Forwards nothing, like a frozen server: data waits, and so do new connections. */
  freeze(): void;
  /** Forwards everything again. */
  resume(): void;
  /** Forwards one more statement with this text, and cuts its connection when the server has answered it. Resolves then. */
  loseAnswerTo(text: string): Promise<void>;
  close(): Promise<void>;
}

/** The end of an answer of PostgreSQL outside of a transaction: the server is ready for the next query. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Opens a proxy to the server of a URL, on a free port of 127.0.0.1. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let state: 'open' | 'frozen' | 'stopped' = 'open';
  let lost: { readonly text: string; readonly resolve: () => void } | undefined;

  const pass = (from: Socket, to: Socket, onData: (data: Buffer) => boolean): void => {
    sockets.add(from);
    if (state === 'frozen') from.pause();
    from.on('data', (data: Buffer) => {
      if (onData(data)) to.write(data);
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((client) => {
    if (state === 'stopped') return void client.destroy();
    const upstream = connect(Number(port), hostname);
    let losing: (() => void) | undefined;
    pass(client, upstream, (data) => {
      if (lost && data.includes(lost.text)) {
        losing = lost.resolve;
        lost = undefined;
      }
      return true;
    });
    pass(upstream, client, (data) => {
      if (!losing) return true;
      if (data.subarray(-READY.length).equals(READY)) {
        client.destroy();
        losing();
      }
      return false;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port of 127.0.0.1 is free');
  const url = new URL(target);
  url.port = String(address.port);
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    stop() {
      state = 'stopped';
      cut();
    },
    freeze() {
      state = 'frozen';
      for (const socket of sockets) socket.pause();
    },
    resume() {
      state = 'open';
      for (const socket of sockets) socket.resume();
    },
    loseAnswerTo: (text) => new Promise((resolve) => void (lost = { text, resolve })),
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
