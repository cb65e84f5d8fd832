import { describe, test } from 'vitest';
import { artifactServiceConformance } from '../conformance/index.ts';
import { FakeGcs } from './fixtures/fake-gcs.ts';
import { GcsArtifactService } from './gcs-artifact-service.ts';

describe('GcsArtifactService keeps the contract', () => {
  const cases = artifactServiceConformance(async ({ platform }) => {
    const fake = new FakeGcs();
    // Requests are created as `fetch` of workerd creates them: it refuses some options that browsers accept.
    const fetch = (url: string, init: RequestInit) => fake.answer(new Request(url, init));
    return { service: new GcsArtifactService({ bucket: 'files', platform, accessToken: () => 'token', fetch }) };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
