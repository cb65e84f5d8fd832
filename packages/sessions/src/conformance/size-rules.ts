import {
  createEvent,
  type Event,
  type EventParams,
  type GetSessionConfig,
  type SessionKey,
  SizeLimitError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import { recordsOf } from './records.ts';
import type { SessionRule } from './session-rule.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

const MEGABYTE = 1_048_576;
const SCOPES = ['', 'user:', 'app:'] as const;
/** The number of values of a megabyte that the state of each scope has room for. */
const ALMOST_FULL = [
  ['app:', 3],
  ['user:', 3],
  ['', 16],
] as const;
const encoder = new TextEncoder();

/** Texts of a megabyte of UTF-8: with one byte per character, and with one to four. */
const TEXTS: Readonly<Record<string, string>> = {
  'plain text': 'x'.repeat(MEGABYTE),
  'text in many scripts': `x${'名前✅é🎈'.repeat(69_905)}`,
};

/** Rules about the size of values. */
export const sizeRules: readonly SessionRule[] = [
  {
    id: 'size.state',
    title: 'A state value of 1 MB is stored in every scope.',
    async check(subject) {
      const { service, expect } = subject;
      for (const [what, text] of Object.entries(TEXTS)) {
        for (const prefix of SCOPES) {
          // One app per value, so that no session reads all values.
          const key = { ...KEY, appName: `${prefix}${what}` };
          const session = await service.createSession({ ...key, state: { [`${prefix}created`]: text } });
          await service.appendEvent({ session, event: stateEvent('one', { [`${prefix}appended`]: { text } }) });
          const { state } = await readSession(subject, key);
          expect.true(`${what}, created as ${prefix}created`, state[`${prefix}created`] === text);
          const appended = state[`${prefix}appended`] as { readonly text?: string } | undefined;
          expect.true(`${what}, appended as ${prefix}appended`, appended?.text === text);
        }
      }
    },
  },
  {
    id: 'size.state-total',
    title:
      'A write is SizeLimitError and changes nothing if the state of the app or the user would take more than 4 MB, or that of the session more than 17 MB. It can always be made smaller.',
    async check(subject) {
      const { service, expect } = subject;
      const text = 'x'.repeat(MEGABYTE);
      for (const [prefix, most] of ALMOST_FULL) {
        const what = `${prefix}state`;
        const key = { ...KEY, appName: what };
        const names = Array.from({ length: most }, (_, index) => `${prefix}${index}`);
        const [first = '', ...others] = names;
        const stateOf = (keys: readonly string[]) => Object.fromEntries(keys.map((name) => [name, text]));
        const session = await service.createSession({ ...key, state: stateOf(others) });
        await service.appendEvent({ session, event: stateEvent(first, { [first]: text }) });
        const more = { small: 1, [`${prefix}more`]: text };
        const append = service.appendEvent({ session, event: stateEvent('more', more) });
        await expect.rejects(`an append to the ${what}`, append, SizeLimitError);
        const run = service.beginRun({ ...key, invocationId: 'e-1', message: stateEvent('run', more) });
        await expect.rejects(`a run that writes ${what}`, run, SizeLimitError);
        const state = stateOf([...names, `${prefix}more`]);
        const creation = service.createSession({ ...key, sessionId: 'other', state });
        await expect.rejects(`a creation with ${what}`, creation, SizeLimitError);
        const stored = await readSession(subject, key);
        expect.same(`the keys of the ${what}`, Object.keys(stored.state).toSorted(), names.toSorted());
        expect.same('the events', idsOf(stored), [first]);
        expect.same('the other session', await service.getSession({ ...key, sessionId: 'other' }), undefined);
        const smaller = stateEvent('smaller', { [first]: 'x' });
        await expect.fulfils(`a smaller ${what}`, service.appendEvent({ session, event: smaller }));
        await expect.fulfils(`room in the ${what}`, service.appendEvent({ session, event: stateEvent('room', more) }));
        if (prefix === '') continue;
        const records = recordsOf({ state: { [first]: text } });
        const imported = service.importSession({ records, ...key, sessionId: 'imported' });
        await expect.fulfils(`an import of ${what} with a key that exists`, imported);
      }
    },
  },
  {
    id: 'size.state-of-others',
    title: 'A write counts together with what other processes wrote before.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      const text = 'x'.repeat(MEGABYTE);
      for (const [prefix, most] of ALMOST_FULL) {
        const key = { ...KEY, appName: `${prefix}others` };
        const session = await service.createSession(key);
        await service.appendEvent({ session, event: stateEvent('small', { [`${prefix}small`]: 1 }) });
        const others = await readSession(subject, key);
        for (let index = 0; index < most; index++) {
          const event = stateEvent(`of others ${index}`, { [`${prefix}${index}`]: text });
          await other.appendEvent({ session: others, event });
        }
        const read = await readSession(subject, key);
        const append = service.appendEvent({
          session: read,
          event: stateEvent('more', { one: 1, [`${prefix}more`]: text }),
        });
        await expect.rejects(`an append to ${prefix}state`, append, SizeLimitError);
      }
    },
  },
  {
    id: 'size.check',
    title:
      'checkAppend is SizeLimitError for an event whose state is too large, also while another holds the session. It changes nothing, and accepts any event for a session that does not exist.',
    async check(subject) {
      const { service, expect } = subject;
      if (!service.checkAppend) return;
      const check = async (event: Event, key: SessionKey = KEY): Promise<void> =>
        service.checkAppend?.({ ...key, event });
      await service.createSession(KEY);
      const { lease } = await service.beginRun({ ...KEY, invocationId: 'e-1', message: sampleEvent('one') });
      const large = stateEvent('large', { own: 1, 'user:large': 'x'.repeat(5 * MEGABYTE) });
      await expect.rejects('a state that is too large', check(large), SizeLimitError);
      await expect.fulfils(
        'a state with room',
        check(stateEvent('small', { own: 1, 'user:small': 1, 'app:small': 1 })),
      );
      await expect.fulfils('a session that does not exist', check(large, OTHER_KEY));
      const { events, state } = await readSession(subject);
      expect.same('the session', [events.map(({ id }) => id), state], [['one'], {}]);
      expect.same('the other session', await service.getSession(OTHER_KEY), undefined);
      await expect.fulfils('a write of the holder', service.renewLease(lease));
    },
  },
  {
    id: 'size.events',
    title: 'An event with 1 MB of text is stored.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      for (const [what, text] of Object.entries(TEXTS)) {
        await appendAll(service, session, [`before ${what}`]);
        await service.appendEvent({ session, event: textEvent(what, text) });
      }
      const { events } = await readSession(subject);
      expect.same('the number of events', events.length, 4);
      for (const [what, text] of Object.entries(TEXTS)) {
        const event = events.find(({ id }) => id === what);
        expect.true(what, event?.content?.parts?.[0]?.text === text);
      }
    },
  },
  {
    id: 'size.count-within',
    title: 'countWithin counts the events of a window that have at most so many bytes, and at least one.',
    async check({ service, expect }) {
      const session = await service.createSession(KEY);
      for (const id of ['1', '2', '3', '4'])
        await service.appendEvent({ session, event: textEvent(id, 'x'.repeat(1_000_000)) });
      const count = async (config: GetSessionConfig, maxBytes = 2_100_000): Promise<number | undefined> =>
        service.countWithin?.({ ...KEY, config }, maxBytes);
      // Undefined in a back end whose events are in memory.
      if ((await count({})) === undefined) return;
      expect.same('the oldest', await count({}), 2);
      expect.same('one is larger than the limit', await count({ afterSeq: 1 }, 1000), 1);
      expect.same('all are smaller than the limit', await count({ afterSeq: 1 }, 10_000_000), 3);
      expect.same('the newest', await count({ numRecentEvents: 4, beforeSeq: 4 }), 2);
      expect.same('the newest of a small number', await count({ numRecentEvents: 1 }), 1);
      expect.same('the last', await count({ afterSeq: 3 }), 1);
      for (let size = 0; size < 3; size++) await service.appendEvent({ session, event: sampleEvent(`small ${size}`) });
      expect.same('the newest are small', await count({ numRecentEvents: 7 }, 1_100_000), 4);
      expect.same('the oldest are large', await count({}, 1_100_000), 1);
      expect.same('no session', await service.countWithin?.({ ...OTHER_KEY, config: {} }, 1), 1);
    },
  },
  {
    id: 'size.tool-responses',
    title: 'A tool response of 1 MB is recorded.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      for (const text of Object.values(TEXTS)) await service.recordToolCall(lease, callWith(String(text.length), text));
      const calls = await service.listToolCalls({ ...KEY, invocationId: 'e-1' });
      for (const [what, text] of Object.entries(TEXTS)) {
        const call = calls.find(({ entryId }) => entryId === String(text.length));
        expect.true(what, call?.response?.['text'] === text);
      }
    },
  },
  {
    id: 'size.limit-reached',
    title: 'A value of exactly the back end’s maximum size is stored.',
    async check(subject) {
      const { service, maxBytes, expect } = subject;
      if (maxBytes === undefined) return;
      for (const filler of ['x', '€']) {
        const value = fill(maxBytes, filler, (text) => text);
        const key = { ...KEY, sessionId: filler };
        const session = await expect.fulfils('the value', service.createSession({ ...key, state: { value } }));
        const event = fill(maxBytes, filler, (text) => textEvent('one', text));
        await expect.fulfils('the event', service.appendEvent({ session, event }));
        const lease = await service.acquireLease(key);
        const response = fill(maxBytes, filler, (text) => ({ text }));
        const call = { ...callWith('a', ''), response };
        await expect.fulfils('the response', service.recordToolCall(lease, call));
        const stored = await readSession(subject, key);
        expect.true('the value is stored', stored.state['value'] === value);
        const text = stored.events[0]?.content?.parts?.[0]?.text;
        expect.true('the event is stored', text === event.content?.parts?.[0]?.text);
        const [recorded] = await service.listToolCalls({ ...key, invocationId: 'e-1' });
        expect.true('the response is stored', recorded?.response?.['text'] === response.text);
      }
    },
  },
  {
    id: 'size.calls-apart',
    title: 'A tool response that is too large does not affect a call that is recorded at the same time.',
    async check({ service, maxBytes, expect }) {
      if (maxBytes === undefined) return;
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const large = { ...callWith('large', ''), response: fill(maxBytes + 1, 'x', (text) => ({ text })) };
      const small = callWith('small', 'x');
      const records = [large, small].map((entry) => service.recordToolCall(lease, entry));
      const settled = await Promise.allSettled(records);
      expect.same(
        'the outcomes',
        settled.map(({ status }) => status),
        ['rejected', 'fulfilled'],
      );
      expect.same('the calls', await service.listToolCalls({ ...KEY, invocationId: 'e-1' }), [small]);
    },
  },
  {
    id: 'size.limit-passed',
    title: 'A value that is larger than the back end’s maximum is SizeLimitError, and nothing is changed.',
    async check(subject) {
      const { service, maxBytes, expect } = subject;
      if (maxBytes === undefined) return;
      const session = await service.createSession({ ...KEY, state: { own: 1, 'user:own': 1, 'app:own': 1 } });
      const lease = await service.acquireLease(KEY);
      const before = await readSession(subject);
      for (const filler of ['x', '€']) {
        const value = fill(maxBytes + 1, filler, (text) => text);
        for (const prefix of SCOPES) {
          const state = { 'user:own': 2, 'app:own': 2, own: 2, [`${prefix}large`]: value };
          const creation = service.createSession({ ...OTHER_KEY, state });
          await expect.rejects(`a creation with ${prefix}large`, creation, SizeLimitError);
          const records = recordsOf({ id: OTHER_KEY.sessionId, state: { ...state, 'user:more': 1, 'app:more': 1 } });
          await expect.rejects(`an import with ${prefix}large`, service.importSession({ records }), SizeLimitError);
          const append = service.appendEvent({ session, event: stateEvent('large', state), lease });
          await expect.rejects(`an append with ${prefix}large`, append, SizeLimitError);
        }
        const event = fill(maxBytes + 1, filler, (text) =>
          textEvent('large', text, { actions: { stateDelta: { own: 2, 'user:own': 2, 'app:own': 2 } } }),
        );
        await expect.rejects('a large event', service.appendEvent({ session, event, lease }), SizeLimitError);
        const response = fill(maxBytes + 1, filler, (text) => ({ text }));
        const call = { ...callWith('large', ''), response };
        await expect.rejects('a large response', service.recordToolCall(lease, call), SizeLimitError);
        const records = recordsOf({ id: OTHER_KEY.sessionId, state: { 'user:more': 1 } }, [sampleEvent('one'), event]);
        await expect.rejects('an import with it', service.importSession({ records }), SizeLimitError);
        const ledger = recordsOf({ id: OTHER_KEY.sessionId, state: { 'user:more': 1 } }, [], [call]);
        await expect.rejects('an import of it', service.importSession({ records: ledger }), SizeLimitError);
      }
      expect.same('the session object', [idsOf(session), session.state, session.lastSeq], [[], before.state, 0]);
      expect.same('the stored session', await readSession(subject), before);
      expect.same('the other session', await service.getSession(OTHER_KEY), undefined);
      expect.same('the ledger', await service.listToolCalls({ ...KEY, invocationId: 'e-1' }), []);
      await expect.fulfils('an append', service.appendEvent({ session, event: sampleEvent('small'), lease }));
      expect.same('the events', idsOf(await readSession(subject)), ['small']);
    },
  },
];

function textEvent(id: string, text: string, params: EventParams = {}): Event {
  return createEvent({ ...sampleEvent(id, params), content: { role: 'user', parts: [{ text }] } });
}

function callWith(entryId: string, text: string): ToolLedgerEntry {
  return { invocationId: 'e-1', entryId, name: 'tool', status: 'finished', response: { text } };
}

/** Returns a value whose JSON has exactly this number of bytes: `filler` as often as it fits, then `x`. */
function fill<T>(bytes: number, filler: string, make: (text: string) => T): T {
  const room = bytes - sizeOf(make(''));
  const times = Math.floor(room / encoder.encode(filler).length);
  const text = filler.repeat(times);
  return make(text + 'x'.repeat(room - encoder.encode(text).length));
}

function sizeOf(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length;
}
