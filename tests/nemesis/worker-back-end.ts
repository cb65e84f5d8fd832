import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Event } from '@eventloom/core';
import { build } from 'esbuild';
import type { AgentStep } from './attacked-agent.ts';
import type { AttackedServer } from './attacked-server.ts';
import { APP_NAMES, type BackEnd, type BackEndName, fillingAttacks, LEASE_MS, type StartOptions } from './back-ends.ts';
import { spawnWrangler } from '../runtimes/spawn-wrangler.ts';
import type { StoredSession } from './find-faults.ts';

const CONFIG = join(import.meta.dirname, 'wrangler.jsonc');
const RUNTIME = join(dirname(createRequire(import.meta.url).resolve('workerd/package.json')), 'bin/workerd');
/** Matches the lines in which the runtime reports unhandled errors. */
const UNCAUGHT = /uncaught|unhandled/i;
/** Matches the lines in which the runtime itself reports that it resets an object because the disk is full. */
const RESET = /SQLITE_FULL|internal error; reference = /;

/** A program that serves the Worker, with Durable Objects that are stored in a folder. */
export interface WorkerHost {
  readonly name: Extract<BackEndName, 'durable-objects' | 'wrangler-dev'>;
  /** Starts the program, which calls `onUrl` when it serves. */
  start(folder: string, vars: Vars, onUrl: (url: string) => void): ChildProcess;
}

type Vars = Readonly<Record<string, string | number>>;

/** Calls back with the first group of a pattern, as soon as a stream of a program has a match. */
function onMatch(streams: readonly unknown[], pattern: RegExp, found: (text: string) => void): void {
  let output = '';
  for (const stream of streams) {
    if (!(stream instanceof Readable)) continue;
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const text = pattern.exec(output)?.[1];
      if (text !== undefined) found(text);
    });
  }
}

/** `wrangler dev`: bundles the Worker at each start, and serves it behind a proxy. */
export const wranglerDev: WorkerHost = {
  name: 'wrangler-dev',
  start(folder, vars, onUrl) {
    const args = ['dev', '--config', CONFIG, '--local', '--persist-to', folder, '--ip', '127.0.0.1'];
    args.push('--port', '0', '--inspector-port', '0');
    for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}:${value}`);
    const child = spawnWrangler(['wrangler', ...args]);
    onMatch([child.stdout, child.stderr], /Ready on (http:\/\/127\.0\.0\.1:\d+)/, onUrl);
    return child;
  },
};

/**
 * Bundles the Worker into a folder. Returns workerd, the runtime of `wrangler dev`, with that bundle: it starts in an
 * eighth of the processor time.
 */
export async function createWorkerd(bundles: string): Promise<WorkerHost> {
  const outfile = join(bundles, 'attacked-worker.js');
  await build({
    entryPoints: [join(import.meta.dirname, 'attacked-worker.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
    logLevel: 'error',
  });
  return {
    name: 'durable-objects',
    start(folder, vars, onUrl) {
      // Next to the bundle, which it embeds by a relative path.
      const config = join(bundles, `${crypto.randomUUID()}.capnp`);
      const objects = join(folder, 'objects');
      mkdirSync(objects, { recursive: true });
      writeFileSync(config, runtimeConfig(basename(outfile), objects, vars));
      // It names its port on the fourth pipe.
      const command = [RUNTIME, 'serve', '--experimental', '--control-fd=3', config];
      const child = spawnWrangler(command, { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
      const listens = /"event":"listen","socket":"http","port":(\d+)/;
      onMatch([child.stdio[3]], listens, (port) => onUrl(`http://127.0.0.1:${port}`));
      return child;
    },
  };
}

/**
 * Durable Objects that are stored in a folder: one server at a time.
 *
 * @param users users whose sessions are read at the end, because Durable Objects cannot be listed
 * @param disk a folder for the Durable Objects on a separate small file system, which can be filled. Without one, the
 * store cannot be blocked
 */
