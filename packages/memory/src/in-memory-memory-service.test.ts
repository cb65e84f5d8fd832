import { describe, test } from 'vitest';
import { memoryServiceConformance } from './conformance/index.ts';
import { InMemoryMemoryService } from './in-memory-memory-service.ts';

describe('InMemoryMemoryService keeps the contract', () => {
  const cases = memoryServiceConformance(async () => ({ service: new InMemoryMemoryService() }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
