import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const COUNTS =
  /^(.+): (\d+) files \(at most (\d+)\), (\d+) functions \(at most (\d+)\), (\d+) with the fields of classes$/gm;

/** Counts in a separate process: V8 counts the functions of all scripts. */
async function countEntered(): Promise<
  { readonly turn: string; readonly isWithin: boolean; readonly counts: string }[]
> {
  const program = fileURLToPath(new URL('coverage.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  return Array.from(stdout.matchAll(COUNTS), ([counts, turn = '', ...numbers]) => {
    const [files = 0, maxFiles = 0, functions = 0, maxFunctions = 0, withFields = 0] = numbers.map(Number);
    const isWithin = files <= maxFiles && functions <= maxFunctions;
    // The fields of a class are reported separately, and are not counted as functions.
    return { turn, isWithin: isWithin && files > 0 && functions > 0 && withFields > functions, counts };
  });
}

test('a turn over POST /run_sse enters no more files and functions than the limits allow', async () => {
  const entered = await countEntered();
  expect(entered).toMatchObject([
    { turn: 'text turn', isWithin: true },
    { turn: 'turn with one tool call', isWithin: true },
  ]);
});
