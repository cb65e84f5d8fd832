import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Event } from '@eventloom/core';
import type { AgentStep } from './attacked-agent.ts';
import type { AttackedServer } from './attacked-server.ts';
import { APP_NAMES, type BackEnd, fillingAttacks, LEASE_MS, type StartOptions } from './back-ends.ts';
import type { StoredSession } from './find-faults.ts';

const CONFIG = fileURLToPath(new URL('wrangler.jsonc', import.meta.url));
const ENVIRONMENT = { WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', CI: 'true' };
/**
 * Runs `$0` with its arguments, and kills the whole process group when standard input ends, because the attacking
 * program has ended.
 */
const KEEPER = 'exec 3<&0; "$0" "$@" </dev/null & wrangler=$!; (read -r _ <&3; kill -9 0) & wait $wrangler';
/** Matches the lines in which `wrangler dev` reports unhandled errors. */
const UNCAUGHT = /uncaught|unhandled/i;
/** Matches the lines in which the runtime itself reports that it resets an object because the disk is full. */
const RESET = /SQLITE_FULL|internal error; reference = /;

/**
 * Durable Objects that are stored in a folder, served by `wrangler dev`: one server at a time.
 *
 * @param users users whose sessions are read at the end, because Durable Objects cannot be listed
 * @param disk a folder for the Durable Objects on a separate small file system, which can be filled. Without one, the
 * store cannot be blocked
 */
export async function startWorkerBackEnd(folder: string, users: readonly string[], disk?: string): Promise<BackEnd> {
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
      const server = await startWrangler(disk ?? folder, watcherUrl, options, disk !== undefined);
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

async function startWrangler(
  folder: string,
  watcher: string,
  options: StartOptions,
  mayBeFull: boolean,
): Promise<AttackedServer> {
  const { paceMs = 5, slowMs = 60, dieAt = 0, leaseMs = LEASE_MS, webhooksTo = 'http://127.0.0.1:9' } = options;
  const vars = { WATCHER: watcher, PACE_MS: paceMs, SLOW_MS: slowMs, LEASE_MS: leaseMs, WEBHOOKS_TO: webhooksTo };
  const args = ['dev', '--config', CONFIG, '--local', '--persist-to', folder, '--ip', '127.0.0.1'];
  args.push('--port', '0', '--inspector-port', '0');
  for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}:${value}`);
  // Its own process group: the runtime is a child of a child, and must be killed with it.
  const env = { ...process.env, ...ENVIRONMENT };
  const child = spawn('/bin/sh', ['-c', KEEPER, 'wrangler', ...args], { env, detached: true });
  let output = '';
  let hasEnded = false;
  let isWanted = dieAt > 0;
  let surprise: string | undefined;
  const ended = once(child, 'exit').then(() => {
    hasEnded = true;
    if (!isWanted) surprise = `wrangler dev ended by itself: ${output}`;
  });
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const ready = /Ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
      if (ready !== undefined) resolve(ready);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then(() => reject(new Error(`wrangler dev did not start: ${output}`)));
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
