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

/** Runs a program of the fixtures; kills it with SIGKILL when `until` says so of what it wrote. */
async function runFixture(name: string, args: string[], until?: (output: string) => boolean): Promise<string> {
  const program = fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let faults = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (until?.(output)) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (faults += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(faults).toBe('');
  expect(code).toBe(until ? null : 0);
  return output;
}

test('kill -9 in a stream of appends leaves every acknowledged event, in order, with its state, and nothing else', async () => {
  const path = join(folder, 'sessions.db');
  let stored = 0;
  for (const more of [150, 40, 300]) {
    const output = await runFixture('appending-process', [path], (text) => text.split('\n').length > more);
    const acknowledged = output.split('\n').filter(Boolean).map(Number);
    expect(acknowledged[0]).toBe(stored);
    const last = acknowledged.at(-1) ?? -1;
    const service = new SqliteSessionService({ path });
    const session = await service.getSession(KEY);
    stored = session?.lastSeq ?? 0;
    // The process may have been killed between the write and the acknowledgement, once.
    expect([last + 1, last + 2]).toContain(stored);
    expect(session?.events.map(({ id }) => id)).toEqual(Array.from({ length: stored }, (_, index) => `event ${index}`));
    for (const [index, { content }] of session?.events.entries() ?? []) {
      expect(content?.parts?.[0]?.text?.length).toBe((index * 37) % 3000);
    }
    const number = stored - 1 - (stored % 3 === 0 ? 1 : 0);
    expect({ ...session?.state }).toEqual({ number, 'user:number': number, 'app:number': number });
    service.close();
  }
}, 60_000);

test('two processes at the same sessions lose nothing, double nothing and are never interleaved', async () => {
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
}, 60_000);
