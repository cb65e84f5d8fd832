import { env } from 'cloudflare:workers';
import { describe, test } from 'vitest';
import { artifactServiceConformance } from '../conformance/index.ts';
import { R2ArtifactService } from './r2-artifact-service.ts';

describe('R2ArtifactService keeps the contract', () => {
  const cases = artifactServiceConformance(async ({ platform }) => ({
    service: new R2ArtifactService({ bucket: env.ARTIFACTS, prefix: `${crypto.randomUUID()}/`, platform }),
  }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
