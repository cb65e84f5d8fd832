import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../runtimes/dev-server.ts';
import { keepPicture, root, useStudio } from './studio-page.ts';

const { visit } = useStudio();
let server: DevServer;
let state = '';
beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'eventloom-studio-worker-'));
  server = await startDevServer(join(root, 'apps/edge-worker'), { persistTo: state });
});
afterAll(async () => {
  await server.stop();
  rmSync(state, { recursive: true });
});

test('the root of the Worker leads to Studio, with prompts that need no key: a tool, a transfer with an approval, a file', async () => {
  const { page, errors } = await visit(server.origin);
  const log = page.getByRole('log');
  expect(new URL(page.url()).pathname).toBe('/studio/');
  await page.getByRole('button', { name: 'Roll the die.' }).click();
  await log.getByText('The die shows').waitFor();
  await page.getByRole('button', { name: 'Pay out what I won.' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await log.getByText('euros are paid out.').waitFor();
  await expect.poll(() => log.getByText('cashier').count()).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Save my rolls as a file.' }).click();
  await log.getByText('version 0').first().waitFor();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  await page.getByRole('tabpanel').getByRole('button', { name: 'rolls.txt' }).waitFor();
  await keepPicture(page, 'worker');
  await page.getByRole('tab', { name: 'Trace' }).click();
  await page.locator('.waterfall .span-name').getByText('save_rolls').waitFor();
  expect(await page.getByText('Made from the events').count()).toBe(0);
  // The Worker lost its memory: all data is in the user's object.
  await page.reload();
  await log.getByText('euros are paid out.').waitFor();
  expect(errors).toEqual([]);
});
