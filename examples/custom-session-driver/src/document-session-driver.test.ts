import { createEvent, type Platform, SessionBusyError } from '@eventloom/core';
import { DriverSessionService, InMemorySessionService } from '@eventloom/sessions';
import { sessionServiceConformance, sessionTransferConformance } from '@eventloom/sessions/conformance';
import { describe, expect, test, vi } from 'vitest';
import { DocumentSessionDriver } from './document-session-driver.ts';
import { InMemoryDocumentStore } from './in-memory-document-store.ts';

// Some cases store 1,000 sessions or runs, for which the five seconds of vitest may be too short.
vi.setConfig({ testTimeout: 300_000 });

const makeService = async ({ platform }: { readonly platform: Platform }) => {
  const store = new InMemoryDocumentStore();
  const another = () => new DriverSessionService(new DocumentSessionDriver(store), { platform });
  return { service: another(), another };
};
const makeInMemory = async ({ platform }: { readonly platform: Platform }) => ({
  service: new InMemorySessionService({ platform }),
});

describe('the document session driver keeps the contract', () => {
  for (const { id, title, run } of sessionServiceConformance(makeService)) test(`${id}: ${title}`, run);
});

describe('sessions are copied from memory to documents and back without loss', () => {
  const cases = sessionTransferConformance(makeInMemory, makeService);
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('two processes that share a store write in turn and lose no event', async () => {
  const store = new InMemoryDocumentStore();
  const one = new DriverSessionService(new DocumentSessionDriver(store));
  const other = new DriverSessionService(new DocumentSessionDriver(store));
  const key = { appName: 'app', userId: 'user', sessionId: 'session' };
  await one.createSession(key);
  const lease = await one.acquireLease(key);
  await expect(other.acquireLease({ ...key, onBusy: 'reject' })).rejects.toBeInstanceOf(SessionBusyError);
  await one.releaseLease(lease);
  const ids = Array.from({ length: 20 }, (_, index) => `event ${index}`);
  const appends = ids.map(async (id, index) => {
    const service = index % 2 === 0 ? one : other;
    const session = await service.getOrCreateSession(key);
    await service.appendEvent({ session, event: createEvent({ id, author: 'user' }) });
  });
  await Promise.all(appends);
  const stored = await other.getSession(key);
  expect(stored?.events.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
});
