import { describe, test } from 'vitest';
import { artifactServiceConformance } from './conformance/index.ts';
import { InMemoryArtifactService } from './in-memory-artifact-service.ts';

describe('InMemoryArtifactService keeps the contract', () => {
  const cases = artifactServiceConformance(async ({ platform }) => ({
    service: new InMemoryArtifactService({ platform }),
  }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
