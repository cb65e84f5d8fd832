import { expect, test } from 'vitest';
import { asUser, newApp, seenIn, send } from './fixtures/app-state-user.ts';

test('removals are delivered, also of a key that the copy does not have', async () => {
  const app = newApp();
  await asUser(app, 'ann', async ({ sync, write }) => {
    await write({ 'app:a': 1, 'app:b': 2, 'app:c': 3 });
    await sync.deliver();
    await write({}, ['app:a']);
    await sync.deliver();
  });
  await asUser(app, 'bob', async ({ sync, write }) => {
    await write({}, ['app:b']);
    await sync.deliver();
  });
  expect(await seenIn(app)).toEqual({ 'app:c': 3 });
  await asUser(app, 'ann', async ({ again, platform, state }) => {
    platform.advance(1001);
    await again().refresh(app);
    expect(await state()).toEqual({ 'app:c': 3 });
  });
});

test('of two writes the later one counts, though it is delivered first, and both writers see it', async () => {
  const app = newApp();
  await asUser(app, 'ann', async ({ sync, write, state }) => {
    // More than one delivery, with the key in the last one: by then the newer value has passed by.
    await write(Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`app:k${at}`, at])));
    await write({ 'app:motto': 'older' });
    await asUser(app, 'bob', async (bob) => {
      await bob.write({ 'app:motto': 'newer' });
      await bob.sync.deliver();
    });
    await sync.deliver();
    expect(sync.hasPending).toBe(false);
    expect((await state())['app:motto']).toBe('newer');
  });
  expect((await seenIn(app))['app:motto']).toBe('newer');
});

test('a writer whose clock is ahead does not keep others from writing', async () => {
  const app = newApp();
  const pending = [{ seq: 1, writtenMs: Date.now() + 1_000_000, value: '"ahead"' }];
  await (await send(app, { sender: 'a', pending })).text();
  await asUser(app, 'ann', async ({ sync, write }) => {
    await write({ 'app:a': 'now' });
    await sync.deliver();
  });
  expect(await seenIn(app)).toEqual({ 'app:a': 'now' });
});

test('of two writes at the same time the same one counts, whichever is delivered first', async () => {
  const writtenMs = Date.now() - 1000;
  const ofUsers = ['ann', 'bob'].map((sender) => ({ sender, pending: [{ seq: 1, writtenMs, value: `"${sender}"` }] }));
  for (const deliveries of [ofUsers, ofUsers.toReversed()]) {
    const app = newApp();
    for (const delivery of deliveries) await (await send(app, delivery)).text();
    expect(await seenIn(app)).toEqual({ 'app:a': 'bob' });
  }
});

test('of two writes of one user at the same time the later one counts', async () => {
  const writtenMs = Date.now() - 1000;
  const app = newApp();
  for (const [seq, value] of [[1, '"first"'] as const, [2, '"second"'] as const]) {
    await (await send(app, { sender: 'ann', pending: [{ seq, writtenMs, value }] })).text();
  }
  expect(await seenIn(app)).toEqual({ 'app:a': 'second' });
});