export async function startWorkerBackEnd(
  host: WorkerHost,
  folder: string,
  users: readonly string[],
  disk?: string,
): Promise<BackEnd> {
  const ran: string[] = [];
  let stepsLeft = 0;
  let kill = (): void => undefined;
  const watcher = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const step = JSON.parse(body) as AgentStep;
      if (step.isOnce) ran.push(step.name);
      if (--stepsLeft === 0) kill();
      else response.end();
    });
  });
  watcher.listen(0, '127.0.0.1');
  await once(watcher, 'listening');
  const watcherUrl = `http://127.0.0.1:${(watcher.address() as AddressInfo).port}`;
  return {
    name: host.name,
    attacks: disk === undefined ? {} : fillingAttacks(disk),
    async start(options = {}) {
      const server = await startServer(host, disk ?? folder, watcherUrl, options, disk !== undefined);
      stepsLeft = options.dieAt ?? 0;
      kill = () => void server.signal('SIGKILL');
      return server;
    },
    async readSessions({ url }) {
      const stored: StoredSession[] = [];
      for (const appName of APP_NAMES) {
        for (const userId of users) {
          const sessions = `${url}/apps/${appName}/users/${userId}/sessions`;
          for (const { id: sessionId } of await readJson<{ id: string }[]>(sessions)) {
            const { events } = await readJson<{ events: Event[] }>(`${sessions}/${sessionId}`);
            stored.push({ session: { appName, userId, sessionId }, events, openRuns: [] });
          }
        }
      }
      return stored;
    },
    ran: () => ran,
    async [Symbol.asyncDispose]() {
      watcher.closeAllConnections();
      watcher.close();
      await once(watcher, 'close');
    },
  };
}

async function readJson<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Returns the configuration of workerd for a bundle beside it, whose Durable Objects are stored in a folder. */
function runtimeConfig(worker: string, folder: string, vars: Vars): string {
  const text = (value: string | number): string => JSON.stringify(String(value));
  const values = Object.entries(vars).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed ${text(worker)})],
      compatibilityDate = "2026-11-01",
      bindings = [
        (name = "EVENTLOOM_USERS", durableObjectNamespace = "UserObject"),
        (name = "EVENTLOOM_APPS", durableObjectNamespace = "AppStateObject"),
        ${values.join(',\n        ')},
      ],
      durableObjectNamespaces = [
        (className = "UserObject", uniqueKey = "users", enableSql = true),
        (className = "AppStateObject", uniqueKey = "apps", enableSql = true),
      ],
      durableObjectStorage = (localDisk = "disk"),
      globalOutbound = "network",
    )),
    (name = "disk", disk = (path = ${text(folder)}, writable = true, allowDotfiles = false)),
    (name = "network", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
}

async function startServer(
  host: WorkerHost,
  folder: string,
  watcher: string,
  options: StartOptions,
  mayBeFull: boolean,
): Promise<AttackedServer> {
  const { paceMs = 5, slowMs = 60, dieAt = 0, leaseMs = LEASE_MS, webhooksTo = 'http://127.0.0.1:9' } = options;
  const vars = { WATCHER: watcher, PACE_MS: paceMs, SLOW_MS: slowMs, LEASE_MS: leaseMs, WEBHOOKS_TO: webhooksTo };
  let ready = (_url: string): void => undefined;
  const serving = new Promise<string>((resolve) => (ready = resolve));
  const child = host.start(folder, vars, ready);
  let output = '';
  const read = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  let hasEnded = false;
  let isWanted = dieAt > 0;
  let surprise: string | undefined;
  const ended = once(child, 'exit').then(() => {
    hasEnded = true;
    if (!isWanted) surprise = `${host.name} ended by itself: ${output}`;
  });
  const failed = ended.then(() => {
    throw new Error(`${host.name} did not start: ${output}`);
  });
  // After the start, the end of the server rejects this promise, and nobody waits for it.
  failed.catch(() => undefined);
  const url = await Promise.race([serving, failed]);
  return {
    url,
    get reports() {
      return output.split('\n').filter((line) => line.includes('ERROR'));
    },
    ended,
    get hasEnded() {
      return hasEnded;
    },
    async signal(signal) {
      isWanted = true;
      if (child.pid !== undefined && !hasEnded) process.kill(-child.pid, signal);
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended;
    },
    setRoom: () => undefined,
    faults() {
      const uncaught = output.split('\n').filter((line) => UNCAUGHT.test(line) && !(mayBeFull && RESET.test(line)));
      return [...(surprise === undefined ? [] : [surprise]), ...(uncaught.length > 0 ? [output] : [])];
    },
  };
}
