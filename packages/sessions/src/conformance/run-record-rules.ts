import {
  type BeginRunRequest,
  type EventloomError,
  InvalidEventError,
  InvalidRequestError,
  RequestKnownError,
  RunNotFoundError,
  type RunRecord,
  SessionBusyError,
  SessionNotFoundError,
  UnfinishedRunError,
} from '@eventloom/core';
import { openRun, openRunsOf } from './open-runs.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, passTime, readSession, sampleEvent, stateEvent, settle } from './samples.ts';
import type { SessionRule, Subject } from './session-rule.ts';
import { watch } from './watched-promise.ts';

const NEXT = { ...KEY, invocationId: 'e-2', onBusy: 'reject' } as const;

/** Returns the run records of a session in a form that can be compared. */
async function describeRuns({ service }: Subject, ...ids: readonly string[]): Promise<unknown[]> {
  const records = await Promise.all(ids.map(async (id) => service.findRun({ ...KEY, id })));
  return records.map((record) => record && show(record));
}

function show({ invocationId, firstSeq, open }: RunRecord): unknown {
  return [invocationId, firstSeq, ...(open ? [open.resumable, open.attempts] : [])];
}

/** Expects that a run is refused and nothing changes. */
async function expectRefused<T extends EventloomError>(
  subject: Subject,
  what: string,
  request: BeginRunRequest,
  type: typeof EventloomError & (abstract new (...args: never) => T),
): Promise<T> {
  const { service, expect } = subject;
  const look = async () => ({
    session: await service.getSession(request),
    open: (await service.listOpenRuns(KEY)).runs,
    runs: await describeRuns(subject, 'e-1', 'e-2', 'r-1', 'r-2'),
  });
  const before = await look();
  const error = await expect.rejects(what, service.beginRun(request), type);
  expect.same(`the stored records after ${what}`, await look(), before);
  return error as T;
}

