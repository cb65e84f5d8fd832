import { type Event, InvalidEventError, SessionNotFoundError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

/** An event with a value in most of its fields, and with an unknown field. */
const RICH_EVENT = {
  ...sampleEvent('rich', {
    branch: 'parent.child',
    requestId: 'request',
    executionId: 'e-2',
    parentExecutionId: 'e-1',
    object: 'chat.completion',
    tags: ['one', 'two'],
    longRunningToolIds: ['call-1'],
    turnComplete: true,
    partial: false,
    finishReason: 'STOP',
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 5 },
    customMetadata: { snake_case: 1, nested: { list: [1, 'two', null] } },
    content: {
      role: 'model',
      parts: [
        { text: 'unicode ✅ 名前 \u2028 \0 "quoted"' },
        { functionCall: { id: 'call-1', name: 'tool', args: { __proto__key: [1.5, { deep: true }] } } },
        { inlineData: { mimeType: 'image/png', data: 'AAEC' } },
      ],
    },
    actions: {
      stateDelta: { key: { nested: [1] } },
      artifactDelta: { 'user:file.txt': 3 },
      agentState: { step: 2 },
      transferToAgent: 'other',
    },
  }),
  somethingNew: { kept: true },
} as Event;

/** Rules about what an append stores, returns and refuses. */
export const appendRules: readonly SessionRule[] = [
  {
    id: 'append.returns-stored',
    title: 'An append returns the stored event, and every field is read back unchanged, including unknown ones.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const returned = await service.appendEvent({ session, event: RICH_EVENT });
      expect.same('the returned event', returned, RICH_EVENT);
      expect.same('the stored event', (await readSession(subject)).events, [RICH_EVENT]);
    },
  },
  {
    id: 'append.sealed',
    title: 'Changing an event that was appended, returned or read does not change the stored one.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const event = sampleEvent('one');
      const returned = await service.appendEvent({ session, event });
      const read = await readSession(subject);
      for (const held of [event, returned, session.events[0], read.events[0]]) {
        const part = expect.present('the first part', held?.content?.parts?.[0]);
        Reflect.set(part, 'text', 'rewritten');
        Reflect.set(expect.present('the event', held).actions.stateDelta, 'rewritten', true);
      }
      expect.same('the stored events', (await readSession(subject)).events, [sampleEvent('one')]);
    },
  },
  {
    id: 'append.json-only',
    title: 'An event that is not JSON is refused with InvalidEventError, and nothing is stored.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const cycle: Record<string, unknown> = {};
      cycle['itself'] = cycle;
      for (const value of [new Map(), () => 1, Number.NaN, 1n, cycle]) {
        const event = sampleEvent('one', { customMetadata: { list: [value] } });
        await expect.rejects(
          `an append with a ${typeof value}`,
          service.appendEvent({ session, event }),
          InvalidEventError,
        );
      }
      expect.same('the stored events', (await readSession(subject)).events, []);
    },
  },
  {
    id: 'append.order',
    title: 'Events are read in the order in which they were appended, and counted.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const ids = Array.from({ length: 40 }, (_, index) => `event ${(index * 7) % 40}`);
      await appendAll(service, session, ids);
      const stored = await readSession(subject);
      expect.same('the stored events', idsOf(stored), ids);
      expect.same('lastSeq', stored.lastSeq, 40);
    },
  },
  {
    id: 'append.updates-session',
    title: 'An append brings the session object up to date: events, state, lastSeq and lastUpdateTime.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { before: 1 } });
      platform.advance(1500);
      await service.appendEvent({ session, event: stateEvent('one', { after: 1 }) });
      expect.same('its events', idsOf(session), ['one']);
      expect.same('its state', session.state, { before: 1, after: 1 });
      expect.same('its lastSeq', session.lastSeq, 1);
      expect.same('its lastUpdateTime', session.lastUpdateTime, platform.now() / 1000);
      expect.same('the stored session', await readSession(subject), session);
    },
  },
  {
    id: 'append.update-time',
    title: 'lastUpdateTime is the time of the last append in seconds; leases do not change it.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      platform.advance(2000);
      await service.appendEvent({ session, event: sampleEvent('one', { timestamp: 5 }) });
      const appended = platform.now() / 1000;
      platform.advance(3000);
      const lease = await service.acquireLease(KEY);
      await service.renewLease(lease);
      await service.releaseLease(lease);
      expect.same('the time of the session', (await readSession(subject)).lastUpdateTime, appended);
    },
  },
  {
    id: 'append.partial-not-stored',
    title: 'A partial event is returned unchanged and is not stored.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const event = { ...stateEvent('chunk', { own: 1, 'temp:scratch': 1 }), partial: true };
      expect.true('the event itself is returned', (await service.appendEvent({ session, event })) === event);
      const stored = await readSession(subject);
      for (const one of [session, stored])
        expect.same('the session', [one.events, one.state, one.lastSeq], [[], {}, 0]);
    },
  },
  {
    id: 'append.duplicate-id',
    title: 'Appending an event with an id that the session already has returns the stored event and changes nothing.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const ids = Array.from({ length: 30 }, (_, index) => `event ${index}`);
      await appendAll(service, session, ids);
      const before = await readSession(subject);
      platform.advance(1000);
      const lease = await service.acquireLease(KEY);
      for (const [id, under] of [
        ['event 0', lease],
        ['event 29', lease],
        ['event 3', undefined],
      ] as const) {
        if (!under) await service.releaseLease(lease);
        const again = { ...stateEvent(id, { changed: true, 'app:changed': true }), author: 'other' };
        const returned = await service.appendEvent({ session, event: again, lease: under });
        expect.same('the returned event', returned, sampleEvent(id));
        expect.same('the session object', idsOf(session), ids);
        expect.same('its state', session.state, {});
      }
      expect.same('the stored session', await readSession(subject), before);
    },
  },
  {
    id: 'append.missing-session',
    title: 'Appending to a session that does not exist or was deleted is SessionNotFoundError and creates nothing.',
    async check({ service, expect }) {
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      await service.deleteSession(KEY);
      const event = stateEvent('one', { 'app:late': 1 });
      await expect.rejects('the append', service.appendEvent({ session, event }), SessionNotFoundError);
      await expect.rejects(
        'an append with a lease',
        service.appendEvent({ session, event, lease }),
        SessionNotFoundError,
      );
      expect.same('the session', await service.getSession(KEY), undefined);
      expect.same('the state of the app', (await service.createSession(OTHER_KEY)).state, {});
    },
  },
];
