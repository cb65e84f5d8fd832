import { type SessionRecord, SessionNotFoundError, type ToolLedgerEntry } from '@eventloom/core';
import { exportAll, headerOf, importEvents } from './records.ts';
import type { SessionRule, Subject } from './session-rule.ts';
import { appendAll, KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

const STARTED: ToolLedgerEntry = { invocationId: 'e-1', entryId: 'b', name: 'tool', status: 'started' };
const FINISHED: ToolLedgerEntry = { ...STARTED, entryId: 'a', status: 'finished', response: { list: [null] } };

/** Rules about the records of an export. */
export const exportRules: readonly SessionRule[] = [
  {
    id: 'export.records',
    title:
      'An export has a header with the state, the events in append order, the tool calls, and an end with the counts.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { own: 1, 'user:name': 'Ada' } });
      const header = {
        type: 'session',
        version: 1,
        appName: KEY.appName,
        userId: KEY.userId,
        id: KEY.sessionId,
      } as const;
      const times = { lastUpdateTime: platform.now() / 1000 };
      expect.same('the export of a new session', await exportAll(service, KEY), [
        { ...header, ...times, initialState: { own: 1 }, state: { own: 1, 'user:name': 'Ada' } },
        { type: 'end', events: 0, toolCalls: 0 },
      ]);
      platform.advance(1234);
      const lease = await service.acquireLease(KEY);
      await service.recordToolCall(lease, STARTED);
      await service.recordToolCall(lease, FINISHED);
      await service.appendEvent({ session, event: stateEvent('two', { own: 2, 'app:motto': 'go' }), lease });
      await service.appendEvent({ session, event: sampleEvent('one', { timestamp: 5 }), lease });
      expect.same('the export', await exportAll(service, KEY), [
        {
          ...header,
          lastUpdateTime: platform.now() / 1000,
          initialState: { own: 1 },
          state: { own: 2, 'user:name': 'Ada', 'app:motto': 'go' },
        },
        { type: 'event', event: stateEvent('two', { own: 2, 'app:motto': 'go' }) },
        { type: 'event', event: sampleEvent('one', { timestamp: 5 }) },
        { type: 'toolCall', toolCall: STARTED },
        { type: 'toolCall', toolCall: FINISHED },
        { type: 'end', events: 2, toolCalls: 2 },
      ]);
    },
  },
  {
    id: 'export.initial-state',
    title:
      'The exported initial state is the state with which the session was created, without that of the user and the app.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { kept: 1, changed: { a: [1] }, removed: null, 'user:name': 'Ada', 'app:motto': 'go', 'temp:x': 1 };
      const initial = { kept: 1, changed: { a: [1] }, removed: null };
      const session = await service.createSession({ ...KEY, state });
      expect.same('the initial state', (await headerOf(subject, KEY)).initialState, initial);
      await service.appendEvent({
        session,
        event: stateEvent('one', { changed: 2, added: 1 }, ['removed', 'user:name']),
      });
      expect.same('the initial state after a change', (await headerOf(subject, KEY)).initialState, initial);
      await service.deleteSession(KEY);
      await service.createSession({ ...KEY, state: { other: 1 } });
      expect.same('the initial state of the recreated session', (await headerOf(subject, KEY)).initialState, {
        other: 1,
      });
    },
  },
  {
    id: 'export.one-moment',
    title: 'An export is a snapshot taken at its first record, without later writes.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { count: 0 } });
      await appendAll(service, session, ['one', 'two']);
      const lease = await service.acquireLease(KEY);
      await service.recordToolCall(lease, STARTED);
      const before = await exportAll(service, KEY);
      const seen: SessionRecord[] = [];
      for await (const record of service.exportSession(KEY)) {
        seen.push(record);
        if (seen.length > 3) continue;
        platform.advance(1000);
        await service.recordToolCall(lease, { ...FINISHED, entryId: `call ${seen.length}` });
        const delta = { count: seen.length, 'user:new': 1 };
        await service.appendEvent({ session, event: stateEvent(`more ${seen.length}`, delta), lease });
      }
      expect.same('the export', seen, before);
    },
  },
  {
    id: 'export.beside-a-writer',
    title: 'The state, events and tool calls of an export are from one moment, also while another caller writes.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { count: 0 } });
      const lease = await service.acquireLease(KEY);
      let writing = true;
      const write = async () => {
        for (let count = 1; count <= 40; count++) {
          await service.recordToolCall(lease, { ...STARTED, entryId: String(count) });
          await service.appendEvent({ session, event: stateEvent(String(count), { count }), lease });
        }
        writing = false;
      };
      const written = write();
      while (writing) checkMoment(subject, await exportAll(service, KEY));
      await expect.fulfils('the writer', written);
    },
  },
  {
    id: 'export.long-session',
    title: 'Every event of a long session is exported once, in order.',
    async check(subject) {
      await importEvents(subject, KEY, 2050);
      const records = await exportAll(subject.service, KEY);
      const ids = records.flatMap((record) => (record.type === 'event' ? [Number(record.event.id)] : []));
      subject.expect.same('the number of events', ids.length, 2050);
      subject.expect.same(
        'the events out of order',
        ids.filter((id, index) => id !== index + 1),
        [],
      );
      subject.expect.same('the end', records.at(-1), { type: 'end', events: 2050, toolCalls: 0 });
    },
  },
  {
    id: 'export.missing-session',
    title: 'Exporting a session that does not exist or was deleted is SessionNotFoundError.',
    async check({ service, expect }) {
      await expect.rejects('the export of a missing session', exportAll(service, KEY), SessionNotFoundError);
      await service.createSession(KEY);
      await service.deleteSession(KEY);
      await expect.rejects('the export of a deleted session', exportAll(service, KEY), SessionNotFoundError);
    },
  },
  {
    id: 'export.deleted-midway',
    title:
      'An export is SessionNotFoundError if the session is deleted before its events were read, even if it was created again.',
    async check(subject) {
      const { service, expect } = subject;
      for (const isRecreated of [false, true]) {
        await importEvents(subject, KEY, 2050);
        const records = service.exportSession(KEY);
        await records.next();
        await service.deleteSession(KEY);
        if (isRecreated) await importEvents(subject, KEY, 2050);
        await expect.rejects(`the rest (recreated: ${isRecreated})`, drain(records), SessionNotFoundError);
        await service.deleteSession(KEY);
      }
    },
  },
  {
    id: 'export.own-copy',
    title: 'Changing exported records does not change the stored session.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { list: [1], 'app:list': [1], 'user:list': [1] };
      const session = await service.createSession({ ...KEY, state });
      await appendAll(service, session, ['one']);
      const lease = await service.acquireLease(KEY);
      await service.recordToolCall(lease, FINISHED);
      const stored = await readSession(subject);
      const before = structuredClone(await exportAll(service, KEY));
      for await (const record of service.exportSession(KEY)) {
        if (record.type === 'session') for (const key in state) (record.state[key] as number[]).push(2);
        if (record.type === 'session') (record.initialState['list'] as number[]).push(2);
        if (record.type === 'toolCall') (record.toolCall.response?.['list'] as number[] | undefined)?.push(2);
        // An event may be frozen; it must only stay unchanged.
        if (record.type === 'event') Reflect.set(record.event.content?.parts?.[0] ?? {}, 'text', 'rewritten');
      }
      expect.same('the export afterwards', await exportAll(service, KEY), before);
      expect.same('the session afterwards', await readSession(subject), stored);
    },
  },
];

/** Checks that an export is a snapshot. The writer records call n, then appends event n, which sets `count` to n. */
function checkMoment({ expect }: Subject, records: readonly SessionRecord[]): void {
  const [header] = records;
  const events = records.filter(({ type }) => type === 'event').length;
  const calls = records.filter(({ type }) => type === 'toolCall').length;
  expect.same('the count in the state', header?.type === 'session' && header.state['count'], events);
  expect.true(`${events} events with ${calls} tool calls are of one moment`, calls === events || calls === events + 1);
  expect.same('the end', records.at(-1), { type: 'end', events, toolCalls: calls });
}

async function drain(records: AsyncIterable<SessionRecord>): Promise<void> {
  for await (const _ of records);
}
