import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { memoryServiceConformance } from '../conformance/index.ts';
import { SqliteMemoryService } from './sqlite-memory-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('SqliteMemoryService keeps the contract', () => {
  let files = 0;
  const cases = memoryServiceConformance(async () => {
    const service = new SqliteMemoryService({ path: join(folder, `${files++}.db`) });
    return { service, close: () => service.close() };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
