import { type SessionLease, StaleWriterError } from '@eventloom/core';
import type { Subject } from './session-rule.ts';
import { stateEvent } from './samples.ts';

let staleCalls = 0;

/** Expects that every write under a lease fails and changes nothing. */
export async function expectStale({ service, expect }: Subject, lease: SessionLease, who: string): Promise<void> {
  const session = await service.getSession(lease);
  const entry = { invocationId: 'e-stale', entryId: `call ${staleCalls++}`, name: 'tool', status: 'started' } as const;
  if (session) {
    const append = service.appendEvent({ session, event: stateEvent(`stale ${staleCalls}`, { stale: true }), lease });
    await expect.rejects(`an append of ${who}`, append, StaleWriterError);
  }
  await expect.rejects(`a renewal by ${who}`, service.renewLease(lease), StaleWriterError);
  await expect.rejects(`a tool call of ${who}`, service.recordToolCall(lease, entry), StaleWriterError);
  const calls = await service.listToolCalls({ ...lease, invocationId: 'e-stale' });
  expect.same(`the tool calls of ${who}`, calls, []);
  expect.same(`the session after ${who}`, await service.getSession(lease), session);
}
