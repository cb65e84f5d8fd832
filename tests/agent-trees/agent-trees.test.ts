import { createEvent, type Event, ObjectType } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import type { FixedPlatform } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { checkHistory } from './check-history.ts';
import { playConversation } from './play-conversation.ts';

const inMemory = (platform: FixedPlatform) => new InMemorySessionService({ platform });
const sqlite = (platform: FixedPlatform) => new SqliteSessionService({ path: ':memory:', platform });

/** More seeds: `pnpm agent-trees --from 1 --to 10000`. */
test.each([
  ['in memory', inMemory, 1, 200],
  ['on SQLite', sqlite, 201, 230],
] as const)('a session %s keeps every promise, whatever its agents and people do', async (_, create, from, to) => {
  const faults: Record<number, readonly string[]> = {};
  for (let seed = from; seed <= to; seed++) {
    const play = await playConversation(seed, create);
    if (play.faults.length > 0) faults[seed] = play.faults;
  }
  expect(faults).toEqual({});
});

test('a seed plays the same conversation again', async () => {
  const plays = [await playConversation(7, inMemory), await playConversation(7, inMemory)];
  expect(plays[0]?.events.length).toBeGreaterThan(1);
  expect(plays[1]).toEqual(plays[0]);
});

describe('checkHistory', () => {
  const call = { functionCall: { id: 'c1', name: 'pay', args: {} } };
  const response = { functionResponse: { id: 'c1', name: 'pay', response: { paid: true } } };
  let count = 0;
  const event = (init: Partial<Event>): Event =>
    createEvent({ id: `e${++count}`, invocationId: 'run', author: 'agent', ...init });
  const called = event({ content: { role: 'model', parts: [call] } });
  const responded = event({ content: { role: 'user', parts: [response] } });
  const waiting = event({ content: { role: 'model', parts: [call] }, longRunningToolIds: ['c1'] });
  const inner = event({ content: { role: 'model', parts: [call] }, longRunningToolIds: ['c1'], branch: 'a@1.b' });
  const end = event({ author: 'app', object: ObjectType.runnerEnd });

  test.each([
    ['nothing for a run whose call has its response', [called, responded, end], []],
    ['nothing for a run that waits', [waiting], []],
    ['an event that is stored twice', [called, responded, responded, end], ['is stored 2 times', 'has 2 responses']],
    ['a response without a call', [responded, end], ['answers no call']],
    ['a call without a response', [called, end], ['has no response although its run is over']],
    ['a waiting call of an inner agent, in a run that is over', [inner, end], ['on "a@1.b" has no response']],
    ['a call with two responses', [called, responded, { ...responded, id: 'e0' }, end], ['has 2 responses']],
    ['an event after the end', [called, end, responded], ['has 1 events after its end']],
    ['a run that waits for nobody', [called, responded], ['waits for nobody']],
  ])('finds %s', (_, events, found) => {
    const faults = checkHistory(events, true, new Set());
    expect(faults).toHaveLength(found.length);
    for (const text of found) expect(faults.join('\n')).toContain(text);
  });
});
