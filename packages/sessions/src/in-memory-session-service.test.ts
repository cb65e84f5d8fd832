import { describe, expect, test } from 'vitest';
import { sessionServiceConformance } from './conformance/index.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';

describe('InMemorySessionService keeps the contract', () => {
  const cases = sessionServiceConformance(async ({ platform }) => ({
    service: new InMemorySessionService({ platform }),
  }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('InMemorySessionService keeps the finished calls of a run with many calls, in the order of their starts', async () => {
  const service = new InMemorySessionService();
  const session = await service.createSession({ appName: 'app', userId: 'ada' });
  const lease = await service.acquireLease({ appName: 'app', userId: 'ada', sessionId: session.id });
  const ids = Array.from({ length: 100 }, (_, index) => `event/call ${index}`);
  const record = (entryId: string, status: 'started' | 'finished'): unknown =>
    service.recordToolCall(lease, { invocationId: 'e-1', entryId, name: 'look', status });
  for (const id of ids) await record(id, 'started');
  for (const id of ids.toReversed()) await record(id, 'finished');
  for (const id of ids) await record(id, 'started');
  const calls = await service.listToolCalls({ ...lease, invocationId: 'e-1' });
  expect(calls.map(({ entryId, status }) => [entryId, status])).toEqual(ids.map((id) => [id, 'finished']));
});
