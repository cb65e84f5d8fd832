import { cpus, loadavg } from 'node:os';
import { formatRows, type Row } from './report.ts';
import { openDurableObject } from './session-back-ends/durable-object-back-end.ts';
import { openInMemory } from './session-back-ends/in-memory-back-end.ts';
import { openPostgres } from './session-back-ends/postgres-back-end.ts';
import { openSqlite } from './session-back-ends/sqlite-back-end.ts';
import { agentCreation } from './workloads/agent-creation.ts';
import { coldStart } from './workloads/cold-start.ts';
import { graphs } from './workloads/graphs.ts';
import { liveAllocation } from './workloads/live-allocation.ts';
import { liveCalls } from './workloads/live-calls.ts';
import { liveLatency } from './workloads/live-latency.ts';
import { liveMemory } from './workloads/live-memory.ts';
import { liveServer } from './workloads/live-server.ts';
import { liveTool } from './workloads/live-tool.ts';
import { liveWire } from './workloads/live-wire.ts';
import { sessionGrowth } from './workloads/session-growth.ts';
import { sessionThroughput } from './workloads/session-throughput.ts';
import { sessionsInFlight } from './workloads/sessions-in-flight.ts';
import { sqliteSession } from './workloads/sqlite-session.ts';
import { sseServer } from './workloads/sse-server.ts';
import { chunkedReply, longSession, textTurn, toolTurns } from './workloads/turns.ts';
import { vendorCalls } from './workloads/vendor-calls.ts';

/** Every workload by name. The prefix before a slash selects all workloads of a kind. */
const WORKLOADS: Readonly<Record<string, () => Promise<Row[]>>> = {
  'text-turn': textTurn,
  'tool-turns': toolTurns,
  'chunked-reply': chunkedReply,
  'long-session': longSession,
  'sessions-in-flight': sessionsInFlight,
  'cold-start': coldStart,
  'sqlite-session': sqliteSession,
  'sse-server': sseServer,
  'agent-creation': agentCreation,
  'vendor-calls': vendorCalls,
  'live-latency': liveLatency,
  'live-calls': liveCalls,
  'live-allocation': liveAllocation,
  'live-tool': liveTool,
  'live-memory': liveMemory,
  'live-server': liveServer,
  'live-wire': liveWire,
  'graphs/in-memory': () => graphs('in memory'),
  'graphs/sqlite': () => graphs('SQLite'),
  'session-growth/in-memory': () => sessionGrowth(openInMemory),
  'session-growth/sqlite': () => sessionGrowth(openSqlite),
  'session-growth/postgres': () => sessionGrowth(() => openPostgres('on')),
  'session-growth/durable-object': () => sessionGrowth(openDurableObject),
  'session-throughput/in-memory': () => sessionThroughput(openInMemory),
  'session-throughput/sqlite': () => sessionThroughput(openSqlite),
  'session-throughput/postgres': () => sessionThroughput(() => openPostgres('on')),
  'session-throughput/postgres-async-commit': () => sessionThroughput(() => openPostgres('off')),
  'session-throughput/durable-object': () => sessionThroughput(openDurableObject),
};

const selected = process.argv.slice(2);
const isSelectedBy = (name: string, selection: string): boolean =>
  name === selection || name.startsWith(`${selection}/`);
const unknown = selected.filter((selection) => !Object.keys(WORKLOADS).some((name) => isSelectedBy(name, selection)));
if (unknown.length > 0) {
  console.error(`unknown workload ${unknown.join(', ')}; there are: ${Object.keys(WORKLOADS).join(', ')}`);
  process.exit(2);
}

console.log(
  `node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${describeLoad()}`,
);
const rows: Row[] = [];
for (const [name, run] of Object.entries(WORKLOADS)) {
  if (selected.length > 0 && !selected.some((selection) => isSelectedBy(name, selection))) continue;
  rows.push(...(await run()));
}
console.log(`${formatRows(rows)}\n${describeLoad()}`);

/** Describes the load of the machine: figures taken under high load are unreliable. */
function describeLoad(): string {
  return `load average ${loadavg()[0]?.toFixed(2)}`;
}
