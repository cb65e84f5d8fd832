import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BaseAgent } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';

/** Starts `pnpm example` in an empty folder, without a key. */
function createProgram() {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE };
  const start = (args: readonly string[]) =>
    promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { cwd: folder, env });
  /** Returns the output of the program. */
  const run = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await start(args);
    expect(stderr).toBe('');
    return stdout;
  };
  /** Returns the error that the program prints when it refuses its arguments. */
  const refuse = async (...args: readonly string[]): Promise<unknown> => {
    const refused: unknown = await start(args).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 2, stdout: expect.not.stringMatching(/^you /m) });
    return refused;
  };
  return { run, refuse };
}

test('an example prints its transcript, and a later process answers its request, which another example does not touch', async () => {
  const { run } = createProgram();
  const asked = await run('human-approval');
  expect(asked).toMatch(/^you +Give Ann/m);
  expect(asked).toMatch(/^cashier +→ refund/m);
  expect(asked).not.toContain('state refunded');
  await run('draft-critique-revise');
  expect(await run('human-approval', 'approve')).toMatch(/^cashier +state refunded = /m);
});

test('a live example runs without a key over the real client and writes an audio file', async () => {
  const { run } = createProgram();
  expect(await run('voice-agent')).toMatch(/^museum +Yes, on Sunday.*\n.*answer\.wav/m);
});

test.each(globSync('*/agent.ts', { cwd: import.meta.dirname }))('%s is an agent that can be served', async (file) => {
  const { rootAgent } = (await import(join(import.meta.dirname, file))) as { readonly rootAgent?: unknown };
  expect(rootAgent).toBeInstanceOf(BaseAgent);
});

test('without a name the examples are listed', async () => {
  expect(await createProgram().run()).toMatch(/\n {2}coordinator\n/);
});

test.each([
  [['crodinator'], 'there is no example crodinator: '],
  [['coordinator', 'hello'], '"hello": expected after the name: nothing'],
  [['stock-ticker', 'EVL'], '"EVL": expected after the name: nothing'],
  [['voice-agent', 'nothing.wav'], 'nothing.wav cannot be read: '],
  [['human-approval', 'maybe'], '"maybe": expected after the name: nothing, or approve, or reject'],
])(
  '%j is refused with the list of existing names',
  async (args, message) => {
    expect(await createProgram().refuse(...args)).toMatchObject({ stderr: expect.stringContaining(message) });
  },
  60_000,
);
