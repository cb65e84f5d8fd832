import {
  type BeginRunRequest,
  type EventloomError,
  InvalidEventError,
  InvalidRequestError,
  SessionBusyError,
  SessionNotFoundError,
  SizeLimitError,
  StaleWriterError,
  StateKeyError,
} from '@eventloom/core';
import { expectStale } from './expect-stale.ts';
import { idsOf, KEY, passTime, readSession, sampleEvent, stateEvent, settle } from './samples.ts';
import type { PromisedService, SessionRule, Subject } from './session-rule.ts';
import { watch } from './watched-promise.ts';

const RUN = { ...KEY, invocationId: 'e-1' };

/** Messages that no back end stores, with their errors. */
const BAD_MESSAGES: readonly [BeginRunRequest['message'] & {}, typeof EventloomError][] = [
  [sampleEvent('bad', { customMetadata: { value: Number.NaN } }), InvalidEventError],
  [stateEvent('bad', { 'own\0': 1 }), StateKeyError],
  [sampleEvent('bad\0'), InvalidRequestError],
];

/** Expects that the session is free and has these events, and that the app has this number of open runs. */
async function expectUntouched(subject: Subject, ids: readonly string[], openRuns: number): Promise<void> {
  const { service, expect } = subject;
  expect.same('the events', idsOf(await readSession(subject)), ids);
  expect.same('the open runs', (await service.listOpenRuns(KEY)).runs.length, openRuns);
  const lease = await expect.fulfils('a lease of the session', service.acquireLease({ ...KEY, onBusy: 'reject' }));
  await service.releaseLease(lease);
}

async function createWith(service: PromisedService, ...ids: readonly string[]) {
  const session = await service.createSession(KEY);
  for (const id of ids) await service.appendEvent({ session, event: sampleEvent(id) });
  return session;
}

