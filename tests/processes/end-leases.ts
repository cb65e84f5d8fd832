import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';

const NO_WAITS = 'UPDATE eventloom_run_webhooks SET due_at = 0';

/**
 * Ends the leases of processes that were killed, and the times before their webhooks are sent again, as time does.
 * `sessions` is a file or the URL of a database.
 */
export async function endLeases(sessions: string): Promise<void> {
  if (sessions.startsWith('postgres')) {
    const pool = new Pool({ connectionString: sessions });
    await pool.query('UPDATE eventloom_sessions SET lease_until = 0 WHERE lease_until > 0');
    await pool.query(NO_WAITS);
    await pool.end();
    return;
  }
  const database = new DatabaseSync(sessions, { timeout: 60_000 });
  database.exec('UPDATE eventloom_holds SET lease_until = 0 WHERE lease_until > 0');
  database.exec(NO_WAITS);
  database.close();
}
