import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TenMinutes } from '../live/two-hours-process.ts';
import { type Row, ratioRow } from '../report.ts';

/**
 * L5: the heap in a call of two hours with twelve connections. The stored events are in memory here; all other memory
 * must not grow.
 */
export async function liveMemory(): Promise<Row[]> {
  const file = join(import.meta.dirname, '..', 'live', 'two-hours-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-flush-bytecode', file]);
  const measured = JSON.parse(stdout) as TenMinutes[];
  const [first, last] = [measured[0], measured.at(-1)];
  if (!first || !last) throw new Error('the call of two hours was not measured');
  return [
    {
      ...ratioRow('L5', 'heap after two hours', 'kB', last.heapBytes / 1000, first.heapBytes / 1000, 1.05),
      target: '≤ 1.05× at 10 min',
    },
    {
      workload: 'L5',
      figure: 'grown meanwhile, against the JSON of what was stored',
      unit: 'kB',
      ours: (last.heapBytes - first.heapBytes) / 1000,
      floor: (last.storedBytes - first.storedBytes) / 1000,
    },
  ];
}
