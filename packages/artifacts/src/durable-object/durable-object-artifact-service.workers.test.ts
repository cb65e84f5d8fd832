import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { artifactServiceConformance } from '../conformance/index.ts';
import { DurableObjectArtifactService } from './durable-object-artifact-service.ts';

describe('DurableObjectArtifactService keeps the contract', () => {
  let storage: DurableObjectStorage | undefined;
  const cases = artifactServiceConformance(async ({ platform }) => {
    if (!storage) return expect.unreachable('a case runs inside an object');
    return { service: new DurableObjectArtifactService({ storage, platform }) };
  });
  for (const { id, title, run } of cases) {
    test(`${id}: ${title}`, () =>
      runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, state) => {
        storage = state.storage;
        await run();
      }));
  }
});
