import { AbortGuard } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { Seat } from './seat.ts';
import { Turns } from './turns.ts';

test('what was stopped while the node that runs it waited for its turn does not commit', async () => {
  const step = new AbortGuard();
  const turns = new Turns(2);
  const before = new Seat(turns, step);
  const outer = new Seat(turns, step);
  const attempt = step.fork();
  const inner = new Seat(new Turns(1), attempt, outer);
  const committed: string[] = [];
  // The outer node is told when it begins to wait: its own turn is what is missing then.
  const waits = Promise.withResolvers<void>();
  outer.onWait = (isWaiting) => isWaiting && waits.resolve();
  const done = inner.commit(async () => committed.push('inner')).catch((error: unknown) => error);
  await waits.promise;
  attempt.abort(new Error('no more time'));
  await before.leave();
  expect(await done).toBeInstanceOf(Error);
  await outer.leave(async () => committed.push('outer'));
  expect(committed).toEqual(['outer']);
});
