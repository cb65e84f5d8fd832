import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevServer } from './dev-server.ts';

/*
 * Measures the memory that sessions need in a Durable Object, in workerd under `wrangler dev`: one of 100,000 events,
 * one of 8 events of 10 MB, and two with maximum state. The isolate, which runs the objects and the Worker, has a heap
 * of 128 MB, and ends if that is not enough; then this program fails. The figure is the maximum heap, including
 * garbage, during the first request that an object answers. Words on the command line select requests by parts of
 * their names; only these run, on the sessions that they need.
 */
const EVENTS = 100_000;
const BATCH = 2000;
/** Maximum duration of a request on a busy machine, in milliseconds. */
const MAX_MS = 60_000;
const LARGE_EVENTS = 8;
const LARGE_CHARS = 10_000_000;

/** State at the limits: a session's own state in one value, or in several; a user's and an app's in two. */
const STATES: Readonly<Record<string, readonly object[]>> = {
  state: [
    { own: 'x'.repeat(16_700_000) },
    { 'user:a': 'x'.repeat(1_900_000), 'user:b': 'x'.repeat(1_900_000) },
    { 'app:a': 'x'.repeat(1_900_000), 'app:b': 'x'.repeat(1_900_000) },
  ],
  // Texts with a character that makes each character take two bytes in memory.
  wide: [
    ...Array.from({ length: 8 }, (_, index) => ({ [`own${index}`]: `名${'x'.repeat(1_900_000)}` })),
    { 'user:a': `名${'x'.repeat(1_900_000)}`, 'user:b': `名${'x'.repeat(1_900_000)}` },
    { 'app:a': `名${'x'.repeat(1_900_000)}`, 'app:b': `名${'x'.repeat(1_900_000)}` },
  ],
};

type Ask = (path: string, method?: string, body?: object) => Promise<void>;

const session = (app: string): string => `/apps/${app}/users/ann/sessions/s`;
const say = (ask: Ask, appName: string, text: string): Promise<void> =>
  ask('/run_sse', 'POST', { appName, userId: 'ann', sessionId: 's', newMessage: { role: 'user', parts: [{ text }] } });

/** Requests by name: the app whose session must exist, and the request. */
const REQUESTS: Readonly<Record<string, readonly [app: string, request: (ask: Ask) => Promise<void>]>> = {
  'the list of sessions': ['window', (ask) => ask('/apps/window/users/ann/sessions')],
  'GET the session': ['window', (ask) => ask(session('window'))],
  'GET 1,000 of its events': ['window', (ask) => ask(`${session('window')}/events?limit=1000`)],
  'PATCH its state': ['window', (ask) => ask(session('window'), 'PATCH', { stateDelta: { key: 1 } })],
  'a run that reads 200 events': ['window', (ask) => say(ask, 'window', 'hi')],
  'a run that reads all events': ['whole', (ask) => say(ask, 'whole', 'hi')],
  'GET the session of 8 large events': ['large', (ask) => ask(session('large'))],
  'GET its events': ['large', (ask) => ask(`${session('large')}/events`)],
  'PATCH the state of that session': ['large', (ask) => ask(session('large'), 'PATCH', { stateDelta: { key: 1 } })],
  'a run that reads all large events': ['large', (ask) => say(ask, 'large', 'hi')],
  'GET the session of a state of 24 MB': ['state', (ask) => ask(session('state'))],
  'PATCH its state of 24 MB': ['state', (ask) => ask(session('state'), 'PATCH', { stateDelta: { key: 1 } })],
  'the list of that state of 24 MB': ['state', (ask) => ask('/apps/state/users/ann/sessions')],
  'a run over that state of 24 MB': ['state', (ask) => say(ask, 'state', 'hi')],
  'PATCH that state by a value of 16 MB': [
    'state',
    (ask) => ask(session('state'), 'PATCH', { stateDelta: { own: 'y'.repeat(16_700_000) } }),
  ],
  'GET the session of a wide state': ['wide', (ask) => ask(session('wide'))],
  'PATCH its wide state': ['wide', (ask) => ask(session('wide'), 'PATCH', { stateDelta: { key: 1 } })],
  'the list of that wide state': ['wide', (ask) => ask('/apps/wide/users/ann/sessions')],
  'a run over that wide state': ['wide', (ask) => say(ask, 'wide', 'hi')],
  'a run that says 16 MB': ['window', (ask) => say(ask, 'window', '1 16000000')],
};

async function fill(ask: Ask, app: string): Promise<void> {
  await ask(session(app), 'POST', {});
  for (const stateDelta of STATES[app] ?? []) await ask(session(app), 'PATCH', { stateDelta });
  if (app === 'large') for (let count = 0; count < LARGE_EVENTS; count++) await say(ask, app, `1 ${LARGE_CHARS}`);
  // Each message of the user has a reply.
  if (app === 'window' || app === 'whole')
    for (let count = 0; count < EVENTS; count += BATCH) await say(ask, app, String(BATCH - 2));
}

const words = process.argv.slice(2);
const wanted = Object.entries(REQUESTS).filter(([name]) => words.every((word) => name.includes(word)));
if (wanted.length === 0) {
  console.error(`no request has ${words.join(' and ')} in its name; there are: ${Object.keys(REQUESTS).join(', ')}`);
  process.exit(2);
}
const state = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
try {
  for (const app of new Set(wanted.map(([, [of]]) => of))) await onServer((ask) => fill(ask, app));
  for (const [name, [, request]] of wanted) {
    try {
      const highest = await onServer(request);
      console.log(`${name}: ${(highest / 1e6).toFixed(1)} MB`);
    } catch (error) {
      process.exitCode = 1;
      console.error(`${name}: failed`, error);
    }
  }
} finally {
  rmSync(state, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Works on a freshly started server.
 *
 * @returns the maximum of its heap
 */
async function onServer(work: (ask: Ask) => Promise<void>): Promise<number> {
  const { origin, heap, stop } = await startDevServer(state);
  const ask: Ask = async (path, method = 'GET', body) => {
    const signal = AbortSignal.timeout(MAX_MS);
    const response = await fetch(`${origin}${path}`, { method, signal, ...(body && { body: JSON.stringify(body) }) });
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
