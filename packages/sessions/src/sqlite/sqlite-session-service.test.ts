import { describe, test } from 'vitest';
import { sessionServiceConformance } from '../conformance/index.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

describe('SqliteSessionService keeps the contract', () => {
  const cases = sessionServiceConformance(async ({ platform }) => {
    const service = new SqliteSessionService({ path: ':memory:', platform });
    return { service, close: () => service.close() };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
