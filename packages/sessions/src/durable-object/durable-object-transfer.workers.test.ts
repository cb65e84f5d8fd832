import type { BaseSessionService } from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { type ConformanceCase, type MakeService, sessionTransferConformance } from '../conformance/index.ts';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import { DurableObjectSessionService } from './durable-object-session-service.ts';

let storage: DurableObjectStorage | undefined;
const inMemory: MakeService<BaseSessionService> = async ({ platform }) => ({
  service: new InMemorySessionService({ platform }),
});
const inObject: MakeService<BaseSessionService> = async ({ platform }) => {
  if (!storage) return expect.unreachable('a case runs inside an object');
  return { service: new DurableObjectSessionService({ storage, platform }) };
};

const ways: Readonly<Record<string, ConformanceCase[]>> = {
  'from memory to an object': sessionTransferConformance(inMemory, inObject),
  'from an object to memory': sessionTransferConformance(inObject, inMemory),
};
for (const [way, cases] of Object.entries(ways)) {
  describe(`sessions go ${way} and back without loss`, () => {
    for (const { id, title, run } of cases) {
      test(`${id}: ${title}`, () =>
        runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, state) => {
          storage = state.storage;
          await run();
        }));
    }
  });
}
