import { expect, test } from 'vitest';
import { readWorkspaces } from './repository.ts';
import { shortTimeLimits } from './time-limits.ts';

const LEAST_MS = 120_000;

test('no test has a time limit that a busy machine exceeds', () => {
  const files = readWorkspaces().flatMap((workspace) => workspace.files);
  expect(shortTimeLimits(files, LEAST_MS)).toEqual([]);
});

test.each([
  ["test('it ends', async () => {}, 30_000);", 'has the limit 30000'],
  ["test('it ends', { timeout: 30_000 }, async () => {});", 'has the limit 30000'],
  ["test.each([1, 2])('it ends', async () => {}, 5000);", 'has the limit 5000'],
  ["describe('all', { timeout: 60_000 }, () => {});", 'has the limit 60000'],
  ['beforeAll(() => start(), 1000);', 'has the limit 1000'],
  ['vi.setConfig({ testTimeout: 60_000 });', 'has the limit 60000'],
  ['await expect.poll(read, { timeout: 1000 }).toBe(1);', 'has the limit 1000'],
  ["await page.getByText('sky').waitFor({ timeout: 1000 });", 'has the limit 1000'],
  ['page.setDefaultTimeout(20_000);', 'has the limit 20000'],
  ['await vi.waitFor(() => expect(read()).toBe(1));', 'waits with vi: write expect.poll'],
  ['await vi.waitUntil(() => read() === 1, { timeout: 600_000 });', 'waits with vi: write expect.poll'],
])('a short limit is found: %s', (line, what) => {
  expect(shortTimeLimits([{ path: 'packages/x/src/a.test.ts', text: `\n${line}` }], LEAST_MS)).toEqual([
    `packages/x/src/a.test.ts:2 ${what}`,
  ]);
});

test.each([
  "test('it ends', async () => {}, 600_000);",
  "test('it ends', { timeout: 600_000 }, async () => {});",
  'await expect.poll(read).toBe(1);',
  "await page.getByText('sky').waitFor({ state: 'detached' });",
  'expect(await errorOf({ httpOptions: { timeout: 1000 } })).toBe(1);',
])('a long limit passes, and so does one of the tested code: %s', (line) => {
  expect(shortTimeLimits([{ path: 'packages/x/src/a.test.ts', text: line }], LEAST_MS)).toEqual([]);
});
