import { useTestDatabase } from '@eventloom/test-postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import type { SessionKey } from '@eventloom/core';
import { sessionServiceConformance } from '../conformance/index.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

const { pool } = useTestDatabase();
/** Deletes all rows of earlier cases: other tables for each case would take a hundred times as long. */
let deleteRows: string;
beforeAll(async () => {
  await new PostgresSessionService({ pool }).migrate();
  const { rows } = await pool.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE tablename LIKE 'eventloom\\_%' AND tablename <> 'eventloom_meta'",
  );
  deleteRows = rows.map(({ name }) => `DELETE FROM ${name}`).join(';');
});

async function loseEvent({ appName, userId, sessionId }: SessionKey): Promise<void> {
  await pool.query(
    `DELETE FROM eventloom_events USING (
      SELECT session, max(seq) AS seq FROM eventloom_events JOIN eventloom_sessions ON session = pk
      WHERE app_name = $1 AND user_id = $2 AND session_id = $3 GROUP BY session
    ) AS last WHERE eventloom_events.session = last.session AND eventloom_events.seq = last.seq`,
    [appName, userId, sessionId],
  );
}

describe('PostgresSessionService keeps the contract', () => {
  const isBusy = (): boolean => pool.waitingCount > 0 || pool.idleCount < pool.totalCount;
  const cases = sessionServiceConformance(async ({ platform }) => {
    // A case may end before its last statements.
    await expect.poll(isBusy).toBe(false);
    await pool.query(deleteRows);
    // Advancing the clock must not end a statement in progress.
    const another = () =>
      new PostgresSessionService({ pool, platform, queryTimeoutMs: 86_400_000, leaseClock: 'platform' });
    return { service: another(), another, isBusy, loseEvent };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
