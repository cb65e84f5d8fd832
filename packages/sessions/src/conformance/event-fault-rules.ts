import { type Event, InvalidArtifactNameError, InvalidEventError, InvalidRequestError } from '@eventloom/core';
import { faultyEvents, wholeEvent } from './faulty-events.ts';
import { recordsOf } from './records.ts';
import { KEY, OTHER_KEY, readSession, sampleEvent } from './samples.ts';
import type { SessionRule } from './session-rule.ts';

/** Rules about invalid events. No call stores one, because every reader of the session relies on the types of fields. */
export const eventFaultRules: readonly SessionRule[] = [
  {
    id: 'append.faulty-refused',
    title: 'Appending an event with a field of the wrong type is InvalidEventError, and nothing is stored.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      for (const [what, event] of faultyEvents('one')) {
        await expect.rejects(`an append with ${what}`, service.appendEvent({ session, event }), InvalidEventError);
      }
      for (const name of ['', '../file', '/file', 'a//b', 'a\\b']) {
        const event = sampleEvent('one', { actions: { artifactDelta: { [name]: 0 } } });
        const append = service.appendEvent({ session, event });
        await expect.rejects(`an append with artifact ${JSON.stringify(name)}`, append, InvalidArtifactNameError);
      }
      const { events, state, lastSeq } = await readSession(subject);
      expect.same('the stored events', { events, state, lastSeq }, { events: [], state: {}, lastSeq: 0 });
      expect.same('the session object', [session.events, session.state], [[], {}]);
      await expect.fulfils('a valid append', service.appendEvent({ session, event: wholeEvent('one') }));
    },
  },
  {
    id: 'import.faulty-refused',
    title: 'An import of an event that an append refuses is InvalidRequestError, and nothing is stored.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { own: 1, 'user:name': 'Ada', 'app:motto': 'go' };
      const refuses = async (what: string, event: Event): Promise<void> => {
        const records = recordsOf({ state }, [sampleEvent('two'), event]);
        await expect.rejects(`an import with ${what}`, service.importSession({ records }), InvalidRequestError);
      };
      for (const [what, event] of faultyEvents('one')) await refuses(what, event);
      const badNames = { 'a state key that is too long': { stateDelta: { ['k'.repeat(257)]: 1 } } };
      const badRemoval = { 'a removed key that is empty': { removedState: ['user:'] } };
      const badArtifact = { 'an artifact name outside the folder': { artifactDelta: { '../file': 0 } } };
      for (const [what, actions] of Object.entries({ ...badNames, ...badRemoval, ...badArtifact })) {
        await refuses(what, sampleEvent('one', { actions }));
      }
      const parts = [{ inlineData: { data: 'not base64!', mimeType: 'a/b' } }];
      await refuses('bytes that are not base64', sampleEvent('one', { content: { role: 'user', parts } }));
      expect.same('the session', await service.getSession(KEY), undefined);
      expect.same('the state of another session', (await service.createSession(OTHER_KEY)).state, {});
      const records = recordsOf({ state }, [wholeEvent('one')]);
      await expect.fulfils('a valid import', service.importSession({ records }));
    },
  },
  {
    id: 'import.as-appended',
    title:
      'An import stores the same fields of an event as an append: all, including unknown ones, except known fields that are null.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      for (const event of oddEvents()) await service.appendEvent({ session, event });
      await service.importSession({ records: recordsOf({}, oddEvents()), ...OTHER_KEY });
      const { events } = await readSession(subject);
      expect.same('the whole event', events[0], wholeEvent('whole'));
      expect.same('an event with unknown fields', events[1], withUnknown());
      expect.same('an event with nulls', events[2], sampleEvent('nulls', { content: { parts: [{}] } }));
      expect.same('the imported events', (await readSession(subject, OTHER_KEY)).events, events);
    },
  },
];

function oddEvents(): Event[] {
  return [
    wholeEvent('whole'),
    withUnknown(),
    withNulls(),
    sampleEvent('empty', { content: { parts: [] }, tags: [], longRunningToolIds: [], customMetadata: {} }),
    sampleEvent('before the epoch', { timestamp: -62_135_596_800, author: '', invocationId: '' }),
  ];
}

/** Returns an event with fields of a future version. */
function withUnknown(): Event {
  const someday = { some_day: null };
  const { content, actions } = sampleEvent('unknown');
  const parts = [{ text: 'text', someday }];
  return {
    ...sampleEvent('unknown'),
    content: { ...content, parts, someday },
    actions: { ...actions, someday },
    someday,
  } as Event;
}

function withNulls(): Event {
  const event = sampleEvent('nulls');
  const content = { role: null, parts: [{ text: null, functionCall: null }] };
  const actions = { ...event.actions, removedState: null, compaction: null, rewindBeforeInvocationId: null };
  return { ...event, branch: null, tags: null, error: null, content, actions } as unknown as Event;
}
