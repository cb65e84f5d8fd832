import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Event } from '@eventloom/core';
import { build } from 'esbuild';
import type { AgentStep } from './attacked-agent.ts';
import type { AttackedServer } from './attacked-server.ts';
import { APP_NAMES, type BackEnd, fillingAttacks, LEASE_MS, type StartOptions } from './back-ends.ts';
import type { StoredSession } from './find-faults.ts';

const RUNTIME = join(dirname(createRequire(import.meta.url).resolve('workerd/package.json')), 'bin/workerd');
/**
 * Runs `$0` with its arguments, and kills the whole process group when standard input ends, because the attacking
 * program has ended.
 */
const KEEPER = 'exec 4<&0; "$0" "$@" </dev/null & runtime=$!; (read -r _ <&4; kill -9 0) & wait $runtime';
/** Matches the lines in which the runtime reports unhandled errors. */
const UNCAUGHT = /uncaught|unhandled/i;
/** Matches the lines in which the runtime itself reports that it resets an object because the disk is full. */
const RESET = /SQLITE_FULL|internal error; reference = /;

/** Bundles the Worker for workerd into `folder`, as wrangler does. Returns the path of the file. */
export async function bundleWorker(folder: string): Promise<string> {
  const outfile = join(folder, 'attacked-worker.js');
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
  return outfile;
}

/**
 * Durable Objects that are stored in a folder, served by workerd: one server at a time. `wrangler dev`, which runs the same workerd, takes
 * eight times as long to start.
 *
 * @param worker the bundle of the Worker
 * @param users users whose sessions are read at the end, because Durable Objects cannot be listed
 * @param disk a folder for the Durable Objects on a separate small file system, which can be filled. Without one, the
 * store cannot be blocked
 */
export async function startWorkerBackEnd(
  worker: string,
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
    name: 'durable-objects',
    attacks: disk === undefined ? {} : fillingAttacks(disk),
    async start(options = {}) {
      const server = await startRuntime(worker, disk ?? folder, watcherUrl, options, disk !== undefined);
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

/** Returns the configuration of workerd for the Worker, whose Durable Objects are stored in a folder. */
function runtimeConfig(worker: string, folder: string, vars: Readonly<Record<string, string | number>>): string {
  const text = (value: string | number): string => JSON.stringify(String(value));
  const values = Object.entries(vars).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed ${text(basename(worker))})],
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

async function startRuntime(
  worker: string,
  folder: string,
  watcher: string,
  options: StartOptions,
  mayBeFull: boolean,
): Promise<AttackedServer> {
  const { paceMs = 5, slowMs = 60, dieAt = 0, leaseMs = LEASE_MS, webhooksTo = 'http://127.0.0.1:9' } = options;
  const vars = { WATCHER: watcher, PACE_MS: paceMs, SLOW_MS: slowMs, LEASE_MS: leaseMs, WEBHOOKS_TO: webhooksTo };
  // Next to the bundle, which it embeds by a relative path.
  const config = join(dirname(worker), `${crypto.randomUUID()}.capnp`);
  const objects = join(folder, 'objects');
  mkdirSync(objects, { recursive: true });
  writeFileSync(config, runtimeConfig(worker, objects, vars));
  // Its own process group: the runtime is a child of a child, and must be killed with it. It names its port on the fourth pipe.
  const child = spawn('/bin/sh', ['-c', KEEPER, RUNTIME, 'serve', '--experimental', '--control-fd=3', config], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  let hasEnded = false;
  let isWanted = dieAt > 0;
  let surprise: string | undefined;
  const ended = once(child, 'exit').then(() => {
    hasEnded = true;
    if (!isWanted) surprise = `workerd ended by itself: ${output}`;
  });
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    let events = '';
    (child.stdio[3] as Readable).on('data', (chunk: Buffer) => {
      events += chunk.toString();
      const port = /"event":"listen","socket":"http","port":(\d+)/.exec(events)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    void ended.then(() => reject(new Error(`workerd did not start: ${output}`)));
  });
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
