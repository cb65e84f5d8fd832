import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeapWatch } from './heap-watch.ts';

/*
 * What a session of 100,000 events takes of the memory of a Durable Object, in workerd under `wrangler dev`: the heap of the isolate, garbage
 * included, at the highest while a request was answered. All objects are in one isolate with the Worker.
 */
const EVENTS = 100_000;
const BATCH = 2000;
const BODY = { userId: 'ann', sessionId: 's' };

const state = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
const inspectorPort = await freePort();
const child = spawn(
  'wrangler',
  [
    'dev',
    '--local',
    '--ip',
    '127.0.0.1',
    '--port',
    '0',
    '--inspector-port',
    String(inspectorPort),
    '--persist-to',
    state,
  ],
  {
    cwd: import.meta.dirname,
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', CI: 'true' },
    // A group of its own: the runtime is a child of a child.
    detached: true,
  },
);
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
    child.once('exit', () => reject(new TypeError(`wrangler dev ended: ${output}`)));
  });
  const session = (app: string): string => `${origin}/apps/${app}/users/ann/sessions/s`;
  const say = async (app: string, text: string): Promise<void> => {
    const body = JSON.stringify({ ...BODY, appName: app, newMessage: { role: 'user', parts: [{ text }] } });
    await drain(await fetch(`${origin}/run_sse`, { method: 'POST', body }));
  };
  const heap = await HeapWatch.open(`http://127.0.0.1:${inspectorPort}`);
  for (const app of ['window', 'whole']) {
    await drain(await fetch(session(app), { method: 'POST', body: '{}' }));
    const first = await heap.used();
    console.log(`${app}: ${megabytes(first)} MB with an empty session`);
    // The events of a run are kept for its readers: in batches these are few.
    for (let count = 0; count < EVENTS; count += BATCH) {
      const t = Date.now();
      await say(app, String(BATCH - 2));
      console.error(count, Date.now() - t, await heap.used());
    }
    await report(heap, 'after they were written');
    await report(heap, 'GET the session', async () => drain(await fetch(session(app))));
    await report(heap, 'GET 1,000 of its events', async () => drain(await fetch(`${session(app)}/events?limit=1000`)));
    const patch = { method: 'PATCH', body: JSON.stringify({ stateDelta: { key: 1 } }) };
    await report(heap, 'PATCH its state', async () => drain(await fetch(session(app), patch)));
    await report(heap, 'a run', () => say(app, 'hi'));
  }
  heap.close();
} finally {
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  rmSync(state, { recursive: true, force: true, maxRetries: 5 });
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

async function report(heap: HeapWatch, what: string, work?: () => Promise<void>): Promise<void> {
  const highest = work && (await heap.highest(work));
  const peak = highest === undefined ? '' : `highest ${megabytes(highest)} MB, `;
  console.log(`  ${what}: ${peak}then ${megabytes(await heap.used())} MB`);
}

async function drain(response: Response): Promise<void> {
  if (!response.ok) throw new TypeError(`${response.status}: ${await response.text()}`);
  for await (const _chunk of response.body ?? []);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
