import { describe, expect, test } from 'vitest';
import { gathered, inAnyOrder, playKilled, contentsOf } from './fixtures/killed-run.ts';

test('a graph with all kinds of nodes pauses at its questions and continues with the answers', async () => {
  const { events, ran, session } = await playKilled(Infinity, false);
  expect(ran.filter((each) => !each.startsWith('tool'))).toEqual([
    'spread@1',
    'inner 1@1',
    'inner 2@1',
    'inner 3@1',
    'count@2',
    'read@2',
    'inner 1@2',
    'inner 2@2',
    'round@1',
    'round@2',
    'round@3',
    'first@4',
    'second@4',
    'agree@5',
  ]);
  expect(gathered(events)).toMatchObject({ read: { best: null, log: ['hi'] } });
  expect(session?.state).toMatchObject({ best: 12, left: 'left looked', right: 'right looked', did_finish: true });
  expect(events.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState).toMatchObject({
    output: { finish: 'done' },
  });
});

describe.each([false, true])('a graph that is killed, right after the commit: %s', (isAfter) => {
  test('ends with the same result at any point of the kill, and repeats no completed work', async () => {
    const whole = await playKilled(Infinity, false);
    expect(whole.commits).toBeGreaterThan(40);
    for (let at = 1; at <= whole.commits; at++) {
      const { events, redone, session } = await playKilled(at, isAfter);
      expect(redone, `killed at ${at}`).toEqual([]);
      expect(inAnyOrder(contentsOf(events)), `killed at ${at}`).toEqual(inAnyOrder(contentsOf(whole.events)));
      expect(session?.state, `killed at ${at}`).toEqual(whole.session?.state);
    }
  });
});
