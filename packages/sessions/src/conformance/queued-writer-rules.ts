import { SessionBusyError, type SessionLease } from '@eventloom/core';
import type { SessionRule, Subject } from './session-rule.ts';
import { idsOf, KEY, passTime, readSession, sampleEvent, settle } from './samples.ts';
import { watch } from './watched-promise.ts';

/** Rules about writers that wait for a session. */
export const queuedWriterRules: readonly SessionRule[] = [
  {
    id: 'queue.append-waits',
    title:
      'An append without a lease waits in the queue like a run, and its session object gets the events stored before it.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const outside = await readSession(subject);
      const lease = await service.acquireLease(KEY);
      const append = watch(service.appendEvent({ session: outside, event: sampleEvent('without a lease') }));
      await settle(subject);
      expect.same('the append', append.state, 'waiting');
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      await service.releaseLease(lease);
      await expect.fulfils('the append', append.promise);
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'without a lease']);
      expect.same('the events of its object', idsOf(outside), ['one', 'without a lease']);
      await expect.fulfils('the session is free', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'queue.append-gives-up',
    title: 'An append without a lease is SessionBusyError if the session is held for 60 seconds.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await service.acquireLease({ ...KEY, ttlMs: 1_000_000 });
      const append = watch(service.appendEvent({ session, event: sampleEvent('without a lease') }));
      await settle(subject);
      await passTime(subject, 61_000, append.promise);
      await expect.rejects('the append', append.promise, SessionBusyError);
      expect.same('the events', idsOf(await readSession(subject)), []);
    },
  },
  {
    id: 'queue.mutual-exclusion',
    title: 'Concurrent runs that read and write under leases lose no event and are never interleaved.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession({ ...KEY, state: { count: 0 } });
      const runs = Array.from({ length: 8 }, (_, number) => run(subject, number));
      await expect.fulfils('the runs', Promise.all(runs));
      const stored = await readSession(subject);
      expect.same('the count', stored.state['count'], 16);
      const owners = idsOf(stored).map((id) => id.split(' ')[0]);
      const changes = owners.filter((owner, index) => owner !== owners[index - 1]).length;
      expect.same('how often the writer changed', changes, 8);
    },
  },
];

async function run(subject: Subject, number: number): Promise<void> {
  const { service } = subject;
  const lease: SessionLease = await service.acquireLease(KEY);
  const session = await readSession(subject);
  for (const step of [1, 2]) {
    const count = Number(session.state['count']);
    await Promise.resolve();
    const event = sampleEvent(`${number} ${step}`, { actions: { stateDelta: { count: count + 1 } } });
    await service.appendEvent({ session, event, lease });
  }
  await service.releaseLease(lease);
}
