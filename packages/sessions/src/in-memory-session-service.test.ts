import { describe, test } from 'vitest';
import { sessionServiceConformance } from './conformance/index.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';

describe('InMemorySessionService keeps the contract', () => {
  const cases = sessionServiceConformance(async ({ platform }) => ({
    service: new InMemorySessionService({ platform }),
  }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
