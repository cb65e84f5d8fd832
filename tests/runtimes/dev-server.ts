import { join } from 'node:path';
import { spawnWrangler } from './spawn-wrangler.ts';

/** A server that `wrangler dev` runs. */
export interface DevServer {
  readonly origin: string;
  /** Kills the server, unless it has ended. */
  stop(): Promise<void>;
}

/** Options of `wrangler dev`. */
export interface DevServerOptions {
  /** Default: that of the configuration. */
  readonly entry?: string;
  /** Default: a free one. */
  readonly port?: number;
  readonly vars?: Readonly<Record<string, string>>;
  /** The folder of the storage. Default: one in the project. */
  readonly persistTo?: string;
}

/** Starts `wrangler dev` on a free port, and resolves when it answers. */
export async function startDevServer(
  project: string,
  { entry, port = 0, vars = {}, persistTo }: DevServerOptions = {},
): Promise<DevServer> {
  // For another entry, wrangler reads the configuration next to that entry; without this there are no bindings.
  const args = ['dev', ...(entry === undefined ? [] : [entry, '--config', join(project, 'wrangler.jsonc')])];
  args.push('--local', '--ip', '127.0.0.1', '--port', String(port));
  args.push('--inspector-port', '0');
  if (persistTo !== undefined) args.push('--persist-to', persistTo);
  for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}:${value}`);
  const child = spawnWrangler(['wrangler', ...args], { cwd: project });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (child.pid !== undefined && isRunning) process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  let output = '';
  const origin = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const ready = /Ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
      if (ready !== undefined) resolve(ready);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    void ended.then(() => reject(new TypeError(`wrangler dev ended before it was ready: ${output}`)));
  });
  return { origin, stop };
}
