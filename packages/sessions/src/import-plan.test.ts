import { createEvent, type SessionRecord } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { recordsOf } from './conformance/records.ts';
import { planImport } from './import-plan.ts';

const NOW_MS = 1_800_000_000_000;
const ONE = createEvent({ id: 'one', invocationId: 'e-1', author: 'user', timestamp: 1 });
const CALL = { invocationId: 'e-1', entryId: 'a', name: 'tool', status: 'started' } as const;

/** Returns the error message for an import of these records. */
async function faultOf(records: readonly unknown[]): Promise<string> {
  const failure = await planImport({ records: records as SessionRecord[] }, NOW_MS).catch((error: unknown) => error);
  return failure instanceof Error ? failure.message : expect.unreachable('the import was planned');
}

describe('an invalid record is named by its number and the field', () => {
  test.each<[string, unknown[]]>([
    ['records[1]: appName: ', recordsOf({ appName: '' })],
    ['records[1]: userId: ', recordsOf({ userId: 5 as never })],
    ['records[1]: id: ', recordsOf({ id: 'i'.repeat(257) })],
    ['records[1]: lastUpdateTime: ', recordsOf({ lastUpdateTime: Number.NaN })],
    ['records[1]: state: ', recordsOf({ state: { ['k'.repeat(257)]: 1 } })],
    ['records[1]: state: ', recordsOf({ state: { own: 1n } })],
    ['records[1]: initialState: ', recordsOf({ initialState: [] as never })],
    ['records[3]: event.branch: ', recordsOf({}, [ONE, { ...ONE, id: 'two', branch: 5 as never }])],
    ['records[3]: event.id: ', recordsOf({}, [ONE, ONE])],
    ['records[2]: event: ', recordsOf({}, [null as never])],
    [
      'records[2]: event.actions.stateDelta: ',
      recordsOf({}, [{ ...ONE, actions: { ...ONE.actions, stateDelta: { ['k'.repeat(257)]: 1 } } }]),
    ],
    [
      'records[2]: event.actions.removedState: ',
      recordsOf({}, [{ ...ONE, actions: { ...ONE.actions, removedState: ['temp:x'] } }]),
    ],
    [
      'records[2]: event.actions.artifactDelta: ',
      recordsOf({}, [{ ...ONE, actions: { ...ONE.actions, artifactDelta: { '../x': 0 } } }]),
    ],
    ['records[2]: event.partial: ', recordsOf({}, [{ ...ONE, partial: true }])],
    ['records[3]: toolCall.entryId: ', recordsOf({}, [ONE], [{ ...CALL, entryId: '' }])],
    ['records[2]: toolCall.response.a: ', recordsOf({}, [], [{ ...CALL, response: { a: 1n } }])],
    ['records[2]: toolCall.actions', recordsOf({}, [], [{ ...CALL, actions: { escalate: 1 as never } }])],
    ['records[2]: toolCall: expected an object', recordsOf({}, [], [null as never])],
    ['records[3]: toolCall: ', recordsOf({}, [], [CALL, CALL])],
    ['records[2]: type: ', [recordsOf({})[0], { type: 'artifact' }]],
  ])('%s', async (message, records) => {
    expect((await faultOf(records)).slice(0, message.length)).toBe(message);
  });
});

test.each([0, 1, 1001, 1_767_323_045_123, 1_767_323_045_123.456, NOW_MS])(
  'the time %d ms is kept exactly',
  async (ms) => {
    const { updatedAtMs } = await planImport({ records: recordsOf({ lastUpdateTime: ms / 1000 }) }, NOW_MS);
    expect(updatedAtMs).toBe(ms);
    expect(updatedAtMs / 1000).toBe(ms / 1000);
  },
);
