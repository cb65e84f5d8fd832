import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../runtimes/postgres/free-port.ts';
import { send, useStudio } from './studio-page.ts';

const { visit } = useStudio();
const folders: string[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Starts a process that serves Studio with its sessions in a file. */
async function start(
  file: string,
  port: number,
  answers: 'never' | 'at once',
): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'studio-server.ts'), file, String(port), answers], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, port: Number(line.toString()) };
}

test('the page waits for a server that is killed during an answer, and the restarted one continues the run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-studio-'));
  folders.push(folder);
  const file = join(folder, 'sessions.db');
  const first = await start(file, await freePort(), 'never');
  const { page } = await visit(`http://127.0.0.1:${first.port}/studio/?app=app&user=ann&session=first`);
  await send(page, 'What color?');
  const log = page.getByRole('log');
  await log.getByText('The sky').waitFor();
  await log.getByText('completed').waitFor();
  await kill(first.child);
  await page.getByRole('status').getByText('reconnecting').waitFor();
  await start(file, first.port, 'at once');
  await log.getByText('The sky is blue.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await expect.poll(() => log.getByText('The sky').count()).toBe(1);
  // The tool ran once, because its result was stored before the kill.
  await expect.poll(() => log.getByText('look', { exact: true }).count()).toBe(1);
  await expect.poll(() => log.getByText('What color?').count()).toBe(1);
});

test('a run that the person stops while the server does not answer is stopped when it answers again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-studio-'));
  folders.push(folder);
  const file = join(folder, 'sessions.db');
  const first = await start(file, await freePort(), 'never');
  const { page, errors } = await visit(`http://127.0.0.1:${first.port}/studio/?app=app&user=ann&session=first`);
  await send(page, 'What color?');
  const log = page.getByRole('log');
  await log.getByText('The sky').waitFor();
  await kill(first.child);
  await page.getByRole('status').getByText('reconnecting').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await log.getByRole('alert').getByText('The run is not stopped yet').waitFor();
  await start(file, first.port, 'never');
  await log.getByText('Stopped').waitFor();
  await log.getByRole('alert').waitFor({ state: 'detached' });
  // The browser itself reports lost connections, and answers of a server that is starting.
  expect(errors.filter((error) => !error.startsWith('Failed to load resource'))).toEqual([]);
});
