import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { startDevServer } from '../runtimes/dev-server.ts';
import { keepPicture, root, send, useStudio } from './studio-page.ts';

const { visit } = useStudio();
const EDGE = join(root, 'apps/edge-worker');
/** Functions that stop the servers and delete the folders of a test, called in reverse order. */
const leftovers: (() => unknown)[] = [];
afterEach(async () => {
  for (const remove of leftovers.splice(0).reverse()) await remove();
});

/** A server of Studio whose storage outlives it. */
interface KillableServer {
  readonly origin: string;
  kill(): Promise<void>;
}

/** Starts a server on the storage. `hangs`: the model stops during its answer. */
type Start = (storage: string, hangs: boolean) => Promise<KillableServer>;

const onNode: Start = async (storage, hangs) => {
  const file = join(storage, 'sessions.db');
  const script = join(import.meta.dirname, 'studio-server.ts');
  const child: ChildProcess = spawn(process.execPath, [script, file, '0', hangs ? 'never' : 'at once', 'leave'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  leftovers.push(kill);
  const { stdout } = child;
  const [line] = stdout ? ((await once(stdout, 'data')) as [Buffer]) : expect.unreachable();
  return { origin: `http://127.0.0.1:${Number(line.toString())}`, kill };
};

const onWrangler: Start = async (persistTo, hangs) => {
  const entry = join(import.meta.dirname, 'lost-runs-worker.ts');
  const server = await startDevServer(EDGE, { entry, persistTo, vars: hangs ? { HANGS: 'true' } : {} });
  leftovers.push(() => server.stop());
  return { origin: server.origin, kill: () => server.stop() };
};

async function waitUntilLost(page: Page, count: number): Promise<void> {
  const lost = page.getByText('unfinished, can be resumed');
  // Their leases expire, and the page reads the list at intervals.
  await expect.poll(() => lost.count()).toBe(count);
}

test.each([
  ['Node', 'node', onNode],
  ['wrangler dev', 'worker', onWrangler],
] as const)(
  'one of two runs that a killed server left unfinished is resumed to its end, and the other is closed, on %s',
  async (_, name, start) => {
    const storage = mkdtempSync(join(tmpdir(), 'eventloom-lost-runs-'));
    leftovers.push(() => rmSync(storage, { recursive: true }));
    const first = await start(storage, true);
    for (const session of ['first', 'second']) {
      const { page } = await visit(`${first.origin}/studio/?app=app&user=ann&session=${session}`);
      await send(page, 'What color?');
      await page.getByRole('log').getByText('The sky').waitFor();
      await page.close();
    }
    await first.kill();
    const second = await start(storage, false);
    const { page, errors } = await visit(`${second.origin}/studio/?app=app&user=ann&session=third`);
    await page.getByRole('tab', { name: 'Runs' }).click();
    await waitUntilLost(page, 2);
    await keepPicture(page, `lost-runs-${name}`);
    const runs = page.locator('.open-run');
    await runs.filter({ hasText: 'second' }).getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => runs.count()).toBe(1);
    await runs.filter({ hasText: 'first' }).getByRole('button', { name: 'Take up' }).click();
    await page.getByRole('log').getByText('The sky is blue.').waitFor();
    await expect.poll(() => page.getByRole('log').getByText('What color?').count()).toBe(1);
    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByText('None, in no session of this user.').waitFor();
    expect(errors).toEqual([]);
  },
  180_000,
);