/** Rules about the recorded runs of a session, and about which runs may begin. */
export const runRecordRules: readonly SessionRule[] = [
  {
    id: 'run.unfinished-refused',
    title: 'Beginning a run is UnfinishedRunError with the session’s other open run, and changes nothing.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      for (const resumable of [true, false]) {
        const lease = await openRun(subject, 'e-1', { resumable, message: sampleEvent(`begin ${resumable}`) });
        await service.releaseLease(lease, { keepRunOpen: true });
        for (const onBusy of ['reject', 'queue', 'interrupt'] as const) {
          for (const message of [undefined, stateEvent('two', { own: 1 })]) {
            const request = { ...NEXT, onBusy, message, create: true, resumable: !resumable, requestId: 'r-2' };
            const error = await expectRefused(subject, `a run with ${onBusy}`, request, UnfinishedRunError);
            const run = { ...KEY, invocationId: 'e-1', resumable, attempts: 1, heldUntilMs: 0 };
            expect.same('the run of the error', error.run, run);
          }
        }
        await expect
          .fulfils('a lease for no run', service.acquireLease({ ...KEY, onBusy: 'reject' }))
          .then((free) => service.releaseLease(free));
        await service.releaseLease(await openRun(subject, 'e-1', { continues: true }));
      }
      await expect.fulfils('a run after its end', openRun(subject, 'e-2'));
    },
  },
  {
    id: 'run.unfinished-waits',
    title:
      'A run that waits for a session begins when the other run has ended, and throws UnfinishedRunError if the other run was left open.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      for (const keepRunOpen of [true, false]) {
        const held = await openRun(subject, 'e-1', { continues: !keepRunOpen });
        await expect.rejects('a run that does not wait', openRun(subject, 'e-2'), SessionBusyError);
        const waiting = watch(service.beginRun({ ...NEXT, onBusy: 'queue', message: sampleEvent('two') }));
        await settle(subject);
        expect.same('the run that waits', waiting.state, 'waiting');
        await service.releaseLease(held, { keepRunOpen });
        await passTime(subject, 1000, waiting.promise);
        if (keepRunOpen) await expect.rejects('the run that waited', waiting.promise, UnfinishedRunError);
        else await expect.fulfils('the run that waited', waiting.promise);
      }
      expect.same('the events', idsOf(await readSession(subject)), ['two']);
    },
  },
  {
    id: 'run.unfinished-interrupt',
    title:
      'A run with onBusy interrupt is UnfinishedRunError at once while another run is open, and that run keeps the session.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await openRun(subject, 'e-1', { resumable: false, ttlMs: 1000 });
      const request = { ...NEXT, onBusy: 'interrupt' } as const;
      const error = await expectRefused(subject, 'the run', request, UnfinishedRunError);
      expect.same("the end of the other run's lease", error.run.heldUntilMs, platform.now() + 1000);
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      await openRun(subject, 'e-1', { onBusy: 'interrupt', continues: true, message: sampleEvent('two') });
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'two']);
      expect.same('the open run after an interruption by its own', await openRunsOf(subject), ['e-1: 2']);
    },
  },
  {
    id: 'run.request-known',
    title:
      'A second run with the same request id is RequestKnownError with the first run, at once, and changes nothing.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const first = await openRun(subject, 'e-1', { requestId: 'r-1', message: sampleEvent('one') });
      const expectKnown = async (): Promise<void> => {
        for (const onBusy of ['reject', 'queue', 'interrupt'] as const) {
          const request = { ...NEXT, onBusy, requestId: 'r-1', message: sampleEvent('two') };
          const error = await expectRefused(subject, `a run with ${onBusy}`, request, RequestKnownError);
          expect.same('the run of the error', error.invocationId, 'e-1');
        }
      };
      await expectKnown();
      const inLine = service.acquireLease(KEY);
      await settle(subject);
      await expectKnown();
      await service.releaseLease(first);
      await passTime(subject, 1000, inLine);
      await service.releaseLease(await inLine);
      await expectKnown();
      await service.releaseLease(await openRun(subject, 'e-1', { requestId: 'r-1', message: sampleEvent('one') }));
      expect.same('the events after the same run again', idsOf(await readSession(subject)), ['one']);
      await expect.fulfils('a run with another id', openRun(subject, 'e-2', { requestId: 'r-2' }));
    },
  },
  {
    id: 'run.request-of-session',
    title: 'A request id is known only in its session, and an invalid one is InvalidRequestError.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.createSession(OTHER_KEY);
      await openRun(subject, 'e-1', { requestId: 'r-1' });
      await expect.fulfils('a run', openRun(subject, 'e-2', { ...OTHER_KEY, requestId: 'r-1' }));
      expect.same('the run there', (await service.findRun({ ...OTHER_KEY, id: 'r-1' }))?.invocationId, 'e-2');
      expect.same('the run here', (await service.findRun({ ...KEY, id: 'r-1' }))?.invocationId, 'e-1');
      for (const requestId of ['', 'a\0b', 'x'.repeat(257)]) {
        const run = openRun(subject, 'e-1', { requestId });
        await expect.rejects(`the id ${JSON.stringify(requestId)}`, run, InvalidRequestError);
      }
    },
  },
  {
    id: 'run.requests-at-once',
    title: 'Of concurrent runs with one request id, one begins and the others are RequestKnownError with that run.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      await service.createSession(KEY);
      const begins = ['a', 'b', 'c', 'd'].map(async (id, index) => {
        const run = { ...KEY, invocationId: `e-${id}`, requestId: 'r-1', message: sampleEvent(id) };
        try {
          const { lease, session } = await (index % 2 === 0 ? service : other).beginRun(run);
          await service.endRun(lease, { session });
          return `begun: e-${id}`;
        } catch (error) {
          if (RequestKnownError.isInstance(error)) return `known: ${error.invocationId}`;
          throw error;
        }
      });
      const all = watch(Promise.all(begins));
      await passTime(subject, 1000, all.promise);
      const outcomes = await expect.fulfils('the runs', all.promise);
      const [event] = (await readSession(subject)).events;
      const known = `known: e-${event?.id}`;
      expect.same('the outcomes', outcomes.toSorted(), [`begun: e-${event?.id}`, known, known, known]);
      expect.same('the number of events', (await readSession(subject)).lastSeq, 1);
    },
  },
  {
    id: 'run.request-cancelled',
    title:
      'A request that is cancelled before its run begins is RequestKnownError from then on, also while it waits, and is found as interrupted.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      await service.createSession(KEY);
      const session = await readSession(subject);
      const held = await openRun(subject, 'e-1', { requestId: 'r-1', message: sampleEvent('one') });
      const requests = [service, other].map((each, index) =>
        watch(each.beginRun({ ...KEY, invocationId: `e-${index + 2}`, requestId: 'r-2', message: sampleEvent('two') })),
      );
      await settle(subject);
      expect.same(
        'the requests',
        requests.map(({ state }) => state),
        ['waiting', 'waiting'],
      );
      const record = {
        invocationId: 'r-2',
        firstSeq: 2,
        end: { state: 'interrupted', code: 'RUN_ABORTED', lastSeq: 1 },
      };
      for (const each of [service, other])
        expect.same('the record of the cancelled request', await each.cancelRequest({ ...KEY, id: 'r-2' }), record);
      await service.appendEvent({ session, event: sampleEvent('more'), lease: held });
      await service.releaseLease(held);
      for (const { promise } of requests) {
        await passTime(subject, 1000, promise);
        const error = (await expect.rejects('a request that waited', promise, RequestKnownError)) as RequestKnownError;
        expect.same('the run of its error', error.invocationId, 'r-2');
      }
      for (const onBusy of ['reject', 'queue', 'interrupt'] as const) {
        const request = { ...NEXT, onBusy, requestId: 'r-2', message: sampleEvent('two') };
        await expectRefused(subject, `the request again with ${onBusy}`, request, RequestKnownError);
      }
      expect.same('the record', await service.findRun({ ...KEY, id: 'r-2' }), record);
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'more']);
      expect.same('the open runs', await openRunsOf(subject), []);
      await expect.fulfils('another request', openRun(subject, 'e-2', { requestId: 'r-3' }));
    },
  },
  {
    id: 'run.request-begun-not-cancelled',
    title: 'cancelRequest returns the record of a run that began or continued with the request, and changes nothing.',
    async check(subject) {
      const { service, expect } = subject;
      const isUnknown = async (sessionId: string): Promise<unknown> =>
        service.cancelRequest({ ...KEY, sessionId, id: 'r-1' });
      expect.same('a session that does not exist', await isUnknown('missing'), undefined);
      expect.same('that session afterwards', await service.getSession({ ...KEY, sessionId: 'missing' }), undefined);
      await service.createSession(KEY);
      await service.releaseLease(await openRun(subject, 'e-1', { requestId: 'r-1', message: sampleEvent('one') }), {
        outcome: { state: 'completed' },
      });
      await openRun(subject, 'e-1', { requestId: 'r-2', continues: true });
      for (const id of ['e-1', 'r-1', 'r-2']) {
        const before = await service.findRun({ ...KEY, id });
        expect.same(`the run of ${id}`, before?.invocationId, 'e-1');
        expect.same(`the record of ${id}`, await service.cancelRequest({ ...KEY, id }), before);
        expect.same(`the record of ${id} afterwards`, await service.findRun({ ...KEY, id }), before);
      }
      for (const id of ['', 'a\0b', 'x'.repeat(257)]) {
        const cancelled = (async () => service.cancelRequest({ ...KEY, id }))();
        await expect.rejects(`the id ${JSON.stringify(id)}`, cancelled, InvalidRequestError);
      }
    },
  },
  {
    id: 'run.continues',
    title: 'An open run that continues keeps its value of resumable, and wasOpen is true if the run was open.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['one', 'two']);
      for (const [id, resumable] of [
        ['e-1', true],
        ['e-2', false],
      ] as const) {
        const run = { ...KEY, invocationId: id };
        const { lastSeq } = await readSession(subject);
        const first = await service.beginRun({ ...run, resumable, message: sampleEvent(`message of ${id}`) });
        expect.same('a run that begins', [first.firstSeq, first.wasOpen], [lastSeq + 1, false]);
        await service.releaseLease(first.lease, { keepRunOpen: true });
        const again = await service.beginRun({ ...run, resumable: !resumable, continues: true });
        expect.same('a run that was open', [again.firstSeq, again.wasOpen], [lastSeq + 1, true]);
        expect.same('its lease', again.lease.invocationId, id);
        expect.same('its record', await describeRuns(subject, id), [[id, lastSeq + 1, resumable, 2]]);
        await service.releaseLease(again.lease, { keepRunOpen: 'without-attempt' });
        expect.same('its record after it was refused', await describeRuns(subject, id), [
          [id, lastSeq + 1, resumable, 1],
        ]);
        await service.releaseLease(await openRun(subject, id, { continues: true }));
        expect.same('its record after its end', await describeRuns(subject, id), [[id, lastSeq + 1]]);
        const later = await service.beginRun({ ...run, resumable: !resumable, continues: true });
        expect.same('a run that had ended', [later.firstSeq, later.wasOpen], [lastSeq + 1, false]);
        expect.same('its record', await describeRuns(subject, id), [[id, lastSeq + 1, !resumable, 1]]);
        await service.releaseLease(later.lease);
      }
    },
  },
  {
    id: 'run.continues-unknown',
    title: 'Continuing a run that the session does not have is RunNotFoundError at once, and changes nothing.',
    async check(subject) {
      const { service, expect } = subject;
      const run = { ...NEXT, continues: true, create: true, resumable: true, message: sampleEvent('two') };
      await service.createSession(OTHER_KEY);
      await openRun(subject, 'e-2', { ...OTHER_KEY, requestId: 'r-2' });
      await service.createSession(KEY);
      await expectRefused(subject, 'a run in a session without runs', run, RunNotFoundError);
      const lease = await openRun(subject, 'e-1', { requestId: 'r-1', message: sampleEvent('one') });
      for (const onBusy of ['reject', 'queue', 'interrupt'] as const) {
        await expectRefused(subject, `a run with ${onBusy}`, { ...run, onBusy }, RunNotFoundError);
      }
      await service.releaseLease(lease, { keepRunOpen: true });
      await expectRefused(subject, 'a run beside another', run, RunNotFoundError);
      const byRequest = { ...run, invocationId: 'r-1' };
      await expectRefused(subject, 'a run by its request', byRequest, RunNotFoundError);
      const missing = { ...run, sessionId: 'missing' };
      await expectRefused(subject, 'a run of a session that does not exist', missing, SessionNotFoundError);
      expect.same('a session that does not exist', await service.getSession(missing), undefined);
    },
  },
  {
    id: 'run.found',
    title: 'findRun finds a run by its id and its request ids from its start on, open or ended.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['zero']);
      const first = await service.beginRun({
        ...KEY,
        invocationId: 'e-1',
        requestId: 'r-1',
        resumable: true,
        ttlMs: 1000,
        message: sampleEvent('one'),
      });
      const record = await service.findRun({ ...KEY, id: 'e-1' });
      const open = { resumable: true, attempts: 1, heldUntilMs: platform.now() + 1000 };
      expect.same('the record', record, { invocationId: 'e-1', firstSeq: 2, open });
      expect.same('the record by its request', await service.findRun({ ...KEY, id: 'r-1' }), record);
      await service.endRun(first.lease, { session: first.session, event: sampleEvent('end') });
      expect.same('the record after its end', await describeRuns(subject, 'e-1', 'r-1'), [
        ['e-1', 2],
        ['e-1', 2],
      ]);
      const again = await service.beginRun({ ...KEY, invocationId: 'e-1', requestId: 'r-2', continues: true });
      await service.releaseLease(again.lease);
      await service.releaseLease(await openRun(subject, 'e-2', { message: sampleEvent('two') }));
      expect.same('all of them', await describeRuns(subject, 'e-1', 'r-1', 'r-2', 'e-2', 'e-3'), [
        ['e-1', 2],
        ['e-1', 2],
        ['e-1', 2],
        ['e-2', 4],
        undefined,
      ]);
      expect.same('a run of another session', await service.findRun({ ...OTHER_KEY, id: 'e-1' }), undefined);
      await expect.rejects('an id that is empty', service.findRun({ ...KEY, id: '' }), InvalidRequestError);
    },
  },
  {
    id: 'run.bad-message-unknown',
    title: 'A run whose message cannot be stored is not recorded, and neither is its request.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const message = sampleEvent('bad', { customMetadata: { value: Number.NaN } });
      const run = openRun(subject, 'e-1', { requestId: 'r-1', message });
      await expect.rejects('a run', run, InvalidEventError);
      expect.same('the records', await describeRuns(subject, 'e-1', 'r-1'), [undefined, undefined]);
      await expect.fulfils('a run with the request', openRun(subject, 'e-2', { requestId: 'r-1' }));
    },
  },
  {
    id: 'run.forgotten',
    title:
      'Releasing a live lease with forget removes the records of those runs and requests, and the request id can be used again.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const first = await openRun(subject, 'e-1', { requestId: 'r-1' });
      const lease = await openRun(subject, 'e-1', { requestId: 'r-2', onBusy: 'interrupt', continues: true });
      await service.releaseLease(first, { forget: ['e-1', 'r-1'] });
      const [record] = await describeRuns(subject, 'e-1');
      expect.same('after the release of a lease that was lost', record, ['e-1', 1, true, 2]);
      await service.releaseLease(lease, { forget: ['r-2'] });
      const known = [['e-1', 1], ['e-1', 1], undefined];
      expect.same('without its request', await describeRuns(subject, 'e-1', 'r-1', 'r-2'), known);
      const last = await openRun(subject, 'e-1', { continues: true });
      await service.releaseLease(last, { forget: ['e-1'] });
      expect.same('the run and its request', await describeRuns(subject, 'e-1', 'r-1'), [undefined, undefined]);
      expect.same('the open runs', await openRunsOf(subject), []);
      await expect.rejects('the run', openRun(subject, 'e-1', { continues: true }), RunNotFoundError);
      await openRun(subject, 'e-2', { requestId: 'r-1', message: sampleEvent('two') });
      expect.same('the request', await describeRuns(subject, 'r-1'), [['e-2', 1, true, 1]]);
    },
  },
  {
    id: 'run.end-recorded',
    title:
      'A run has the recorded outcome, with the number of the session’s last event, once its lease was released with an outcome.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const first = await service.beginRun({
        ...KEY,
        invocationId: 'e-1',
        requestId: 'r-1',
        message: sampleEvent('one'),
      });
      expect.same('the end of an open run', (await service.findRun({ ...KEY, id: 'e-1' }))?.end, undefined);
      const failed = { state: 'failed', code: 'MODEL' } as const;
      const { lease, session } = first;
      await service.endRun(lease, { session, event: sampleEvent('end'), outcome: failed });
      // The same end again, as after a lost answer.
      await service.endRun(lease, { session, event: sampleEvent('end'), outcome: { state: 'completed' } });
      const end = { ...failed, lastSeq: 2 };
      expect.same('the end', (await service.findRun({ ...KEY, id: 'e-1' }))?.end, end);
      const second = await service.beginRun({ ...KEY, invocationId: 'e-2', message: sampleEvent('two') });
      await service.appendEvent({ session: second.session, event: sampleEvent('three'), lease: second.lease });
      await service.releaseLease(second.lease, { outcome: { state: 'completed' } });
      expect.same('a run without an event', (await service.findRun({ ...KEY, id: 'e-2' }))?.end, {
        state: 'completed',
        lastSeq: 4,
      });
      expect.same('the first run, by its request', (await service.findRun({ ...KEY, id: 'r-1' }))?.end, end);
      const left = await openRun(subject, 'e-3');
      await service.releaseLease(left, { keepRunOpen: true, outcome: { state: 'completed' } });
      const record = await service.findRun({ ...KEY, id: 'e-3' });
      expect.same('a run that is left open', [record?.end, record?.open?.attempts], [undefined, 1]);
      const again = await openRun(subject, 'e-3', { continues: true });
      await service.releaseLease(again);
      expect.same('a run released without an outcome', (await service.findRun({ ...KEY, id: 'e-3' }))?.end, undefined);
      const code = 'x'.repeat(257);
      const unclear = await openRun(subject, 'e-4');
      const release = async () => service.releaseLease(unclear, { outcome: { state: 'failed', code } });
      await expect.rejects('a code that is too long', release(), InvalidRequestError);
    },
  },
  {
    id: 'run.end-kept',
    title:
      'A run that is continued keeps its previous end while it is open, until it is released with another outcome.',
    async check(subject) {
      const { service, expect } = subject;
      const endOf = async () => (await service.findRun({ ...KEY, id: 'e-1' }))?.end;
      await service.createSession(KEY);
      await service.releaseLease(await openRun(subject, 'e-1', { message: sampleEvent('one') }), {
        outcome: { state: 'interrupted', code: 'RUN_ABORTED' },
      });
      const end = { state: 'interrupted', code: 'RUN_ABORTED', lastSeq: 1 } as const;
      expect.same('the first end', await endOf(), end);
      const lost = await openRun(subject, 'e-1', { continues: true, requestId: 'r-1' });
      expect.same('while the run continues', await endOf(), end);
      expect.same('by the request that continues it', (await service.findRun({ ...KEY, id: 'r-1' }))?.end, end);
      const taken = await openRun(subject, 'e-1', { continues: true, onBusy: 'interrupt' });
      await service.releaseLease(lost, { outcome: { state: 'completed' } });
      await service.releaseLease(taken, { forget: ['r-1'] });
      expect.same('after a release without an outcome', await endOf(), end);
      const last = await openRun(subject, 'e-1', { continues: true });
      await service.releaseLease(last, { outcome: { state: 'completed' } });
      expect.same('the last end', await endOf(), { state: 'completed', lastSeq: 1 });
    },
  },
  {
    id: 'run.gone-with-session',
    title: 'Deleting a session removes its runs, also for a new session with the same key.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await openRun(subject, 'e-1', { requestId: 'r-1' });
      await service.deleteSession(KEY);
      expect.same('the runs', await describeRuns(subject, 'e-1', 'r-1'), [undefined, undefined]);
      await service.createSession(KEY);
      expect.same('the runs of the new session', await describeRuns(subject, 'e-1', 'r-1'), [undefined, undefined]);
      await expect.fulfils('a run with the request', openRun(subject, 'e-2', { requestId: 'r-1' }));
    },
  },
  {
    id: 'run.imported',
    title: 'An imported session has the runs and the requests that its events name, and none of them is open.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const long = 'x'.repeat(257);
      for (const [id, invocationId, requestId] of [
        ['one', 'e-1', 'r-1'],
        ['two', 'e-1', undefined],
        ['three', 'e-2', undefined],
        ['four', 'e-1', 'r-2'],
        ['five', 'e-2', 'e-2'],
        ['six', long, long],
      ] as const) {
        await service.appendEvent({
          session,
          event: sampleEvent(id, { invocationId, ...(requestId === undefined ? {} : { requestId }) }),
        });
      }
      await service.releaseLease(await openRun(subject, 'e-9'), { keepRunOpen: true });
      await service.importSession({ records: service.exportSession(KEY), sessionId: OTHER_KEY.sessionId });
      const ids = ['e-1', 'r-1', 'r-2', 'e-2', 'e-9'];
      const records = await Promise.all(ids.map(async (id) => service.findRun({ ...OTHER_KEY, id })));
      expect.same(
        'the runs',
        records.map((record) => record && show(record)),
        [['e-1', 1], ['e-1', 1], ['e-1', 1], ['e-2', 3], undefined],
      );
      const continued = openRun(subject, 'e-2', { ...OTHER_KEY, continues: true });
      await service.releaseLease(await expect.fulfils('a run that continues', continued));
      const again = openRun(subject, 'e-3', { ...OTHER_KEY, requestId: 'r-1' });
      await expect.rejects('a run with a request of it', again, RequestKnownError);
    },
  },
];
