import { InvalidRequestError, type ToolLedgerEntry } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { KEY, OTHER_KEY } from './samples.ts';

const STARTED: ToolLedgerEntry = { invocationId: 'e-1', entryId: 'call-1', name: 'tool', status: 'started' };
const FINISHED: ToolLedgerEntry = {
  ...STARTED,
  status: 'finished',
  response: { result: [1, { two: null }], text: '✅' },
};
const CALLS = { ...KEY, invocationId: 'e-1' };

function byCallId(one: ToolLedgerEntry, other: ToolLedgerEntry): number {
  return one.entryId < other.entryId ? -1 : 1;
}

/** Rules about the ledger of tool calls. */
export const ledgerRules: readonly SessionRule[] = [
  {
    id: 'ledger.start-then-finish',
    title: 'A call is recorded when it starts and again when it ends, with its response.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      await service.recordToolCall(lease, STARTED);
      expect.same('the started call', await service.listToolCalls(CALLS), [STARTED]);
      await service.recordToolCall(lease, FINISHED);
      expect.same('the finished call', await service.listToolCalls(CALLS), [FINISHED]);
      expect.same('its response', (await service.listToolCalls(CALLS))[0]?.response, FINISHED.response);
      await service.releaseLease(lease);
      expect.same('the call after the release', await service.listToolCalls(CALLS), [FINISHED]);
    },
  },
  {
    id: 'ledger.actions',
    title: 'A finished call has its actions, with or without a response.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const actions = {
        stateDelta: { 'user:name': 'Ada', list: [1, { two: null }] },
        removedState: ['old'],
        artifactDelta: { 'user:file.txt': 3 },
        transferToAgent: 'other',
        escalate: true,
      };
      const calls: ToolLedgerEntry[] = [
        { ...FINISHED, actions },
        { ...STARTED, entryId: 'silent', status: 'finished', actions: { escalate: true } },
        { ...FINISHED, entryId: 'plain' },
      ];
      for (const call of calls) {
        await service.recordToolCall(lease, { ...STARTED, entryId: call.entryId });
        await service.recordToolCall(lease, call);
      }
      expect.same('the calls', await service.listToolCalls(CALLS), calls);
      expect.same('the call without actions', 'actions' in ((await service.listToolCalls(CALLS))[2] ?? {}), false);
    },
  },
  {
    id: 'ledger.parts',
    title: 'A finished call has the parts of its response.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const calls: ToolLedgerEntry[] = [
        {
          ...FINISHED,
          parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }, { fileData: { fileUri: 'gs://a' } }],
        },
        { ...FINISHED, entryId: 'plain' },
        { ...FINISHED, entryId: 'odd', response: { parts: [[1], { response: 1 }] }, parts: [] },
      ];
      for (const call of calls) await service.recordToolCall(lease, call);
      expect.same('the calls', await service.listToolCalls(CALLS), calls);
      expect.same('the call without parts', 'parts' in ((await service.listToolCalls(CALLS))[1] ?? {}), false);
      const refused = { ...STARTED, entryId: 'alone', parts: [] };
      await expect.rejects('parts without a response', service.recordToolCall(lease, refused), InvalidRequestError);
    },
  },
  {
    id: 'ledger.finished-stays',
    title: 'The entry of a finished call is not changed by later records.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      await service.recordToolCall(lease, FINISHED);
      const later = [STARTED, { ...FINISHED, response: { other: true } }, { ...FINISHED, name: 'renamed' }];
      for (const entry of later) {
        await expect.fulfils('recording the call again', service.recordToolCall(lease, entry));
        expect.same('the call', await service.listToolCalls(CALLS), [FINISHED]);
      }
    },
  },
  {
    id: 'ledger.without-response',
    title: 'A finished call may have no response, and may be recorded without a start.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const entry: ToolLedgerEntry = { ...STARTED, status: 'finished' };
      await service.recordToolCall(lease, entry);
      const [call] = await service.listToolCalls(CALLS);
      expect.same('the call', call, entry);
      expect.same('has a response', call && 'response' in call, false);
    },
  },
  {
    id: 'ledger.order',
    title: 'The calls of an invocation are listed in the order in which they started.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const ids = ['z', 'a', 'm', 'b'];
      for (const entryId of ids) await service.recordToolCall(lease, { ...STARTED, entryId });
      for (const entryId of ['b', 'z']) await service.recordToolCall(lease, { ...FINISHED, entryId });
      const calls = await service.listToolCalls(CALLS);
      expect.same(
        'the calls',
        calls.map(({ entryId }) => entryId),
        ids,
      );
      expect.same(
        'their states',
        calls.map(({ status }) => status),
        ['finished', 'started', 'started', 'finished'],
      );
    },
  },
  {
    id: 'ledger.at-once',
    title: 'Calls that are recorded at the same time are all stored; of two entries of one call, the finished one.',
    async check({ service, expect }) {
      for (const key of [KEY, OTHER_KEY]) await service.createSession(key);
      const leases = [await service.acquireLease(KEY), await service.acquireLease(OTHER_KEY)];
      const ids = ['a', 'b', 'c', 'd'];
      const recordAll = (entries: readonly ToolLedgerEntry[]) =>
        Promise.all(leases.flatMap((lease) => entries.map((entry) => service.recordToolCall(lease, entry))));
      await recordAll(ids.map((entryId) => ({ ...STARTED, entryId })));
      const ends = ids.flatMap((entryId) => [FINISHED, STARTED].map((entry) => ({ ...entry, entryId })));
      await recordAll([...ends, { ...STARTED, invocationId: 'e-2', entryId: 'a' }]);
      for (const key of [KEY, OTHER_KEY]) {
        const calls = await service.listToolCalls({ ...key, invocationId: 'e-1' });
        const finished = ids.map((entryId) => ({ ...FINISHED, entryId }));
        expect.same('the calls', calls.toSorted(byCallId), finished);
        const others = await service.listToolCalls({ ...key, invocationId: 'e-2' });
        expect.same('the call of the other run', others, [{ ...STARTED, invocationId: 'e-2', entryId: 'a' }]);
      }
    },
  },
  {
    id: 'ledger.invocations-apart',
    title: 'Call ids are unique only within an invocation of a session.',
    async check({ service, expect }) {
      for (const key of [KEY, OTHER_KEY]) {
        await service.createSession(key);
        const lease = await service.acquireLease(key);
        for (const invocationId of ['e-1', 'e-2']) {
          const response = { from: `${key.sessionId} ${invocationId}` };
          await service.recordToolCall(lease, { ...FINISHED, invocationId, response });
        }
      }
      for (const key of [KEY, OTHER_KEY]) {
        for (const invocationId of ['e-1', 'e-2']) {
          const calls = await service.listToolCalls({ ...key, invocationId });
          expect.same(
            'the responses',
            calls.map(({ response }) => response),
            [{ from: `${key.sessionId} ${invocationId}` }],
          );
        }
      }
      expect.same('an invocation without calls', await service.listToolCalls({ ...KEY, invocationId: 'e-3' }), []);
      const missing = { ...KEY, sessionId: 'missing', invocationId: 'e-1' };
      expect.same('a missing session', await service.listToolCalls(missing), []);
    },
  },
  {
    id: 'ledger.own-copy',
    title: 'Changing a recorded or a listed entry does not change the stored one.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const response = { list: [1] };
      await service.recordToolCall(lease, { ...FINISHED, response });
      response.list.push(2);
      const [call] = await service.listToolCalls(CALLS);
      (call?.response?.['list'] as number[] | undefined)?.push(3);
      expect.same('the stored response', (await service.listToolCalls(CALLS))[0]?.response, { list: [1] });
    },
  },
  {
    id: 'ledger.bad-entries-refused',
    title: 'A call without ids or with a response that is not JSON is refused, and nothing is stored.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const bad: Readonly<Record<string, ToolLedgerEntry>> = {
        'no invocation id': { ...STARTED, invocationId: '' },
        'no entry id': { ...STARTED, entryId: '' },
        'an entry id with NUL': { ...STARTED, entryId: 'a\0b' },
        'a response that is a list': { ...FINISHED, response: [1] as never },
        'actions that are a list': { ...FINISHED, actions: [] as never },
        'a Map in the actions': { ...FINISHED, actions: { stateDelta: { at: new Map() } } },
        'a Map in the response': { ...FINISHED, response: { at: new Map() } },
        'a bigint in the response': { ...FINISHED, response: { at: { deep: 1n } } },
      };
      for (const [what, entry] of Object.entries(bad)) {
        await expect.rejects(what, service.recordToolCall(lease, entry), InvalidRequestError);
      }
      expect.same('the ledger', await service.listToolCalls(CALLS), []);
      const long = { ...STARTED, entryId: 'c'.repeat(2048) };
      await expect.fulfils('a long entry id', service.recordToolCall(lease, long));
      expect.same('the ledger with a long id', await service.listToolCalls(CALLS), [long]);
    },
  },
];