/** Rules about the first and the last call of a run. */
export const runRules: readonly SessionRule[] = [
  {
    id: 'run.begins',
    title: 'beginRun returns the lease and the stored session with the message as its last event.',
    async check(subject) {
      const { service, expect, platform } = subject;
      await createWith(service, 'one');
      platform.advance(5000);
      const { lease, session, message } = await service.beginRun({ ...RUN, message: sampleEvent('two') });
      expect.same('the lease', lease, { ...KEY, epoch: lease.epoch, ttlMs: 30_000, invocationId: 'e-1' });
      expect.same('the message', message, sampleEvent('two'));
      expect.same('the session', session, await readSession(subject));
      expect.same('its events', idsOf(session), ['one', 'two']);
      expect.same('the time of its update', session.lastUpdateTime, platform.now() / 1000);
      await expect.rejects('another run', service.beginRun({ ...RUN, onBusy: 'reject' }), SessionBusyError);
      await service.appendEvent({ session, event: sampleEvent('three'), lease });
      expect.same('the session after an append', session, await readSession(subject));
      expect.same('its number of events', session.lastSeq, 3);
    },
  },
  {
    id: 'run.begins-with-window',
    title: 'beginRun reads the events before its message that the request selects.',
    async check({ service, expect }) {
      let session = await createWith(service, 'one', 'two', 'three');
      for (const [read, ids] of [
        [{ numRecentEvents: 1 }, ['three']],
        [{ afterSeq: 3 }, ['m0']],
        [{ numRecentEvents: 0 }, []],
        [{ sinceCompaction: true, afterSeq: 2 }, ['three', 'm0', 'm1', 'm2']],
      ] as const) {
        const id = `m${session.lastSeq - 3}`;
        const begun = await service.beginRun({ ...RUN, read, message: sampleEvent(id) });
        ({ session } = begun);
        expect.same(`the events of ${JSON.stringify(read)}`, idsOf(session), [...ids, id]);
        await service.endRun(begun.lease, { session });
      }
      expect.same('the number of events', session.lastSeq, 7);
    },
  },
  {
    id: 'run.begins-without-message',
    title: 'beginRun without a message appends nothing.',
    async check(subject) {
      const { service, expect } = subject;
      await createWith(service, 'one');
      const { lease, session, message } = await service.beginRun(RUN);
      expect.same('the message', message, undefined);
      expect.same('the session', session, await readSession(subject));
      expect.same('its events', idsOf(session), ['one']);
      await service.appendEvent({ session, event: sampleEvent('two'), lease });
      expect.same('the events after an append', idsOf(await readSession(subject)), ['one', 'two']);
    },
  },
  {
    id: 'run.missing-session',
    title: 'beginRun is SessionNotFoundError for a session that does not exist, and does not create it.',
    async check({ service, expect }) {
      for (const message of [undefined, sampleEvent('one')]) {
        await expect.rejects('a run', service.beginRun({ ...RUN, message, resumable: true }), SessionNotFoundError);
      }
      expect.same('the session', await service.getSession(KEY), undefined);
      expect.same('the open runs', (await service.listOpenRuns(KEY)).runs, []);
    },
  },
  {
    id: 'run.creates',
    title: 'beginRun with create creates a session that does not exist, and uses an existing one as it is.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession({ ...KEY, sessionId: 'earlier', state: { 'user:name': 'Ada' } });
      const first = await service.beginRun({ ...RUN, create: true, message: sampleEvent('one') });
      expect.same('the session', first.session, await readSession(subject));
      expect.same('its state', first.session.state, { 'user:name': 'Ada' });
      await service.endRun(first.lease, { session: first.session, event: stateEvent('two', { own: 1 }) });
      const next = await service.beginRun({ ...RUN, create: true });
      expect.same('the events of the next run', idsOf(next.session), ['one', 'two']);
      expect.same('its state', next.session.state, { own: 1, 'user:name': 'Ada' });
      expect.same('its incarnation', next.session.incarnation, first.session.incarnation);
    },
  },
  {
    id: 'run.creates-once',
    title:
      'Of concurrent runs that create one session, one creates it, and each begins when the previous one has ended.',
    async check(subject) {
      const { service, expect, platform } = subject;
      const other = await subject.another();
      const ids = ['a', 'b', 'c', 'd'];
      const runs = ids.map(async (id, index) => {
        const where = index % 2 === 0 ? service : other;
        const request = { ...RUN, invocationId: `e-${id}`, create: true, message: sampleEvent(id) };
        const { lease, session } = await where.beginRun(request);
        await where.endRun(lease, { session, event: sampleEvent(`end of ${id}`) });
        return session;
      });
      const all = watch(Promise.all(runs));
      for (let step = 0; step < 200 && all.state === 'waiting'; step++) {
        await settle(subject);
        platform.advance(10);
      }
      const sessions = await expect.fulfils('the runs', all.promise);
      expect.same('the incarnations', new Set(sessions.map(({ incarnation }) => incarnation)).size, 1);
      const stored = idsOf(await readSession(subject));
      expect.same('the number of events', stored.length, 8);
      const ends = stored.filter((_, index) => index % 2 === 1);
      expect.same(
        'the ends',
        ends,
        stored.filter((_, index) => index % 2 === 0).map((id) => `end of ${id}`),
      );
    },
  },
  {
    id: 'run.deleted-during-wait',
    title: 'beginRun with create does not create a session again that is deleted while it waits: SessionNotFoundError.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      await service.beginRun({ ...RUN, create: true, message: sampleEvent('one') });
      const waiting = [service, service, other].map((where, index) =>
        watch(where.beginRun({ ...RUN, invocationId: `e-w${index}`, create: true })),
      );
      await settle(subject);
      await service.deleteSession(KEY);
      for (const { promise } of waiting) {
        await passTime(subject, 20_000, promise);
        await expect.rejects('the wait', promise, SessionNotFoundError);
      }
      expect.same('the session', await service.getSession(KEY), undefined);
    },
  },
  {
    id: 'run.message-state',
    title:
      'The state of the message is written in its scopes, and its temp: keys are in the session object of the run only.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession({ ...KEY, state: { own: 1, gone: true, 'app:motto': 'go' } });
      const delta = { own: 2, 'user:name': 'Ada', 'temp:scratch': 3 };
      const { session, message } = await service.beginRun({ ...RUN, message: stateEvent('one', delta, ['gone']) });
      const stored = { own: 2, 'user:name': 'Ada', 'app:motto': 'go' };
      expect.same('the state that the run sees', session.state, { ...stored, 'temp:scratch': 3 });
      expect.same('the stored state', (await readSession(subject)).state, stored);
      expect.same('the delta of the message', message?.actions.stateDelta, { own: 2, 'user:name': 'Ada' });
      const other = await service.createSession({ ...KEY, sessionId: 'other' });
      expect.same('the state of another session', other.state, { 'user:name': 'Ada', 'app:motto': 'go' });
    },
  },
  {
    id: 'run.bad-message-new-session',
    title: 'beginRun with create does not create a session or an open run if its message cannot be stored.',
    async check({ service, expect, maxBytes }) {
      const large = maxBytes === undefined ? [] : [stateEvent('large', { key: 'x'.repeat(maxBytes) })];
      const messages = [...BAD_MESSAGES, ...large.map((event) => [event, SizeLimitError] as const)];
      for (const [message, error] of messages) {
        await expect.rejects('a run', service.beginRun({ ...RUN, create: true, resumable: true, message }), error);
        expect.same('the session', await service.getSession(KEY), undefined);
        expect.same('the open runs', (await service.listOpenRuns(KEY)).runs, []);
      }
    },
  },
  {
    id: 'run.bad-message',
    title: 'beginRun leaves the session free and its state and open run unchanged if its message cannot be stored.',
    async check(subject) {
      const { service, expect, maxBytes } = subject;
      await createWith(service, 'one');
      const earlier = await service.beginRun({ ...RUN, resumable: true });
      await service.releaseLease(earlier.lease, { keepRunOpen: true });
      const large = maxBytes === undefined ? [] : [stateEvent('large', { a: 1, key: 'x'.repeat(maxBytes) })];
      const messages = [...BAD_MESSAGES, ...large.map((event) => [event, SizeLimitError] as const)];
      for (const [message, error] of messages) {
        await expect.rejects('a run', service.beginRun({ ...RUN, resumable: true, message }), error);
        await expectUntouched(subject, ['one'], 1);
      }
      expect.same('the state', (await readSession(subject)).state, {});
      expect.same('the attempts', (await service.listOpenRuns(KEY)).runs[0]?.attempts, 1);
    },
  },
  {
    id: 'run.bad-names',
    title: 'beginRun with invalid names, ids or times is InvalidRequestError.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      for (const bad of [
        { invocationId: '' },
        { invocationId: 'a\0b' },
        { invocationId: 'x'.repeat(257) },
        { sessionId: 'a\0b' },
        { ttlMs: 0 },
        { waitMs: -1 },
        { read: { numRecentEvents: -1 } },
      ]) {
        const run = service.beginRun({ ...RUN, ...bad, create: true });
        await expect.rejects(JSON.stringify(bad), run, InvalidRequestError);
      }
      expect.same('the sessions', (await service.listSessions(KEY)).sessions.length, 1);
    },
  },
  {
    id: 'run.same-message',
    title: 'beginRun returns the stored event and appends nothing if the session has an event of the message’s id.',
    async check(subject) {
      const { service, expect } = subject;
      await createWith(service, 'one', 'two');
      const { lease, session, message } = await service.beginRun({ ...RUN, message: stateEvent('one', { own: 1 }) });
      expect.same('the message', message, sampleEvent('one'));
      expect.same('the session', session, await readSession(subject));
      expect.same('its events', idsOf(session), ['one', 'two']);
      expect.same('its state', session.state, {});
      await service.appendEvent({ session, event: sampleEvent('three'), lease });
      expect.same('the events after an append', idsOf(await readSession(subject)), ['one', 'two', 'three']);
    },
  },
  {
    id: 'run.message-time',
    title:
      'A message with timestamp 0 gets the time of its append, and a message in a compacted time range is dated after the range.',
    async check(subject) {
      const { service, expect, platform } = subject;
      const session = await service.createSession(KEY);
      const endTimestamp = platform.now() / 1000 + 100;
      const compaction = {
        startTimestamp: 0,
        endTimestamp,
        compactedContent: { role: 'model', parts: [{ text: 's' }] },
      };
      const held = await service.acquireLease(KEY);
      const waiting = watch(service.beginRun({ ...RUN, message: sampleEvent('one', { timestamp: 0 }) }));
      await settle(subject);
      platform.advance(2000);
      await service.releaseLease(held);
      for (let step = 0; step < 50 && waiting.state === 'waiting'; step++) {
        await settle(subject);
        if (waiting.state === 'waiting') platform.advance(10);
      }
      const first = await waiting.promise;
      const sinceMs = platform.now() - 1000;
      expect.true('the time is that of the append', Number(first.message?.timestamp) * 1000 >= sinceMs);
      await service.endRun(first.lease, {
        session: first.session,
        event: sampleEvent('end', { actions: { compaction } }),
      });
      const next = await service.beginRun({ ...RUN, message: sampleEvent('two', { timestamp: endTimestamp - 1 }) });
      expect.true('the time is after the compaction', Number(next.message?.timestamp) > endTimestamp);
      expect.true('the time is right after it', Number(next.message?.timestamp) < endTimestamp + 1);
      expect.same('the stored message', (await readSession(subject)).events.at(-1), next.message);
      expect.same('the incarnation', next.session.incarnation, session.incarnation);
    },
  },
  {
    id: 'run.ends',
    title: 'endRun appends its event and frees the session.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const { lease, session } = await service.beginRun({ ...RUN, resumable: true, message: sampleEvent('one') });
      const event = stateEvent('end', { own: 1, 'user:name': 'Ada', 'temp:scratch': 2 });
      const stored = await service.endRun(lease, { session, event });
      expect.same('the event', stored, stateEvent('end', { own: 1, 'user:name': 'Ada' }));
      expect.same('the stored event', (await readSession(subject)).events.at(-1), stored);
      expect.same('the state of the run', session.state, { own: 1, 'user:name': 'Ada', 'temp:scratch': 2 });
      expect.same('the stored state', (await readSession(subject)).state, { own: 1, 'user:name': 'Ada' });
      expect.same('the number of events', session.lastSeq, 2);
      await expectUntouched(subject, ['one', 'end'], 0);
      await expectStale(subject, lease, 'a run that ended');
    },
  },
  {
    id: 'run.ends-open',
    title: 'endRun with keepRunOpen leaves the run open, and with without-attempt subtracts its attempt.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      for (const [keepRunOpen, attempts] of [
        [true, [1]],
        ['without-attempt', [1]],
        [false, []],
      ] as const) {
        const { lease, session } = await service.beginRun({ ...RUN, resumable: true });
        await service.endRun(lease, { session, event: sampleEvent(`left ${keepRunOpen}`), keepRunOpen });
        const { runs } = await service.listOpenRuns(KEY);
        const found = runs.map((run) => run.attempts);
        expect.same(`the attempts after keepRunOpen ${keepRunOpen}`, found, attempts);
        expect.same('the end of the lease', runs[0]?.heldUntilMs ?? 0, 0);
      }
    },
  },
  {
    id: 'run.ends-without-event',
    title: 'endRun without an event frees the session. Repeating it does not free the session of its next holder.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const { lease, session } = await service.beginRun({ ...RUN, resumable: true, message: sampleEvent('one') });
      const failed = { session, outcome: { state: 'failed', code: 'MODEL' } } as const;
      expect.same('the answer', await service.endRun(lease, failed), undefined);
      await expectUntouched(subject, ['one'], 0);
      const next = await service.acquireLease(KEY);
      await expect.fulfils('the same end again', service.endRun(lease, failed));
      await expect.fulfils('a renewal by the next holder', service.renewLease(next));
      for (const other of [{ state: 'completed' }, { state: 'failed', code: 'AGENT' }, undefined] as const)
        await expect.rejects('another end', service.endRun(lease, { session, outcome: other }), StaleWriterError);
      const { end } = expect.present('the run', await service.findRun({ ...KEY, id: RUN.invocationId }));
      expect.same('its end', end, { state: 'failed', code: 'MODEL', lastSeq: 1 });
    },
  },
  {
    id: 'run.ends-lost',
    title:
      'endRun without an event is StaleWriterError if the lease was lost and the run ended in another way, or is open.',
    async check(subject) {
      const { service, expect } = subject;
      const completed = { state: 'completed' } as const;
      await service.createSession(KEY);
      const { lease, session } = await service.beginRun({ ...RUN, message: sampleEvent('one') });
      const { lease: next } = await service.beginRun({ ...RUN, continues: true, onBusy: 'interrupt' });
      const end = () => service.endRun(lease, { session, outcome: completed });
      await expect.rejects('the end of the open run', end(), StaleWriterError);
      await service.releaseLease(next, { outcome: { state: 'interrupted', code: 'RUN_ABANDONED' } });
      await expect.rejects('the end of the closed run', end(), StaleWriterError);
      const record = expect.present('the run', await service.findRun({ ...KEY, id: RUN.invocationId }));
      expect.same('its end', record.end, { state: 'interrupted', code: 'RUN_ABANDONED', lastSeq: 1 });
    },
  },
  {
    id: 'run.ends-again',
    title: 'Repeating endRun returns the stored event and does not free the session of its next holder.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const { lease, session } = await service.beginRun({ ...RUN, message: sampleEvent('one') });
      const event = stateEvent('end', { own: 1 });
      const stored = await service.endRun(lease, { session, event });
      expect.same('the event', await service.endRun(lease, { session, event }), stored);
      const next = await service.beginRun({ ...RUN, invocationId: 'e-2', message: sampleEvent('two') });
      expect.same('the event later', await service.endRun(lease, { session, event }), stored);
      await expect.fulfils('a renewal by the next holder', service.renewLease(next.lease));
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'end', 'two']);
      expect.same('the events that the run sees', idsOf(session), ['one', 'end', 'two']);
      // An event that the run itself appended earlier.
      await service.appendEvent({ session: next.session, event: sampleEvent('three'), lease: next.lease });
      await service.endRun(next.lease, { session: next.session, event: sampleEvent('three') });
      await expectUntouched(subject, ['one', 'end', 'two', 'three'], 0);
    },
  },
  {
    id: 'run.ends-stale',
    title: 'endRun under a stale lease is StaleWriterError, appends nothing and does not free the session.',
    async check(subject) {
      const { service, expect } = subject;
      const { incarnation } = await service.createSession(KEY);
      const { lease, session } = await service.beginRun({ ...RUN, message: sampleEvent('one') });
      const { lease: next } = await service.beginRun({ ...RUN, continues: true, onBusy: 'interrupt' });
      const event = stateEvent('end', { own: 1 });
      await expect.rejects('the end', service.endRun(lease, { session, event }), StaleWriterError);
      await expect.fulfils('a renewal by the next holder', service.renewLease(next));
      expect.same('the events', idsOf(await readSession(subject)), ['one']);
      expect.same('the state', (await readSession(subject)).state, {});
      expect.same('the open runs', (await service.listOpenRuns(KEY)).runs.length, 1);
      const gone = { ...session, incarnation: `${incarnation}0` };
      const lost = service.endRun(next, { session: gone, event });
      await expect.rejects('the end in an earlier session', lost, SessionNotFoundError);
    },
  },
  {
    id: 'run.bad-end',
    title: 'endRun changes nothing and keeps the session held if its event cannot be stored.',
    async check(subject) {
      const { service, expect, maxBytes } = subject;
      await service.createSession(KEY);
      const { lease, session } = await service.beginRun({ ...RUN, resumable: true, message: sampleEvent('one') });
      const large = maxBytes === undefined ? [] : [stateEvent('large', { a: 1, key: 'x'.repeat(maxBytes) })];
      const ends = [...BAD_MESSAGES, ...large.map((event) => [event, SizeLimitError] as const)];
      for (const [event, error] of ends) {
        await expect.rejects('an end', service.endRun(lease, { session, event }), error);
        await expect.rejects('another run', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      }
      expect.same('the open runs', (await service.listOpenRuns(KEY)).runs.length, 1);
      expect.same('the session', await readSession(subject), session);
      await expect.fulfils('a good end', service.endRun(lease, { session, event: stateEvent('end', { own: 1 }) }));
      await expectUntouched(subject, ['one', 'end'], 0);
    },
  },
];
