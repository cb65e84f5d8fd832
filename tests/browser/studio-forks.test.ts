import { readFile } from 'node:fs/promises';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, send, useStudio } from './studio-page.ts';
import { pay, save } from './studio-tools.ts';

const { open } = useStudio();

const spend = new FunctionTool({
  name: 'spend',
  description: 'Spends.',
  execute: (_args, { state }) => {
    state.set('budget', 90);
    state.set('user:spent', 10);
    return { spent: 10 };
  },
});

test('a session is forked where an approval waits, and approved there', async () => {
  const { page, sessionService, errors } = await open([{ calls: [{ name: 'pay' }] }, 'Paid.', 'Paid again.'], {
    tools: [pay],
  });
  await send(page, 'Pay');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('log').getByText('Paid.').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const before = await sessionService.getSession(KEY);
  const asked = before?.events.findIndex(({ longRunningToolIds }) => longRunningToolIds?.length) ?? 0;
  await page.getByRole('slider').press('Home');
  for (let moved = 0; moved < asked; moved++) await page.getByRole('slider').press('ArrowRight');
  await page.getByRole('button', { name: 'Fork here' }).click();
  await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('log').getByText('Paid again.').waitFor();
  expect((await sessionService.getSession(KEY))?.events).toEqual(before?.events);
  expect(errors).toEqual([]);
});

test('a message is part of a fork while its run is in flight', async () => {
  const gate = new Gate();
  const { page, errors } = await open([{ calls: [{ name: 'spend' }] }, { chunks: ['Spent', gate, ' all.'] }], {
    tools: [spend],
  });
  await send(page, 'Spend');
  await page.getByRole('log').getByText('Spent').waitFor();
  await page.getByRole('slider').press('Home');
  await page.getByRole('button', { name: 'Fork here' }).click();
  await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
  await page.getByRole('log').getByText('Spend').waitFor();
  gate.open();
  expect(errors).toEqual([]);
});

test('an earlier moment, a fork at that moment and an export have the initial state of the session', async () => {
  const { page, sessionService, errors } = await open([{ calls: [{ name: 'spend' }] }, 'Spent.'], {
    tools: [spend],
    fill: (service) => service.createSession({ ...KEY, state: { budget: 100, plan: 'gold', 'user:name': 'Ann' } }),
  });
  await send(page, 'Spend');
  await page.getByRole('log').getByText('Spent.').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.getByRole('tab', { name: 'State' }).click();
  const state = page.getByRole('tabpanel').locator('dl');
  await state.getByText('90', { exact: true }).waitFor();
  await page.getByRole('slider').press('Home');
  await state.getByText('100', { exact: true }).waitFor();
  await expect.poll(() => state.locator('dt').allInnerTexts()).toEqual(['budget', 'plan', 'user:name', 'user:spent']);
  await state.getByText('unknown before event 3').waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const path = await (await downloading).path();
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ state: { budget: 100, plan: 'gold' } });
  await page.getByRole('button', { name: 'Fork here' }).click();
  await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
  const fork = new URL(page.url()).searchParams.get('session') ?? '';
  const shared = { 'user:name': 'Ann', 'user:spent': 10 };
  const stateOf = async (sessionId: string) => ({ ...(await sessionService.getSession({ ...KEY, sessionId }))?.state });
  expect(await stateOf(fork)).toEqual({ budget: 100, plan: 'gold', ...shared });
  await page.getByLabel('A session to import').setInputFiles(path);
  await page.waitForURL((url) => ![fork, 'first'].includes(url.searchParams.get('session') ?? ''));
  const imported = new URL(page.url()).searchParams.get('session') ?? '';
  expect(await stateOf(imported)).toEqual({ budget: 90, plan: 'gold', ...shared });
  expect(errors).toEqual([]);
});

test('a fork has the artifacts of its moment, and a failure is shown', async () => {
  const { page, sessionService } = await open([{ calls: [{ name: 'save' }] }, 'Saved.'], { tools: [save] });
  await send(page, 'Save');
  await page.getByRole('log').getByText('Saved.').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.getByRole('slider').press('ArrowLeft');
  await page.getByRole('button', { name: 'Fork here' }).click();
  await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
  await page
    .getByRole('list', { name: 'Sessions' })
    .getByText(/^fork of first, event \d · /)
    .waitFor();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  await page.getByRole('tabpanel').getByRole('button', { name: 'note.txt' }).waitFor();
  await page.getByRole('slider').press('Home');
  const sessionId = new URL(page.url()).searchParams.get('session') ?? '';
  await sessionService.deleteSession({ ...KEY, sessionId });
  await page.getByRole('button', { name: 'Fork here' }).click();
  await page.getByRole('alert').getByText('The session was not forked').waitFor();
});
