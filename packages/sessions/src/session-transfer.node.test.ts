import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BaseSessionService } from '@eventloom/core';
import { afterAll, describe, test } from 'vitest';
import { type MakeService, sessionTransferConformance } from './conformance/index.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';
import { SqliteSessionService } from './sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const backEnds: Readonly<Record<string, MakeService<BaseSessionService>>> = {
  memory: async ({ platform }) => ({ service: new InMemorySessionService({ platform }) }),
  SQLite: async ({ platform }) => {
    const service = new SqliteSessionService({ path: join(folder, `${files++}.db`), platform });
    return { service, close: () => service.close() };
  },
};

for (const [from, makeSource] of Object.entries(backEnds)) {
  for (const [to, makeTarget] of Object.entries(backEnds)) {
    describe(`sessions go from ${from} to ${to} without loss`, () => {
      const cases = sessionTransferConformance(makeSource, makeTarget);
      for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
    });
  }
}
