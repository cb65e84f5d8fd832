import type { Event } from '@eventloom/core';
import { createTestDatabase } from '@eventloom/test-postgres';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { endLeases } from './end-leases.ts';
import { fixturePath, type RunningFixture, startFixture } from './run-fixture.ts';

const SESSION = '/apps/app/users/ann/sessions/s';

/** The folder of a bundle, because the program is started several times per test. */
let programs: string;
let program: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'eventloom-unfinished-server-'));
  program = await bundleProgram(fixturePath('unfinished-server'), programs);
});
afterAll(() => rmSync(programs, { recursive: true }));

let folder: string;
const started: RunningFixture[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-unfinished-runs-'));
});
afterEach(async () => {
  for (const { process } of started) process.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

function launch(halt: string, sessions = join(folder, 'sessions.db'), action = 'resume'): RunningFixture {
  const fixture = startFixture(program, [sessions, join(folder, 'ran'), halt, action]);
  started.push(fixture);
  return fixture;
}

/** Starts a server in a separate process. */
async function startServer(halt: string, { sessions, action }: { sessions?: string; action?: string } = {}) {
  const fixture = launch(halt, sessions, action);
  await fixture.untilLine(1);
  const url = fixture.lines[0] ?? '';
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    fixture.process.kill(signal);
    await fixture.ended;
    if (signal === 'SIGKILL') await endLeases(sessions ?? join(folder, 'sessions.db'));
  };
  /** Begins a run, and returns its address. */
  const begin = async (text: string): Promise<{ readonly path: string; readonly response: Response }> => {
    const newMessage = { parts: [{ text }] };
    const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage, streaming: true });
    const response = await fetch(`${url}/run_sse`, { method: 'POST', body });
    return { path: `${SESSION}/runs/${response.headers.get('Eventloom-Invocation-Id')}`, response };
  };
  const history = async (): Promise<Event[]> => {
    const session = (await (await fetch(`${url}${SESSION}`)).json()) as { readonly events: Event[] };
    return session.events;
  };
  return { url, ended: fixture.ended, end, begin, history };
}

const ran = (): string[] =>
  existsSync(join(folder, 'ran')) ? readFileSync(join(folder, 'ran'), 'utf8').trimEnd().split('\n') : [];
const untilRan = (what: string) => expect.poll(ran).toContain(what);

/** Follows a run until this server hosts it, and reads it to its end. */
async function follow(url: string, path: string): Promise<Event[]> {
  let text = '';
  const read = async () => {
    const answer = await fetch(`${url}${path}`);
    text = await answer.text();
    return { status: answer.status, isWhole: !text.includes('RUN_GOES_ON') };
  };
  await expect.poll(read).toEqual({ status: 200, isWhole: true });
  return Array.from(text.matchAll(/^data: (.*)$/gm), ([, json = '']) => JSON.parse(json) as Event);
}

const partsOf = (events: readonly Event[]) =>
  events.flatMap(({ content }) => content?.parts?.map((part) => part.text ?? Object.keys(part)[0]) ?? []);
const CALL = ['functionCall', 'functionResponse'];
const WHOLE = [...CALL, ...CALL, 'all done'];
const errorsOf = (events: readonly Event[]) => events.flatMap(({ errorCode }) => errorCode ?? []);

describe('a server that is killed during a run and started again', () => {
  test.each([
    ['in a tool', 'tool', 'work', ['prepare', 'work', 'work', 'streams']],
    ['in a stream', 'stream', 'streams', ['prepare', 'work', 'streams', 'streams']],
    ['between two commits', 'commit', 'commits', ['prepare', 'work', 'commits', 'streams']],
  ])('%s: resumes it by itself, and it can be followed from its first event', async (_, halt, until, all) => {
    const first = await startServer(halt);
    const { path } = await first.begin('go');
    await untilRan(until);
    await first.end('SIGKILL');
    const second = await startServer('no');
    const events = await follow(second.url, path);
    expect(partsOf(events.filter(({ partial }) => partial !== true))).toEqual(WHOLE);
    expect(partsOf(await second.history())).toEqual(['go', ...WHOLE]);
    expect(ran()).toEqual(all);
    await second.end('SIGTERM');
  });

  test('gives up a run that kills its process at each attempt, with an error event', async () => {
    const first = await startServer('die');
    await first.begin('go').catch(() => undefined);
    await first.ended;
    // The process may have died before it reported the address.
    for (const _attempt of [2, 3]) {
      await endLeases(join(folder, 'sessions.db'));
      await launch('die').ended;
    }
    await endLeases(join(folder, 'sessions.db'));
    const last = await startServer('die');
    await expect.poll(async () => errorsOf(await last.history())).toEqual(['RUN_ABANDONED']);
    const received = (await last.history()).find(({ errorCode }) => errorCode);
    expect(received?.errorMessage).toContain('after attempt 3');
    expect(ran()).toEqual(['prepare', 'work', 'work', 'work']);
    const { response } = await last.begin('and now?');
    expect(await response.text()).toContain('"all done"');
  });

  test('closes the run with onUnfinishedRuns close', async () => {
    const first = await startServer('tool');
    await first.begin('go');
    await untilRan('work');
    await first.end('SIGKILL');
    const second = await startServer('no', { action: 'close' });
    await expect.poll(async () => errorsOf(await second.history())).toEqual(['RUN_ABANDONED']);
    expect(partsOf(await second.history())).toEqual(['go', ...CALL, ...CALL]);
    expect(ran()).toEqual(['prepare', 'work']);
  });

  test('does not resume a run that waits for an answer; the answer resumes it', async () => {
    const first = await startServer('no');
    const { path, response } = await first.begin('wait');
    await response.text();
    await first.end('SIGKILL');
    const second = await startServer('no');
    const newMessage = { parts: [{ functionResponse: { id: 'w1', response: { ready: true } } }] };
    const invocationId = path.split('/').at(-1);
    const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage, invocationId });
    const events = (await (await fetch(`${second.url}/run`, { method: 'POST', body })).json()) as Event[];
    expect(partsOf(events)).toEqual(['answered']);
    expect(new Set((await second.history()).map((event) => event.invocationId)).size).toBe(1);
  });
});

test('a server that is stopped during a run leaves the run open, and the next one continues it immediately', async () => {
  const first = await startServer('tool');
  const { path } = await first.begin('go');
  await untilRan('work');
  await first.end('SIGTERM');
  const second = await startServer('no');
  expect(partsOf((await follow(second.url, path)).filter(({ partial }) => partial !== true))).toEqual(WHOLE);
  expect(ran()).toEqual(['prepare', 'work', 'work', 'streams']);
});

test('one of two remaining servers continues the run of a third, and both can be followed', async () => {
  const database = await createTestDatabase();
  try {
    const sessions = database.url;
    const killed = await startServer('tool', { sessions });
    const [one, two] = [await startServer('no', { sessions }), await startServer('no', { sessions })];
    const { path } = await killed.begin('go');
    await untilRan('work');
    await killed.end('SIGKILL');
    await expect.poll(ran).toContain('streams');
    for (const { url } of [one, two]) {
      const events = await follow(url, path);
      expect(partsOf(events.filter(({ partial }) => partial !== true))).toEqual(WHOLE);
    }
    expect(partsOf(await one.history())).toEqual(['go', ...WHOLE]);
    expect(ran()).toEqual(['prepare', 'work', 'work', 'streams']);
  } finally {
    for (const { process } of started) process.kill('SIGKILL');
    await Promise.all(started.map(({ ended }) => ended));
    await database.drop();
  }
});
