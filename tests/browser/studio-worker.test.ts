import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../runtimes/dev-server.ts';
import { keepPicture, root, send, useStudio } from './studio-page.ts';

const { visit } = useStudio();
let server: DevServer;
let state = '';
const EDGE = join(root, 'apps/edge-worker');
beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'eventloom-studio-worker-'));
  server = await startDevServer(EDGE, { persistTo: state });
}, 120_000);
afterAll(async () => {
  await server.stop();
  rmSync(state, { recursive: true });
});

test('the Worker opens on Studio, with prompts that need no key: a tool, a hand-over with an approval, a file', async () => {
  const { page, errors } = await visit(server.origin);
  const log = page.getByRole('log');
  expect(new URL(page.url()).pathname).toBe('/studio/');
  await page.getByRole('button', { name: 'Roll the die.' }).click();
  await log.getByText('The die shows').waitFor();
  await page.getByRole('button', { name: 'Pay out what I won.' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await log.getByText('euros are paid out.').waitFor();
  expect(await log.getByText('cashier').count()).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Save my rolls as a file.' }).click();
  await log.getByText('version 0').waitFor();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  await page.getByRole('button', { name: 'rolls.txt' }).waitFor();
  await keepPicture(page, 'worker');
  await page.getByRole('tab', { name: 'Trace' }).click();
  await page.locator('.waterfall .span-label').getByText('save_rolls').waitFor();
  expect(await page.getByText('Made from the events').count()).toBe(0);
  // The Worker lost its memory: everything is in the user's object.
  await page.reload();
  await log.getByText('euros are paid out.').waitFor();
  expect(errors).toEqual([]);
});

test('of two runs that a killed Worker left, one is taken up to its end and one is closed', async () => {
  const persistTo = mkdtempSync(join(tmpdir(), 'eventloom-lost-runs-'));
  const entry = join(import.meta.dirname, 'lost-runs-worker.ts');
  const servers = [await startDevServer(EDGE, { entry, persistTo, vars: { HANGS: 'true' } })];
  try {
    const at = (session: string) => `${servers.at(-1)?.origin}/studio/?app=app&user=ann&session=${session}`;
    for (const session of ['first', 'second']) {
      const { page } = await visit(at(session));
      await send(page, 'What color?');
      await page.getByRole('log').getByText('The sky').waitFor();
      await page.close();
    }
    await servers[0]?.stop();
    servers.push(await startDevServer(EDGE, { entry, persistTo }));
    const { page, errors } = await visit(at('third'));
    await page.getByRole('tab', { name: 'Runs' }).click();
    // Their leases end.
    const lost = page.getByText('unfinished, can be resumed');
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Read again' }).click();
          return lost.count();
        },
        { timeout: 20_000 },
      )
      .toBe(2);
    await keepPicture(page, 'worker-lost-runs');
    const runs = page.locator('.open-run');
    await runs.filter({ hasText: 'second' }).getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => runs.count()).toBe(1);
    await runs.filter({ hasText: 'first' }).getByRole('button', { name: 'Take up' }).click();
    await page.getByRole('log').getByText('The sky is blue.').waitFor();
    expect(await page.getByRole('log').getByText('What color?').count()).toBe(1);
    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByText('None, in no session of this user.').waitFor();
    expect(errors).toEqual([]);
  } finally {
    for (const each of servers) await each.stop();
    rmSync(persistTo, { recursive: true });
  }
}, 180_000);
