import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isBaseAgent } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';

/** Runs `pnpm example` in a folder of its own, without a key. Gives what it prints. */
function createProgram() {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = { PATH: process.env['PATH'] };
  return async (...args: readonly string[]): Promise<string> => {
    const main = join(import.meta.dirname, 'main.ts');
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...args], { cwd: folder, env });
    expect(stderr).toBe('');
    return stdout;
  };
}

test('an example prints its transcript, and what it asked a person is answered by a later process', async () => {
  const run = createProgram();
  const asked = await run('human-approval');
  expect(asked).toMatch(/^you +Give Ann/m);
  expect(asked).toMatch(/^cashier +→ refund/m);
  expect(asked).not.toContain('state refunded');
  expect(await run('human-approval', 'approve')).toMatch(/^cashier +state refunded = /m);
}, 20_000);

test('a call is played without a key over the real client, and leaves a file to hear', async () => {
  const run = createProgram();
  expect(await run('voice-agent')).toMatch(/^museum +Yes, on Sunday.*\n.*answer\.wav/m);
}, 20_000);

test.each(globSync('*/agent.ts', { cwd: import.meta.dirname }))('%s is an agent that can be served', async (file) => {
  const { rootAgent } = (await import(join(import.meta.dirname, file))) as { readonly rootAgent?: unknown };
  expect(isBaseAgent(rootAgent)).toBe(true);
});

test('without a name it lists the examples', async () => {
  expect(await createProgram()()).toMatch(/\n {2}coordinator\n/);
});
