import { spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { HeapWatch } from './heap-watch.ts';

/** The Worker of this folder under `wrangler dev`. */
export interface DevServer {
  readonly origin: string;
  readonly heap: HeapWatch;
  readonly stop: () => Promise<void>;
}

/** Maximum heap of an isolate in MB: a deployed Worker that exceeds it ends, and so does this one. */
const HEAP_MB = 128;

/** @param state the folder of its storage and its temporary files */
export async function startDevServer(state: string): Promise<DevServer> {
  const inspectorPort = await freePort();
  const ports = ['--ip', '127.0.0.1', '--port', '0', '--inspector-port', String(inspectorPort)];
  const child = spawn('wrangler', ['dev', '--local', ...ports, '--persist-to', state], {
    cwd: import.meta.dirname,
    env: {
      ...process.env,
      // A killed wrangler leaves its temporary files behind.
      TMPDIR: state,
      MINIFLARE_WORKERD_V8_FLAGS: `--max-heap-size=${HEAP_MB}`,
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      CI: 'true',
    },
    // Its own process group, because the runtime is a child of a child.
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  try {
    const origin = await new Promise<string>((resolve, reject) => {
      let output = '';
      const read = (chunk: Buffer): void => {
        output += chunk.toString();
        const ready = /Ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
        if (ready !== undefined) resolve(ready);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      void ended.then(() => reject(new TypeError(`wrangler dev ended: ${output}`)));
    });
    return { origin, stop, heap: await HeapWatch.open(`http://127.0.0.1:${inspectorPort}`) };
  } catch (error) {
    await stop();
    throw error;
  }
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
