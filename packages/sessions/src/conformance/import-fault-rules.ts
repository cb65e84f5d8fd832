import { type Event, InvalidRequestError, type SessionRecord, type ToolLedgerEntry } from '@eventloom/core';
import { recordsOf } from './records.ts';
import type { SessionRule, Subject } from './session-rule.ts';
import { KEY, OTHER_KEY, sampleEvent } from './samples.ts';

const STATE = { own: 1, 'user:name': 'Ada', 'app:motto': 'go' };
const CALL: ToolLedgerEntry = { invocationId: 'e-1', entryId: 'a', name: 'tool', status: 'started' };
const ONE = sampleEvent('one');
const TWO = sampleEvent('two');
const GOOD = recordsOf({ state: STATE }, [ONE, TWO], [CALL]);
const [HEADER, FIRST, SECOND, LEDGER, END] = GOOD as [
  SessionRecord,
  SessionRecord,
  SessionRecord,
  SessionRecord,
  SessionRecord,
];

/** Rules about the records that an import refuses. */
export const importFaultRules: readonly SessionRule[] = [
  {
    id: 'import.truncated-refused',
    title: 'Records without their end are InvalidRequestError, wherever they stop, and nothing is stored.',
    async check(subject) {
      for (let count = 0; count < GOOD.length; count++) {
        await refuses(subject, `the first ${count} records`, GOOD.slice(0, count));
      }
      await accepts(subject);
    },
  },
  {
    id: 'import.order-refused',
    title: 'Records that are out of order or repeated are InvalidRequestError, and nothing is stored.',
    async check(subject) {
      const faults: Readonly<Record<string, readonly SessionRecord[]>> = {
        'no header': [FIRST, SECOND, LEDGER, END],
        'a header after an event': [FIRST, HEADER, SECOND, LEDGER, END],
        'a second header': [HEADER, FIRST, HEADER, SECOND, LEDGER, END],
        'an event after a tool call': [HEADER, FIRST, LEDGER, SECOND, END],
        'an event after the end': [HEADER, FIRST, LEDGER, { type: 'end', events: 1, toolCalls: 1 }, SECOND],
        'a second end': [...GOOD, END],
        'another session after the end': [...GOOD, ...GOOD],
        'an event with a repeated id': recordsOf({ state: STATE }, [ONE, TWO, { ...ONE, author: 'other' }]),
        'a repeated tool call': recordsOf({ state: STATE }, [], [CALL, { ...CALL, status: 'finished' }]),
      };
      for (const [what, records] of Object.entries(faults)) await refuses(subject, what, records);
      await accepts(subject);
    },
  },
  {
    id: 'import.counts-refused',
    title: 'Records that do not match the counts of their end are InvalidRequestError, and nothing is stored.',
    async check(subject) {
      await refuses(subject, 'an event is missing', [HEADER, FIRST, LEDGER, END]);
      await refuses(subject, 'a tool call is missing', [HEADER, FIRST, SECOND, END]);
      for (const change of [
        { events: 1 },
        { events: 3 },
        { toolCalls: 0 },
        { events: '2' },
        { toolCalls: undefined },
      ]) {
        const end = { ...END, ...change } as SessionRecord;
        await refuses(subject, 'an end with other counts', [HEADER, FIRST, SECOND, LEDGER, end]);
      }
      await accepts(subject);
    },
  },
  {
    id: 'import.bad-header-refused',
    title: 'A header of another version or with invalid state is InvalidRequestError, and nothing is stored.',
    async check(subject) {
      const faults: Readonly<Record<string, object>> = {
        'a later version': { version: 2 },
        'no version': { version: undefined },
        'no time': { lastUpdateTime: undefined },
        'a time that is text': { lastUpdateTime: '5' },
        'a time before the epoch': { lastUpdateTime: -1 },
        'a time beyond all dates': { lastUpdateTime: 1e300 },
        'a time in milliseconds': { lastUpdateTime: 1_767_323_045_250 },
        'a time that is not a number': { lastUpdateTime: Number.NaN },
        'no state': { state: undefined },
        'state that is a list': { state: [] },
        'an invalid key': { state: { ...STATE, 'app:': 1 } },
        'an invalid value': { state: { ...STATE, at: new Map() } },
        'a temp: key': { state: { ...STATE, 'temp:x': 1 } },
        'without initial state': { initialState: null },
        'initial state of the user': { initialState: { 'user:name': 'Ada' } },
        'an invalid initial value': { initialState: { own: Number.NaN } },
        'an invalid name': { appName: '' },
        'no id': { id: undefined },
      };
      for (const [what, change] of Object.entries(faults)) {
        await refuses(subject, what, recordsOf({ state: STATE, ...change }, [ONE]));
      }
      await accepts(subject);
    },
  },
  {
    id: 'import.bad-records-refused',
    title: 'An invalid record is InvalidRequestError, and nothing is stored.',
    async check(subject) {
      const { actions } = ONE;
      const events: Readonly<Record<string, unknown>> = {
        'no event': undefined,
        'an event that is text': 'one',
        'no id': { ...ONE, id: undefined },
        'an empty id': { ...ONE, id: '' },
        'an over-long id': { ...ONE, id: 'i'.repeat(257) },
        'no author': { ...ONE, author: null },
        'no invocation': { ...ONE, invocationId: undefined },
        'no time': { ...ONE, timestamp: undefined },
        'a time that is not a number': { ...ONE, timestamp: Number.NaN },
        'no actions': { ...ONE, actions: undefined },
        'no delta': { ...ONE, actions: { artifactDelta: {} } },
        'a temp: key': { ...ONE, actions: { ...actions, stateDelta: { 'temp:x': 1 } } },
        'a temp: key that is removed': { ...ONE, actions: { ...actions, removedState: ['temp:x'] } },
        'a compaction without an end': { ...ONE, actions: { ...actions, compaction: { startTimestamp: 1 } } },
        'content that is text': { ...ONE, content: 'text' },
        'something that is not JSON': { ...ONE, customMetadata: { at: new Map() } },
        'a partial event': { ...ONE, partial: true },
      };
      for (const [what, event] of Object.entries(events)) {
        await refuses(subject, what, recordsOf({ state: STATE }, [TWO, event as Event]));
      }
      for (const toolCall of [
        undefined,
        'call',
        { ...CALL, entryId: '' },
        { ...CALL, entryId: 'c'.repeat(2305) },
        { ...CALL, name: '' },
        { ...CALL, invocationId: undefined },
        { ...CALL, status: 'over' },
        { ...CALL, response: 1n },
        { ...CALL, actions: [] },
        { ...CALL, actions: { escalate: 'yes' } },
        { ...CALL, actions: { stateDelta: { 'temp:x': 1 } } },
        { ...CALL, actions: { removedState: [''] } },
        { ...CALL, actions: { artifactDelta: { '../file': 1 } } },
      ]) {
        await refuses(subject, 'a bad tool call', recordsOf({ state: STATE }, [], [toolCall as ToolLedgerEntry]));
      }
      for (const record of [null, 'event', [], {}, { type: 'artifact' }]) {
        await refuses(subject, 'a record of an unknown type', [
          HEADER,
          FIRST,
          SECOND,
          LEDGER,
          record as SessionRecord,
          END,
        ]);
      }
      const records = [HEADER, FIRST, SECOND, LEDGER, END];
      for (const record of records) {
        const more = records.map((other) => (other === record ? { ...record, note: 'from another source' } : other));
        await refuses(subject, `an unknown field of a record of type ${record.type}`, more);
      }
      await accepts(subject);
    },
  },
  {
    id: 'import.source-error',
    title: 'An error that the records throw is rethrown, and nothing is stored.',
    async check(subject) {
      const { service, expect } = subject;
      const reason = new TypeError('the source broke');
      const records = async function* () {
        yield* GOOD.slice(0, -1);
        throw reason;
      };
      const error = await service.importSession({ records: records() }).catch((caught: unknown) => caught);
      expect.true('the error is that of the records', error === reason);
      await expectNothing(subject);
      await accepts(subject);
    },
  },
];

async function refuses(subject: Subject, what: string, records: readonly SessionRecord[]): Promise<void> {
  const { service, expect } = subject;
  await expect.rejects(`an import with ${what}`, service.importSession({ records }), InvalidRequestError);
  await expectNothing(subject);
}

/** Expects that no part of the records was stored, in any scope. */
async function expectNothing({ service, expect }: Subject): Promise<void> {
  expect.same('the session', await service.getSession(KEY), undefined);
  const other = await service.createSession(OTHER_KEY);
  expect.same('the state of another session', other.state, {});
  await service.deleteSession(OTHER_KEY);
}

/** Expects that the unchanged records are accepted. */
async function accepts({ service, expect }: Subject): Promise<void> {
  const session = await expect.fulfils('a valid import', service.importSession({ records: GOOD }));
  expect.same('the imported session', [session.state, session.events], [STATE, [ONE, TWO]]);
}
