import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { sessionServiceConformance } from '../conformance/index.ts';
import { DurableObjectSessionService } from './durable-object-session-service.ts';

describe('DurableObjectSessionService keeps the contract', () => {
  let storage: DurableObjectStorage | undefined;
  const cases = sessionServiceConformance(async ({ platform }) => {
    if (!storage) return expect.unreachable('a case runs inside an object');
    return { service: new DurableObjectSessionService({ storage, platform }), maxBytes: 1_950_000 };
  });
  for (const { id, title, run } of cases) {
    test(`${id}: ${title}`, () =>
      runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, state) => {
        storage = state.storage;
        await run();
      }));
  }
});
