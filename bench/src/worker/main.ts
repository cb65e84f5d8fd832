import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevServer } from './dev-server.ts';

/*
 * What a session of 100,000 events, and one of 8 events of 10 MB, takes of the memory of a Durable Object, in workerd under `wrangler dev`: the heap of the isolate, garbage
 * included, at the highest while a request was answered that an object answers first. The objects and the Worker are in one isolate.
 */
const EVENTS = 100_000;
const BATCH = 2000;
const LARGE_EVENTS = 8;
const LARGE_CHARS = 10_000_000;

type Ask = (path: string, method?: string, body?: object) => Promise<void>;

const session = (app: string): string => `/apps/${app}/users/ann/sessions/s`;
const say = (ask: Ask, appName: string, text: string): Promise<void> =>
  ask('/run_sse', 'POST', { appName, userId: 'ann', sessionId: 's', newMessage: { role: 'user', parts: [{ text }] } });

const REQUESTS: Readonly<Record<string, (ask: Ask) => Promise<void>>> = {
  'the list of sessions': (ask) => ask('/apps/window/users/ann/sessions'),
  'GET the session': (ask) => ask(session('window')),
  'GET 1,000 of its events': (ask) => ask(`${session('window')}/events?limit=1000`),
  'PATCH its state': (ask) => ask(session('window'), 'PATCH', { stateDelta: { key: 1 } }),
  'a run that reads 200 events': (ask) => say(ask, 'window', 'hi'),
  'a run that reads all events': (ask) => say(ask, 'whole', 'hi'),
  'GET the session of 8 large events': (ask) => ask(session('large')),
  'GET its events': (ask) => ask(`${session('large')}/events`),
  'PATCH the state of that session': (ask) => ask(session('large'), 'PATCH', { stateDelta: { key: 1 } }),
  'a run that reads all large events': (ask) => say(ask, 'large', 'hi'),
  'a run that says 16 MB': (ask) => say(ask, 'window', '1 16000000'),
};

const state = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
try {
  for (const app of ['window', 'whole']) {
    await onServer(async (ask) => {
      await ask(session(app), 'POST', {});
      // A user message and a last answer with each.
      for (let count = 0; count < EVENTS; count += BATCH) await say(ask, app, String(BATCH - 2));
    });
  }
  await onServer(async (ask) => {
    await ask(session('large'), 'POST', {});
    for (let count = 0; count < LARGE_EVENTS; count++) await say(ask, 'large', `1 ${LARGE_CHARS}`);
  });
  for (const [name, request] of Object.entries(REQUESTS)) {
    const highest = await onServer(request);
    console.log(`${name}: ${(highest / 1e6).toFixed(1)} MB`);
  }
} finally {
  rmSync(state, { recursive: true, force: true, maxRetries: 5 });
}

/** Does work on a server that has just started. @returns the highest that its heap was */
async function onServer(work: (ask: Ask) => Promise<void>): Promise<number> {
  const { origin, heap, stop } = await startDevServer(state);
  const ask: Ask = async (path, method = 'GET', body) => {
    const response = await fetch(`${origin}${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new TypeError(`${response.status}: ${await response.text()}`);
    for await (const _chunk of response.body ?? []);
  };
  try {
    return await heap.highest(() => work(ask));
  } finally {
    heap.close();
    await stop();
  }
}
