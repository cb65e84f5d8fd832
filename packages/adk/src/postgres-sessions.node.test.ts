import { createTestDatabase } from '@eventloom/test-postgres';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { refuseAdkTables } from './node/services.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

test.each(['adk_internal_metadata', 'app_states'])(
  'sessions in PostgreSQL refuse a database with the table %s of the ADK, and add no tables to it',
  async (table) => {
    const database = await createTestDatabase();
    const pool = new Pool({ connectionString: database.url });
    const open = () => new PostgresSessionService({ pool: refuseAdkTables(pool) });
    try {
      await pool.query(`CREATE TABLE ${table} (key text PRIMARY KEY, value text)`);
      await expect(open().getSession(KEY)).rejects.toMatchObject({
        code: 'CONFIGURATION',
        message: expect.stringContaining('the database has the tables of @google/adk'),
      });
      expect((await pool.query("SELECT FROM pg_tables WHERE tablename LIKE 'eventloom%'")).rowCount).toBe(0);
      await pool.query(`DROP TABLE ${table}`);
      await open().createSession(KEY);
      expect(await open().getSession(KEY)).toMatchObject({ id: 's' });
    } finally {
      await pool.end();
      await database.drop();
    }
  },
);
