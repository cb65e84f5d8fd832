import { AbortGuard } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { CommitTurn } from './commit-turn.ts';
import { CommitQueue } from './commit-queue.ts';

test('an attempt that is aborted while its parent node waits for a turn does not commit', async () => {
  const step = new AbortGuard();
  const commitQueue = new CommitQueue(2);
  const before = new CommitTurn(commitQueue, step);
  const outer = new CommitTurn(commitQueue, step);
  const attempt = step.fork();
  const inner = new CommitTurn(new CommitQueue(1), attempt, outer);
  const committed: string[] = [];
  // The outer node begins to wait when only its own turn is missing.
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

test('a node that has left the queue commits nothing more', async () => {
  const turn = new CommitTurn(new CommitQueue(1), new AbortGuard());
  const committed: string[] = [];
  const last = turn.leave(async () => committed.push('last'));
  await expect(turn.commit(async () => committed.push('late'))).rejects.toThrow('the node has ended');
  await last;
  expect(committed).toEqual(['last']);
});
