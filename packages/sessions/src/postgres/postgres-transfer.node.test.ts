import type { BaseSessionService } from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { describe, test } from 'vitest';
import { type MakeService, sessionTransferConformance } from '../conformance/index.ts';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import { SqliteSessionService } from '../sqlite/index.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

const { pool } = useTestDatabase();
let schemas = 0;
const inPostgres: MakeService<BaseSessionService> = async ({ platform }) => ({
  service: new PostgresSessionService({ pool, platform, schema: `case_${schemas++}` }),
});
const others: Readonly<Record<string, MakeService<BaseSessionService>>> = {
  memory: async ({ platform }) => ({ service: new InMemorySessionService({ platform }) }),
  SQLite: async ({ platform }) => {
    const service = new SqliteSessionService({ path: ':memory:', platform });
    return { service, close: () => service.close() };
  },
};

for (const [name, makeOther] of Object.entries(others)) {
  for (const isSource of [true, false]) {
    describe(`sessions go ${isSource ? 'to' : 'from'} ${name} and back without loss`, () => {
      const cases = isSource
        ? sessionTransferConformance(inPostgres, makeOther)
        : sessionTransferConformance(makeOther, inPostgres);
      for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
    });
  }
}
