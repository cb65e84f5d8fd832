import { cpus } from 'node:os';
import { formatRows, type Row } from './report.ts';
import { agentCreation } from './workloads/agent-creation.ts';
import { coldStart } from './workloads/cold-start.ts';
import { growingSession } from './workloads/growing-session.ts';
import { sqliteSession } from './workloads/sqlite-session.ts';
import { chunkedReply, longSession, textTurn, toolTurns } from './workloads/turns.ts';

/** Every workload, by the name it is selected with. */
const WORKLOADS: Readonly<Record<string, () => Promise<Row[]>>> = {
  'text-turn': textTurn,
  'tool-turns': toolTurns,
  'chunked-reply': chunkedReply,
  'long-session': longSession,
  'cold-start': coldStart,
  'sqlite-session': sqliteSession,
  'agent-creation': agentCreation,
  'growing-session': growingSession,
};

const selected = process.argv.slice(2);
const unknown = selected.filter((name) => !Object.hasOwn(WORKLOADS, name));
if (unknown.length > 0) {
  console.error(`unknown workload ${unknown.join(', ')}; there are: ${Object.keys(WORKLOADS).join(', ')}`);
  process.exit(2);
}

console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`);
const rows: Row[] = [];
for (const [name, run] of Object.entries(WORKLOADS)) {
  if (selected.length > 0 && !selected.includes(name)) continue;
  rows.push(...(await run()));
}
console.log(formatRows(rows));
