/**
 * The longer run: `pnpm nemesis [--back-end sqlite,postgres,durable-objects,wrangler-dev] [--scenario killed-servers,…] [--rounds
 * 20] [--kills 200] [--sessions 6] [--seed 1]`. Without a back end or a scenario, all of them. `--kills` is the number
 * of rounds of the scenario `killed-servers`. Prints the attacks and the faults, and exits with 1 if there are faults.
 */
import { startPostgres } from '@eventloom/test-postgres';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Arena, type Manner } from './arena.ts';
import { type BackEnd, type BackEndName, createPostgresBackEnd, sqliteBackEnd } from './back-ends.ts';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { type Scenario, SCENARIOS, USERS } from './scenarios.ts';
import { createWorkerd, startWorkerBackEnd, wranglerDev } from './worker-back-end.ts';

const { values } = parseArgs({
  options: {
    'back-end': { type: 'string', default: 'sqlite,postgres,durable-objects,wrangler-dev' },
    scenario: { type: 'string', default: Object.keys(SCENARIOS).join() },
    rounds: { type: 'string', default: '20' },
    kills: { type: 'string', default: '200' },
    sessions: { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
    manners: { type: 'string', default: 'follow,resend,leave' },
  },
});
checkNames('back-end', ['sqlite', 'postgres', 'durable-objects', 'wrangler-dev']);
checkNames('scenario', Object.keys(SCENARIOS));

/** Ends the program if a list in an option has an unknown name. */
function checkNames(option: 'back-end' | 'scenario', names: readonly string[]): void {
  const unknown = values[option].split(',').find((name) => !names.includes(name));
  if (unknown === undefined) return;
  console.error(`--${option}: ${JSON.stringify(unknown)} is unknown; write one or more of ${names.join(',')}`);
  process.exit(2);
}

/**
 * Mounts a file system that can be filled, if this user may. It is no subfolder of `folder`, which the user of PostgreSQL may not enter.
 * PostgreSQL needs most of its room for itself.
 */
function mountSmallDisk(backEnd: BackEndName): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'eventloom-disk-'));
  const options = `mode=1777,size=${backEnd === 'postgres' ? 400 : 64}m`;
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk]);
  if (status === 0) return disk;
  rmSync(disk, { recursive: true });
  return undefined;
}

/** Time between two progress lines of a scenario, in milliseconds. */
const PROGRESS_MS = 60_000;

// Programs that are started repeatedly, above all `wrangler`, are compiled once.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../node_modules/.cache/node');

const folder = mkdtempSync(join(tmpdir(), 'eventloom-nemesis-'));
const program = await bundleProgram(join(import.meta.dirname, 'attacked-process.ts'), folder);
const workerd = await createWorkerd(folder);

async function play(name: string, scenario: Scenario, backEnd: BackEnd): Promise<boolean> {
  const rounds = Number(name === 'killed-servers' ? values.kills : values.rounds);
  const arena = new Arena(backEnd, Number(values.seed), values.manners.split(',') as Manner[]);
  const startedAt = performance.now();
  const secondsSoFar = (): number => Math.round((performance.now() - startedAt) / 1000);
  const progress = setInterval(
    () => console.log(`… ${secondsSoFar()} s, ${arena.started} servers, ${arena.answers.length} answers`),
    PROGRESS_MS,
  );
  await scenario.play(arena, { rounds, sessions: Number(values.sessions) });
  const faults = await arena.findFaults();
  clearInterval(progress);
  const seconds = secondsSoFar();
  const ends = Map.groupBy(arena.answers, ({ end }) => (end.kind === 'error' ? end.code : end.kind));
  const outcomes = Array.from(ends, ([end, { length }]) => `${length} ${end}`).join(', ');
  console.log(
    `${backEnd.name} ${name}: ${rounds} rounds, ${arena.started} servers, ${outcomes}, ${seconds} s, ${faults.length} faults`,
  );
  for (const fault of faults) console.log(`  ${fault}`);
  for (const [report, same] of Map.groupBy(arena.reports, (each) => each.slice(0, 300)))
    console.log(`  ${same.length} × ${report}`);
  return faults.length === 0;
}

let isWhole = true;
for (const name of values['back-end'].split(',') as BackEndName[]) {
  for (const scenarioName of values.scenario.split(',') as (keyof typeof SCENARIOS)[]) {
    const scenario: Scenario = SCENARIOS[scenarioName];
    if (!scenario.backEnds.includes(name)) continue;
    const own = join(folder, `${name}-${scenarioName}`);
    mkdirSync(own);
    const needsDisk = scenarioName === 'full-disk' || (name !== 'postgres' && scenarioName === 'blocked-store');
    const disk = needsDisk ? mountSmallDisk(name) : undefined;
    if (needsDisk && name !== 'sqlite' && disk === undefined) {
      console.log(`${name} ${scenarioName}: not played, because this user may not mount a small file system`);
      continue;
    }
    const postgres = name === 'postgres' ? await startPostgres([], disk) : undefined;
    const backEnd = postgres
      ? await createPostgresBackEnd(program, own, postgres, disk)
      : name === 'sqlite'
        ? sqliteBackEnd(program, own, disk)
        : await startWorkerBackEnd(name === 'wrangler-dev' ? wranglerDev : workerd, own, USERS, disk);
    if (!(await play(scenarioName, scenario, backEnd))) isWhole = false;
    await backEnd[Symbol.asyncDispose]();
    await postgres?.stop();
    // A killed process may still have the file open.
    if (disk !== undefined) {
      spawnSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true });
    }
  }
}
if (isWhole) rmSync(folder, { recursive: true });
else console.log(`the stores are in ${folder}`);
process.exitCode = isWhole ? 0 : 1;
