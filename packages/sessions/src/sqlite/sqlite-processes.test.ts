import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SqliteSessionService } from './sqlite-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'eventloom-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program of the fixtures to its end, or kills it with SIGKILL when `until` returns true for its output. */
async function runFixture(
  name: string,
  args: string[],
  until: (output: string) => boolean = () => false,
): Promise<{ readonly output: string; readonly isKilled: boolean }> {
  const program = fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let faults = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (until(text)) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (faults += text));
  const [code, signal] = await new Promise<unknown[]>((resolve) =>
    child.on('close', (...end: unknown[]) => resolve(end)),
  );
  expect(faults).toBe('');
  expect(signal ?? code).toBe(signal ? 'SIGKILL' : 0);
  return { output, isKilled: signal !== null };
}

const STEPS = ['started', 'appended', 'finished'] as const;

/** Number of completed steps of each kind. */
type Progress = Readonly<Record<(typeof STEPS)[number], number>>;

/** Reads the acknowledged steps of a process that continued where the previous one was killed. */
function readProgress(output: string, before: Progress): Progress {
  const progress = { ...before };
  // An incomplete line acknowledges no step.
  for (const line of output.split('\n').slice(0, -1)) {
    const [step, number] = line.split(' ');
    const name = STEPS.find((known) => known === step);
    if (name) progress[name] = Math.max(progress[name], Number(number) + 1);
  }
  return progress;
}

/** Checks that the stored data is complete, in order, and has nothing else; returns how far it goes. */
async function readStored(path: string): Promise<Progress> {
  const service = new SqliteSessionService({ path });
  const session = await service.getSession(KEY);
  const appended = session?.events.length ?? 0;
  expect(session?.lastSeq ?? 0).toBe(appended);
  for (const [index, event] of session?.events.entries() ?? []) {
    expect(event.id).toBe(`event ${index}`);
    expect(event.content?.parts?.[0]?.text?.length).toBe((index * 37) % 3000);
    expect(event.actions.artifactDelta).toEqual({ 'report.txt': index });
  }
  const number = appended - 1 - (appended % 3 === 0 ? 1 : 0);
  const state = appended === 0 ? {} : { number, 'user:number': number, 'app:number': number };
  expect({ ...session?.state }).toEqual(state);
  const calls = [];
  for (let invocation = 0; invocation <= appended / 10; invocation++) {
    calls.push(...(await service.listToolCalls({ ...KEY, invocationId: `e-${invocation}` })));
  }
  const finished = calls.filter(({ status }) => status === 'finished').length;
  for (const [index, call] of calls.entries()) {
    const end = index < finished ? { status: 'finished', response: { number: index } } : { status: 'started' };
    expect(call).toEqual({
      invocationId: `e-${Math.floor(index / 10)}`,
      entryId: `call ${index}`,
      name: 'tool',
      ...end,
    });
  }
  service.close();
  return { started: calls.length, appended, finished };
}

test('kill -9 at random moments of 3,000 appends leaves exactly the acknowledged events, in order and with their state', async () => {
  const path = join(folder, 'sessions.db');
  const count = 3000;
  let stored: Progress = { started: 0, appended: 0, finished: 0 };
  let kills = 0;
  for (let round = 1; round <= 7; round++) {
    const moment = round === 7 ? Infinity : stored.appended + Math.random() * (count / 8);
    const isReached = (text: string): boolean =>
      [...text.matchAll(/appended (\d+)\n/g)].some(([, number]) => Number(number) >= moment);
    const { output, isKilled } = await runFixture('appending-process', [path, String(count)], isReached);
    if (isKilled) kills++;

    const acknowledged = readProgress(output, stored);
    stored = await readStored(path);
    // The process may have been killed once between a write and its acknowledgement.
    let unacknowledged = 0;
    for (const step of STEPS) {
      expect(stored[step], `${step}, killed from ${moment} on`).toBeGreaterThanOrEqual(acknowledged[step]);
      unacknowledged += stored[step] - acknowledged[step];
    }
    expect(unacknowledged, `killed from ${moment} on`).toBeLessThanOrEqual(1);
  }
  expect(stored).toEqual({ started: count, appended: count, finished: count });
  expect(kills).toBeGreaterThan(1);
});

test('two processes that write the same sessions lose, repeat and interleave no events', async () => {
  const path = join(folder, 'sessions.db');
  const sessionIds = ['one', 'two', 'three'];
  const service = new SqliteSessionService({ path });
  for (const sessionId of sessionIds) await service.createSession({ ...KEY, sessionId });
  const runs = 120;
  await Promise.all(
    ['A', 'B'].map((name) => runFixture('counting-process', [path, name, String(runs), ...sessionIds])),
  );
  const seen: string[] = [];
  for (const sessionId of sessionIds) {
    const session = await service.getSession({ ...KEY, sessionId });
    const ids = session?.events.map(({ id }) => id) ?? [];
    const { count, ...marks } = session?.state ?? {};
    expect(count).toBe(ids.filter((id) => !id.endsWith('outside')).length);
    expect(Object.keys(marks).sort()).toEqual(ids.toSorted());
    for (const [index, id] of ids.entries()) {
      if (id.endsWith('first')) expect(ids[index + 1]).toBe(id.replace('first', 'second'));
    }
    seen.push(...ids);
  }
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.length).toBe(2 * (runs * 2 - runs / 4));
  service.close();
});
