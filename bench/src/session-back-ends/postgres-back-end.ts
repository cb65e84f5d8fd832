import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { startPostgres } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import type { BackEnd } from './back-end.ts';
import { TaskRunner } from './task-runner.ts';

const CONNECTIONS = 10;

/** Settings of a default server: committed data survives a crash of the machine. */
const DURABLE = ['fsync=on', 'full_page_writes=on'];

const INSERT = { name: 'bench_insert', text: 'INSERT INTO bench_floor (event) VALUES ($1)' };

/**
 * Sessions in a separate PostgreSQL on this machine, over a pool of ten connections, with `fsync` on. The baseline is a prepared insert
 * over the same pool. With `synchronous_commit` off a commit does not wait for the disk.
 */
export async function openPostgres(synchronousCommit: 'on' | 'off'): Promise<BackEnd> {
  const server = await startPostgres(DURABLE);
  const options = `-c synchronous_commit=${synchronousCommit}`;
  const pool = new Pool({ connectionString: server.url, max: CONNECTIONS, options });
  pool.on('error', () => undefined);
  await pool.query(
    'CREATE TABLE bench_floor (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event text NOT NULL)',
  );
  const tasks = new TaskRunner({
    sessions: new PostgresSessionService({ pool }),
    insert: (event) => pool.query({ ...INSERT, values: [JSON.stringify(event)] }),
  });
  return {
    name: synchronousCommit === 'on' ? 'PostgreSQL' : 'PostgreSQL, synchronous_commit off',
    batch: 50,
    burst: 2000,
    perform: (task) => tasks.perform(task),
    bytesWritten: async () => {
      const { rows } = await pool.query<{ bytes: string }>(
        "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes",
      );
      return Number(rows[0]?.bytes);
    },
    close: async () => {
      await pool.end();
      await server.stop();
    },
  };
}
