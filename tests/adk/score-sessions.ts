// Scores the sessions of a folder that another ADK recorded: node score-sessions.ts <folder>
// A recording is a JSON file with a list `events`. Prints the faults, and how many sessions passed each check.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { isRecord, scoreSession } from './score-session.ts';

const [folder = ''] = process.argv.slice(2);
const totals = new Map<string, { passed: number; all: number }>();
let sessions = 0;
let events = 0;

for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const recording: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  if (!isRecord(recording) || !Array.isArray(recording['events'])) continue;
  const recorded = recording['events'].filter(isRecord);
  sessions++;
  events += recorded.length;
  const { passed, faults } = await scoreSession(recorded);
  for (const fault of faults) process.stdout.write(`${file}: ${fault}\n`);
  for (const check of [...passed, ...faults.map((fault) => fault.slice(0, fault.indexOf(':')))]) {
    const total = totals.get(check) ?? { passed: 0, all: 0 };
    totals.set(check, { passed: total.passed + (passed.includes(check) ? 1 : 0), all: total.all + 1 });
  }
}
process.stdout.write(`${sessions} sessions with ${events} events\n`);
for (const [check, { passed, all }] of totals) process.stdout.write(`${check}: ${passed} of ${all}\n`);
