import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { sessionServiceConformance } from '../conformance/index.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

describe('PostgresSessionService keeps the contract', () => {
  let schemas = 0;
  const cases = sessionServiceConformance(async ({ platform }) => {
    const schema = `case_${schemas++}`;
    // Advancing the clock must not end a statement in progress.
    const another = () =>
      new PostgresSessionService({ pool, platform, schema, queryTimeoutMs: 86_400_000, leaseClock: 'platform' });
    const service = another();
    await service.migrate();
    return { service, another, isBusy: () => pool.waitingCount > 0 || pool.idleCount < pool.totalCount };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
