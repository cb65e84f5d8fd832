/** Runs all checks of a contributor in one command. The last line is `N passed, N failed`. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, getPriority, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { processTests, unitTests } from './node-tests.ts';

interface Outcome {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Each failed test or file, with the beginning of its message. */
  readonly failures: readonly string[];
}

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** A file system in memory on Linux. */
const MEMORY = '/dev/shm';
/** The type of a file system in memory, as `statfs` returns it. */
const TMPFS = 0x01021994;
/** The memory that must be free for temporary files there, in bytes: with room for the tests themselves. */
const NEEDED_MEMORY = 12 * 2 ** 30;

/** Maximum length of a failure's message at the end of the output, in characters. */
const MAX_MESSAGE = 400;

// Programs that are started often, such as the compilers of packages, are compiled once.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/node');
// The compiler and the linter are programs in Go: with fewer collections of garbage they take a fifth less processor
// time, and at most 2 GB.
process.env['GOGC'] ??= '400';
process.env['GOMEMLIMIT'] ??= '3GiB';

/**
 * Added to the nice value of scripts that hardly wait. They take the time in which tests that start processes and browsers wait, and end
 * last, with all processors busy. With much more, a test beside those could reach its time limit.
 */
const COMPUTING = 5;

/**
 * The folder of all temporary files: in memory, because tests create and delete tens of thousands of small files, such as databases and
 * installed packages, for which the kernel takes twice the processor time on a disk.
 */
const temporary = createFolder(hasRoomInMemory() ? MEMORY : tmpdir());
process.env['TMPDIR'] = temporary;
process.on('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));
const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    // They still write to the folder.
    void Promise.all(Array.from(running, (child) => once(child, 'close'))).then(() => process.exit(1));
  });
}

// In one process of workerd, because each process loads all modules: with three of them they take a fifth more processor time. They need no
// declarations, and fill the time in which the compiler waits for one package.
const workers = runTests('test:workers', []);
// Before the others: samples and packages are checked against the declarations that this step writes, and the tests of
// Studio open the page, which otherwise several workers build at the same time.
const [types] = await Promise.all([
  runCheck('types'),
  once(spawn('node', ['scripts/build-studio.ts'], { stdio: 'inherit' }), 'close'),
]);
// Concurrently, because tests that start processes and browsers spend half of their time waiting: those of Node are two runs, so that the
// processors are busy in the meantime. Each has one worker more than there are processors: the last tests to end wait, too.
const workersOfTests = `--maxWorkers=${availableParallelism() + 1}`;
const others = await Promise.all([
  runTests('test:node', [...foldersOf(processTests), workersOfTests]),
  runTests('test:node', [...foldersOf(unitTests), workersOfTests], COMPUTING),
  runTests('test:packages', []),
  workers,
  runCheck('lint', COMPUTING),
  runCheck('size', COMPUTING),
]);
const outcomes = [types, ...others];

const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
for (const outcome of outcomes) {
  console.log(
    `${outcome.failed === 0 ? 'ok    ' : 'FAILED'} ${outcome.name}${outcome.skipped > 0 ? `, ${outcome.skipped} skipped (see above)` : ''}`,
  );
}
for (const failure of outcomes.flatMap(({ failures }) => failures)) console.log(`FAILED ${failure}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** True if the environment names no folder for temporary files, and the file system in memory has room for them. */
function hasRoomInMemory(): boolean {
  if (process.env['TMPDIR'] !== undefined || !existsSync(MEMORY)) return false;
  const { type, bavail, bsize } = statfsSync(MEMORY);
  return type === TMPFS && Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_MEMORY;
}

/** Creates a folder in another one, or in the usual one if no programs can be run there, such as the browser that is unpacked. */
function createFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, 'eventloom-test-'));
  // Servers that tests start as another user have their folders in it.
  chmodSync(folder, 0o755);
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  if (parent !== MEMORY || spawnSync(program).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return createFolder(tmpdir());
}

/** Returns the folders that patterns begin with, such as `tests/`. */
function foldersOf(patterns: readonly string[]): string[] {
  return patterns.map((pattern) => pattern.slice(0, pattern.indexOf('/') + 1));
}

/** Runs a script that passes or fails as a whole, and counts it as one test. */
async function runCheck(script: string, niceness = 0): Promise<Outcome> {
  const ok = await run(script, [], niceness);
  return { name: script, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, failures: [] };
}

/**
 * Runs a script that runs vitest, and counts its tests. A file that does not load and a run that crashes count as one
 * failure.
 * @param filters the folders whose tests are run, or none for all tests, and options of vitest
 */
async function runTests(script: string, filters: readonly string[], niceness = 0): Promise<Outcome> {
  const name = [script, ...filters.filter((filter) => !filter.startsWith('--'))].join(' ');
  const report = join(temporary, `${name.replaceAll(/[: /]+/g, '-')}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const ok = await run(script, [...filters, '--allowOnly=false', ...reporters], niceness);
  if (!existsSync(report)) return { name, passed: 0, failed: 1, skipped: 0, failures: [`${name} wrote no report`] };
  const { numPassedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, 'utf8')) as VitestReport;
  const failures = testResults.flatMap(({ name: file, status, message, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed');
    const path = relative(process.cwd(), file);
    // A file that does not load has no tests.
    if (tests.length === 0) return status === 'failed' ? [`${path}: ${message.slice(0, MAX_MESSAGE)}`] : [];
    return tests.map(
      ({ fullName, failureMessages }) => `${path}, ${fullName}: ${failureMessages.join('\n').slice(0, MAX_MESSAGE)}`,
    );
  });
  // An error outside of the tests fails the run as well.
  if (!ok && failures.length === 0) failures.push(`${name} failed outside of its tests`);
  return { name, passed: numPassedTests, failed: failures.length, skipped: numPendingTests, failures };
}

/** Runs a script, with its name before each line that it writes. */
async function run(script: string, options: readonly string[], niceness: number): Promise<boolean> {
  const child = spawn('pnpm', ['run', script, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  // The processes that it starts inherit the value.
  if (child.pid !== undefined && niceness > 0) setPriority(child.pid, Math.min(getPriority() + niceness, 19));
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (line) => console.log(`${script} │ ${line}`));
  }
  running.add(child);
  const [code] = (await once(child, 'close')) as [number | null];
  running.delete(child);
  return code === 0;
}
