import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { InstrumentationCounts } from './count-instrumentation.ts';

test('a run without instrumentation calls none of its functions, even if its packages are loaded, and one with it creates no more promises', async () => {
  const program = fileURLToPath(new URL('count-instrumentation.ts', import.meta.url));
  // A separate process: other work would be counted too.
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const counts = JSON.parse(stdout) as Record<'absent' | 'unused' | 'used', InstrumentationCounts>;
  expect(counts.absent.calls).toBe(0);
  expect(counts.unused).toEqual(counts.absent);
  // The counts include active instrumentation: 5 spans in each of 10 turns.
  expect(counts.used.calls).toBeGreaterThan(600);
  expect(counts.used.promises).toBe(counts.absent.promises);
});
