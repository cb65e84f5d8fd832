import type { BaseSessionService } from '@eventloom/core';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Postgres } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import type { AttackOptions } from './attacked-process.ts';
import { type AttackedServer, startAttackedServer } from './attacked-server.ts';
import type { StoredSession } from './find-faults.ts';

/** The apps of the attacked servers. The runs of those with `-once` cannot be resumed. */
export const APP_NAMES = ['front', 'front-once', 'crew', 'crew-once'] as const;

/** Options of a server's start. */
export type StartOptions = Partial<Omit<AttackOptions, 'store' | 'ranFile'>>;

/** The storage of sessions. */
export type BackEndName = 'sqlite' | 'postgres' | 'durable-objects' | 'wrangler-dev';

/** Attacks on a store; those that it does not have are absent. */
export interface StoreAttacks {
  /** Ends all connections to the store. */
  endConnections?(): Promise<void>;
  /** Stops the store and starts it again. */
  restart?(): Promise<void>;
  /** Makes the store refuse writes until `unblock`. */
  block?(servers: readonly AttackedServer[]): void;
  unblock?(servers: readonly AttackedServer[]): void;
}

/** A store with servers on it. */
export interface BackEnd extends AsyncDisposable {
  readonly name: BackEndName;
  readonly attacks: StoreAttacks;
  /** Starts another server on the store. */
  start(options?: StartOptions): Promise<AttackedServer>;
  /** Reads the whole store. For Durable Objects, through a server that must run. */
  readSessions(server: AttackedServer): Promise<StoredSession[]>;
  /** A line for each run of a tool that must not run twice. */
  ran(): string[];
}

/** Short, so that sessions of a dead process are free soon. */
export const LEASE_MS = 600;

const DEFAULTS: Omit<AttackOptions, 'store' | 'ranFile' | 'relayLeaseMs'> = {
  leaseMs: LEASE_MS,
  paceMs: 5,
  slowMs: 60,
  drainMs: 0,
  dieAt: 0,
  webhooksTo: '',
};

/**
 * A SQLite file in an existing folder, with servers on Node.
 *
 * @param disk a folder for the file on a separate small file system, which can be filled. Without one, SQLite gets a
 * size limit for the file
 */
export function sqliteBackEnd(program: string, folder: string, disk?: string): BackEnd {
  const store = join(disk ?? folder, 'sessions.db');
  const setRoom = (servers: readonly AttackedServer[], hasRoom: boolean): void => {
    for (const server of servers) server.setRoom(hasRoom);
  };
  return {
    name: 'sqlite',
    attacks:
      disk === undefined
        ? { block: (servers) => setRoom(servers, false), unblock: (servers) => setRoom(servers, true) }
        : fillingAttacks(disk),
    ...nodeServers(program, store, folder),
    async readSessions() {
      const service = new SqliteSessionService({ path: store });
      try {
        return await readStore(service);
      } finally {
        service.close();
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const FILLING = 'filling';

/** Returns the attacks on a store on a small file system. */
export function fillingAttacks(disk: string): StoreAttacks {
  return { block: () => fillDisk(disk), unblock: () => rmSync(join(disk, FILLING)) };
}

/** Writes until no room is left. */
function fillDisk(disk: string): void {
  for (const bytes of [65_536, 1024]) {
    try {
      for (;;) appendFileSync(join(disk, FILLING), Buffer.alloc(bytes));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  }
}

/**
 * Creates an empty database in a PostgreSQL that nobody else uses, with servers on Node.
 *
 * @param disk the small file system with the files of the PostgreSQL, which can be filled. Without
 * one, the PostgreSQL is frozen to block it
 */
export async function createPostgresBackEnd(
  program: string,
  folder: string,
  postgres: Postgres,
  disk?: string,
): Promise<BackEnd> {
  const admin = new Pool({ connectionString: postgres.url, max: 1 });
  // Connections are lost when the server restarts.
  admin.on('error', () => undefined);
  const database = `nemesis_${crypto.randomUUID().replaceAll('-', '')}`;
  await admin.query(`CREATE DATABASE ${database}`);
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  return {
    name: 'postgres',
    attacks: {
      async endConnections() {
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);
      },
      restart: () => postgres.restart(),
      ...(disk === undefined
        ? { block: () => postgres.freeze(), unblock: () => postgres.thaw() }
        : fillingAttacks(disk)),
    },
    ...nodeServers(program, url.href, folder),
    async readSessions() {
      const pool = new Pool({ connectionString: url.href, max: 2 });
      try {
        return await readStore(new PostgresSessionService({ pool }));
      } finally {
        await pool.end();
      }
    },
    [Symbol.asyncDispose]: () => admin.end(),
  };
}

function nodeServers(program: string, store: string, folder: string): Pick<BackEnd, 'start' | 'ran'> {
  const ranFile = join(folder, 'ran');
  return {
    start(options) {
      const { leaseMs = LEASE_MS } = options ?? {};
      return startAttackedServer(program, { ...DEFAULTS, relayLeaseMs: leaseMs, ...options, store, ranFile });
    },
    ran: () => (existsSync(ranFile) ? readFileSync(ranFile, 'utf8').trimEnd().split('\n') : []),
  };
}

async function readStore(service: BaseSessionService): Promise<StoredSession[]> {
  const stored: StoredSession[] = [];
  for (const appName of APP_NAMES) {
    const { runs } = await service.listOpenRuns({ appName });
    const { sessions } = await service.listSessions({ appName });
    for (const { userId, id: sessionId } of sessions) {
      const session = { appName, userId, sessionId };
      const events = (await service.getSession(session))?.events ?? [];
      const openRuns = runs
        .filter((run) => run.userId === userId && run.sessionId === sessionId)
        .map(({ invocationId }) => invocationId);
      stored.push({ session, events, openRuns });
    }
  }
  return stored;
}
