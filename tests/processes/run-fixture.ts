import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { basename, join } from 'node:path';

/** A running program of the fixtures. */
export interface RunningFixture {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>;
  /** The lines that it has written so far. */
  readonly lines: readonly string[];
  /**
   * Resolves when it has written this number of lines.
   *
   * @throws Error if it ends before
   */
  untilLine(count: number): Promise<void>;
  /** Resolves when it has ended, with its standard error, and its exit code, which is null if it was killed. */
  readonly ended: Promise<{ readonly faults: string; readonly code: number | null }>;
}

/** Returns the path of a program of the fixtures. */
export function fixturePath(name: string): string {
  return join(import.meta.dirname, 'fixtures', `${name}.ts`);
}

/** Starts a program of the fixtures, or a bundle of one, in a separate process. */
export function startFixture(program: string, args: readonly string[]): RunningFixture {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  let rest = '';
  let faults = '';
  let onOutput = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    onOutput();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (faults += text));
  const ended = once(child, 'close').then(([code]) => ({ faults, code: code as number | null }));
  const untilLine = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      onOutput = () => void (lines.length >= count && resolve());
      onOutput();
      void ended.then(() => reject(new Error(`${basename(program)} ended after ${lines.length} lines: ${faults}`)));
    });
  return { process: child, lines, untilLine, ended };
}

/** Runs a check with each number from 1 to `count`, two at a time, because most of the time of a check is the start of its process. */
export async function inPairs(count: number, check: (number: number) => Promise<void>): Promise<void> {
  for (let number = 1; number <= count; number += 2)
    await Promise.all([check(number), ...(number < count ? [check(number + 1)] : [])]);
}
