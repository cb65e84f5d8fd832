/**
 * Times turns with one process per measurement, also those of other checkouts of this repository, and of the floor. The
 * processes of all sides take turns, so that other load of the machine affects all of them.
 *
 * node src/alone/main.ts [--rounds=5] [--sessions=keep] [--workloads=W1,W2,W3,W5,W8,W8-calls] [checkout...]
 */
import { execFileSync } from 'node:child_process';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Measurement, summarize } from '../measure.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    sessions: { type: 'string', default: 'delete' },
    workloads: { type: 'string', default: 'W1,W2,W3,W5,W8,W8-calls' },
  },
});
const here = resolve(import.meta.dirname, '../../..');
const sides = [
  ['floor', here],
  ['ours', here],
  ...positionals.map((checkout) => ['ours', resolve(checkout)] as const),
] as const;
const measured = new Map<string, Measurement[]>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const workload of values.workloads.split(',')) {
    for (const [side, checkout] of sides) {
      const program = join(import.meta.dirname, 'turn-process.ts');
      const output = execFileSync(process.execPath, [program, workload, side, checkout, values.sessions]);
      const key = `${workload} ${side === 'floor' ? 'floor' : basename(checkout)}`;
      const list = measured.get(key) ?? [];
      list.push(JSON.parse(String(output)) as Measurement);
      measured.set(key, list);
    }
  }
}
for (const [key, list] of [...measured].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const { medianUs, minUs } = summarize(list.map((each) => each.medianUs));
  const fastestUs = Math.min(...list.map((each) => each.minUs));
  console.log(
    `${key}: median ${medianUs.toFixed(2)} µs, best process ${minUs.toFixed(2)}, fastest round ${fastestUs.toFixed(2)}`,
  );
}
