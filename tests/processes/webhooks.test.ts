import { createTestDatabase } from '@eventloom/test-postgres';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { endLeases } from './end-leases.ts';
import { fixturePath, type RunningFixture, startFixture } from './run-fixture.ts';

/** The folder of a bundle, because the program is started several times per test. */
let programs: string;
let program: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'eventloom-unfinished-server-'));
  program = await bundleProgram(fixturePath('unfinished-server'), programs);
});
afterAll(() => rmSync(programs, { recursive: true }));

let folder: string;
let receiver: Server;
let origin: string;
let status: number;
/** The id and the body of each message. */
const messages: { readonly id: unknown; readonly body: string }[] = [];
const started: RunningFixture[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-webhooks-'));
  status = 200;
  messages.length = 0;
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => (body += String(data)));
    request.on('end', () => {
      messages.push({ id: request.headers['webhook-id'], body });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const { process } of started) process.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ ended }) => ended));
  receiver.closeAllConnections();
  receiver.close();
  rmSync(folder, { recursive: true });
});

async function startServer(sessions: string, halt: string) {
  const fixture = startFixture(program, [sessions, join(folder, 'ran'), halt, 'resume', origin]);
  started.push(fixture);
  await fixture.untilLine(1);
  return {
    async begin(): Promise<string> {
      const body = JSON.stringify({ newMessage: { parts: [{ text: 'go' }] }, webhook: { url: `${origin}/ends` } });
      const address = `${fixture.lines[0]}/apps/app/users/ann/sessions/s/runs`;
      const response = await fetch(address, { method: 'POST', body });
      expect(response.status).toBe(202);
      return ((await response.json()) as { invocationId: string }).invocationId;
    },
    async kill(): Promise<void> {
      fixture.process.kill('SIGKILL');
      await fixture.ended;
      await endLeases(sessions);
    },
  };
}

const hasRun = (what: string) =>
  existsSync(join(folder, 'ran')) && readFileSync(join(folder, 'ran'), 'utf8').includes(what);

describe.each(['SQLite', 'PostgreSQL'])('on %s', (backEnd) => {
  let sessions: string;
  let drop = async (): Promise<void> => undefined;
  beforeEach(async () => {
    sessions = join(folder, 'sessions.db');
    if (backEnd === 'SQLite') return;
    const database = await createTestDatabase();
    sessions = database.url;
    drop = async () => {
      for (const { process } of started) process.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await database.drop();
    };
  });
  afterEach(() => drop());

  test('the webhook of a run is sent by the process that continues it after a kill', async () => {
    const first = await startServer(sessions, 'tool');
    const invocationId = await first.begin();
    await expect.poll(() => hasRun('work')).toBe(true);
    await first.kill();
    await startServer(sessions, 'no');
    await expect.poll(() => messages.length).toBeGreaterThan(0);
    expect(messages.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      expect.objectContaining({
        type: 'run.completed',
        data: {
          appName: 'app',
          userId: 'ann',
          sessionId: 's',
          invocationId,
          state: 'completed',
          output: expect.any(String),
        },
      }),
    ]);
  });

  test('a webhook that was refused before a kill is sent again by the next process', async () => {
    status = 503;
    const first = await startServer(sessions, 'no');
    await first.begin();
    await expect.poll(() => messages.length).toBeGreaterThan(0);
    await first.kill();
    status = 200;
    await startServer(sessions, 'no');
    await expect.poll(() => messages.length).toBeGreaterThan(1);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(1);
  });
});
