// The server under attack, as a user of the library writes it: `node attacked-process.js OPTIONS`, with `AttackOptions`
// as JSON. No error is caught, so that an uncaught error of the library ends the process. It prints its address; then
// one line of JSON for each failure that the server reports.

import {
  type AppendEventRequest,
  type AppendEventsRequest,
  type BaseSessionService,
  type BeginRunRequest,
  type BegunRun,
  type EndRunRequest,
  type Event,
  type RunWebhook,
  type RunWebhookChange,
  type SessionLease,
  type Platform,
  systemPlatform,
  type ToolLedgerEntry,
} from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { createServer, type RunRelay } from '@eventloom/server';
import { serve, shutDownOnSignal } from '@eventloom/server/node';
import { PostgresRunRelay } from '@eventloom/server/postgres';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createInterface } from 'node:readline';
import { Pool } from 'pg';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { createAgents, type AgentStep, WEBHOOK_SECRET } from './attacked-agent.ts';

/** Options of a server under attack. */
export interface AttackOptions {
  /** A SQLite file, or the URL of a PostgreSQL. */
  readonly store: string;
  /** The file that gets a line for each tool that must not run twice, before it runs. */
  readonly ranFile: string;
  readonly leaseMs: number;
  /** Time without a sign of life after which the relay takes a process for lost. */
  readonly relayLeaseMs: number;
  readonly paceMs: number;
  readonly slowMs: number;
  readonly drainMs: number;
  /** Kills the process at this step or commit, counted from 1; 0 for never. */
  readonly dieAt: number;
  /** The origin that webhooks are sent to; empty for none. */
  readonly webhooksTo: string;
}

const options = JSON.parse(process.argv[2] ?? '') as AttackOptions;
let points = 0;

/** Passes a point at which the process may die: after a commit, or before a step of an agent. */
function passPoint(): void {
  if (++points === options.dieAt) process.kill(process.pid, 'SIGKILL');
}

function report(error: unknown): void {
  const { name = '', message = String(error), code = '' } = Object(error) as Partial<Error & { code: string }>;
  console.log(JSON.stringify({ name, message, code }));
}

/** Reports failures of background work with other failures: standard error is for unhandled ones. */
const platform: Platform = { ...systemPlatform, background: (work) => void work.catch(report) };

const agents = createAgents({
  paceMs: options.paceMs,
  slowMs: options.slowMs,
  pause: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  step({ name, isOnce }: AgentStep): undefined {
    if (isOnce) appendFileSync(options.ranFile, `${name}\n`);
    passPoint();
  },
});

/** Passes a point after each commit. */
function counted(service: BaseSessionService): BaseSessionService {
  const begin = service.beginRun.bind(service);
  const append = service.appendEvent.bind(service);
  const appendAll = service.appendEvents.bind(service);
  const record = service.recordToolCall.bind(service);
  const end = service.endRun.bind(service);
  const changeWebhook = service.changeRunWebhook.bind(service);
  return Object.assign(service, {
    async beginRun(request: BeginRunRequest): Promise<BegunRun> {
      const begun = await begin(request);
      passPoint();
      return begun;
    },
    async appendEvent(request: AppendEventRequest): Promise<Event> {
      const event = await append(request);
      passPoint();
      return event;
    },
    async appendEvents(request: AppendEventsRequest): Promise<Event[]> {
      const events = await appendAll(request);
      passPoint();
      return events;
    },
    async recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): Promise<void> {
      await record(lease, entry);
      passPoint();
    },
    async endRun(lease: SessionLease, request: EndRunRequest): Promise<Event | undefined> {
      const event = await end(lease, request);
      passPoint();
      return event;
    },
    async changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): Promise<boolean> {
      const isChanged = await changeWebhook(webhook, change);
      passPoint();
      return isChanged;
    },
  });
}

interface OpenStore {
  readonly service: BaseSessionService;
  readonly relay?: RunRelay;
  /** Takes away the room for another page, or returns it. */
  readonly setRoom?: (hasRoom: boolean) => void;
}

function openStore({ store, relayLeaseMs: leaseMs }: AttackOptions): OpenStore {
  if (store.startsWith('postgres')) {
    const pool = new Pool({ connectionString: store });
    return { service: new PostgresSessionService({ pool, platform }), relay: new PostgresRunRelay({ pool, leaseMs }) };
  }
  const database = new DatabaseSync(store);
  const setRoom = (hasRoom: boolean): void => {
    const { page_count: pages } = database.prepare('PRAGMA page_count').get() ?? {};
    database.exec(`PRAGMA max_page_count = ${hasRoom ? 1_000_000 : Number(pages)}`);
  };
  return { service: new SqliteSessionService({ database, platform }), setRoom };
}

const { service, relay, setRoom } = openStore(options);
const sessionService = options.dieAt > 0 ? counted(service) : service;
const runners = Object.entries(agents).flatMap(([name, agent]) =>
  [true, false].map(
    (resumable) =>
      new Runner({
        appName: resumable ? name : `${name}-once`,
        agent,
        sessionService,
        platform,
        autoCreateSession: true,
        resumable,
        leaseTtlMs: options.leaseMs,
        live: live(),
      }),
  ),
);
const server = await serve(
  createServer({
    runners,
    relay,
    live: liveEndpoint(),
    webhooks: options.webhooksTo === '' ? undefined : { secret: WEBHOOK_SECRET, origins: [options.webhooksTo] },
    limits: { unfinishedRunsEveryMs: options.leaseMs, maxReadersPerRun: 1000 },
    platform,
    onError: report,
  }),
  { port: 0, drainMs: options.drainMs },
);
shutDownOnSignal(server, () => process.exit(0));
createInterface(process.stdin)
  .on('line', (line) => setRoom?.(line === 'room'))
  // The attacking program has ended.
  .on('close', () => process.exit(0));
console.log(server.url);
