/** Everything a contributor verifies, in one command. Ends with `N passed, N failed` alone on the last line. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Outcome {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

const reports = mkdtempSync(join(tmpdir(), 'eventloom-test-'));

const outcomes = [
  runCheck('types'),
  runCheck('lint'),
  // All projects in one run, so that no processor is idle while the packages are installed or a server starts.
  runTests('test:all'),
  runCheck('size'),
];
rmSync(reports, { recursive: true });

const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
for (const { name, failed: failures, skipped } of outcomes) {
  console.log(
    `${failures === 0 ? 'ok    ' : 'FAILED'} ${name}${skipped > 0 ? `, ${skipped} skipped (see above)` : ''}`,
  );
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** A script that is right or wrong as a whole counts as one test. */
function runCheck(script: string): Outcome {
  const ok = run(script);
  return { name: script, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

/** A script that runs vitest counts as its tests. A file that does not load and a run that breaks count as one failure. */
function runTests(script: string): Outcome {
  const report = join(reports, `${script.replace(':', '-')}.json`);
  const ok = run(script, '--allowOnly=false', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`);
  if (!existsSync(report)) return { name: script, passed: 0, failed: 1, skipped: 0 };
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  ) as VitestReport;
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  const failures = numFailedTests + unloaded.length;
  const failed = ok ? failures : Math.max(1, failures);
  return { name: script, passed: numPassedTests, failed, skipped: numPendingTests };
}

function run(script: string, ...options: string[]): boolean {
  console.log(`\n── ${script} ──`);
  return spawnSync('pnpm', ['run', script, ...options], { stdio: 'inherit' }).status === 0;
}
