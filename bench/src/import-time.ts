/**
 * Measures the time that `import 'eventloom'` adds to the start of Node, in a project that installed the packages from
 * their tarballs. Bare starts and imports take turns. The processor time of the main thread matters on a busy machine,
 * the time by the clock on an idle one.
 *
 * node src/import-time.ts PROJECT [--rounds=15] [--entry=eventloom]
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { type Measurement, summarize } from './measure.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '15' }, entry: { type: 'string', default: 'eventloom' } },
});
const [project] = positionals;
if (project === undefined) throw new TypeError('write the folder of a project that has the packages installed');
const report = 'const { user, system } = process.threadCpuUsage(); console.log(user + system);';
const programs = { bare: report, imported: `await import('${values.entry}'); ${report}` };

/** Starts a program. Returns its wall time and the processor time of its main thread, in microseconds. */
function start(program: string): { readonly wallUs: number; readonly cpuUs: number } {
  const startedAt = performance.now();
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: project });
  return { wallUs: (performance.now() - startedAt) * 1000, cpuUs: Number(output) };
}

interface Start {
  readonly name: string;
  readonly program: string;
  readonly wall: number[];
  readonly cpu: number[];
}

const starts = Object.entries(programs).map(([name, program]): Start => ({ name, program, wall: [], cpu: [] }));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const { program, wall, cpu } of starts) {
    const { wallUs, cpuUs } = start(program);
    wall.push(wallUs);
    cpu.push(cpuUs);
  }
}
const ms = (us: number): string => (us / 1000).toFixed(1).padStart(7);
const line = (name: string, wall: Measurement, cpu: Measurement): string =>
  `${name.padEnd(10)} clock ${ms(wall.medianUs)} (least ${ms(wall.minUs)})   processor ${ms(cpu.medianUs)} (least ${ms(cpu.minUs)})`;
console.log('Milliseconds, medians');
for (const { name, wall, cpu } of starts) console.log(line(name, summarize(wall), summarize(cpu)));
