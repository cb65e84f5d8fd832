import { expect, test } from 'vitest';
import { asUser, down, hangs, newApp, seenIn, send } from './fixtures/app-state-user.ts';

test('a change that cannot be delivered is retried at growing intervals, and reported once', async () => {
  const app = newApp();
  await asUser(app, 'ann', async ({ sync, way, platform, reported, write }) => {
    way.way = down;
    await write({ 'app:a': 1 });
    await sync.deliver();
    const waits: number[] = [];
    for (let attempt = 0; attempt < 12; attempt++) {
      const waitMs = sync.dueMs - platform.now();
      waits.push(waitMs);
      platform.advance(waitMs - 1);
      await sync.deliver();
      await sync.refresh(app);
      expect(way.asked).toBe(attempt + 1);
      platform.advance(1);
      await sync.deliver();
    }
    expect(waits[0]).toBeLessThan(7000);
    expect(waits[5]).toBeGreaterThan(20_000);
    expect(waits.at(-1)).toBeGreaterThan(200_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(375_000);
    expect(reported).toHaveLength(1);
    way.way = undefined;
    platform.advance(sync.dueMs - platform.now());
    await sync.deliver();
    expect([sync.hasPending, sync.dueMs]).toEqual([false, Infinity]);
    way.way = down;
    platform.advance(1001);
    await sync.refresh(app);
    expect(reported).toHaveLength(2);
  });
  expect(await seenIn(app)).toEqual({ 'app:a': 1 });
});

test('objects whose deliveries fail retry at different times', async () => {
  await asUser(newApp(), 'ann', async ({ way, platform, again, write }) => {
    way.way = down;
    await write({ 'app:a': 1 });
    const waits: number[] = [];
    for (const random of [0, 0.5, 0.9]) {
      platform.random = () => random;
      const sync = again();
      await sync.deliver();
      waits.push(sync.dueMs - platform.now());
    }
    expect(waits).toEqual([3750, 5000, 6000]);
  });
});

test('an evicted object keeps its retry delay, because the waiting change has the time of its failure', async () => {
  await asUser(newApp(), 'ann', async ({ sync, way, platform, again, write }) => {
    way.way = down;
    await write({ 'app:a': 1 });
    // Nothing has failed yet: it is due five seconds after it was written.
    const writtenMs = sync.dueMs - 5000;
    platform.advance(60_000);
    const restarted = again();
    await restarted.deliver();
    expect(restarted.dueMs - platform.now()).toBe(platform.now() - writtenMs);
  });
});

test('an invalid answer counts as a failure, and the delivery waits', async () => {
  await asUser(newApp(), 'ann', async ({ sync, way, reported, write }) => {
    way.way = () => Promise.resolve(Response.json({ changes: [{ key: 'a', value: 1 }], version: 1, hasMore: false }));
    await write({ 'app:a': 1 });
    await sync.deliver();
    expect(reported).toMatchObject([{ code: 'APP_STATE_UNREACHABLE' }]);
    expect(sync.hasPending).toBe(true);
  });
});

test('the app object refuses an invalid exchange', async () => {
  const refusal = await send(newApp(), { sender: 'a', pending: [{ seq: 1, writtenMs: Number.NaN, value: '1' }] });
  expect([refusal.status, await refusal.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
});

test('a delivery whose answer was lost counts once, even if the object was evicted', async () => {
  const app = newApp();
  await asUser(app, 'ann', async ({ sync, way, again, write, state }) => {
    way.way = async (fetch, request) => {
      await fetch(request);
      throw new TypeError('lost');
    };
    await write({ 'app:a': 'old' });
    await sync.deliver();
    expect(sync.hasPending).toBe(true);
    await asUser(app, 'bob', async (bob) => {
      await bob.sync.refresh(app);
      await bob.write({ 'app:a': 'new' });
      await bob.sync.deliver();
    });
    way.way = undefined;
    await again().deliver();
    expect([sync.hasPending, await state()]).toEqual([false, { 'app:a': 'new' }]);
  });
  expect(await seenIn(app)).toEqual({ 'app:a': 'new' });
});

test('changes larger than one delivery or one answer arrive completely', async () => {
  const app = newApp();
  const small = Object.fromEntries(Array.from({ length: 1201 }, (_, at) => [`app:k${at}`, at]));
  const large = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`app:l${at}`, `${at}`.repeat(600_000)]));
  await asUser(app, 'ann', async ({ sync, way, write }) => {
    await write(small);
    await write(large);
    await sync.deliver();
    expect(way.asked).toBeGreaterThan(4);
    expect(sync.hasPending).toBe(false);
  });
  expect(await seenIn(app)).toEqual({ ...small, ...large });
});

test('one request waits a second for an object that does not answer, and later requests do not wait', async () => {
  const app = newApp();
  await asUser(app, 'ann', async ({ sync, way, platform, reported, write }) => {
    way.way = hangs;
    await write({ 'app:a': 1 });
    const first = sync.refresh(app);
    platform.advance(1000);
    await first;
    await sync.refresh(app);
    const delivery = sync.deliver();
    platform.advance(9000);
    await delivery;
    expect(reported).toMatchObject([{ code: 'APP_STATE_UNREACHABLE' }]);
    expect([way.asked, platform.pendingTimers]).toEqual([1, 0]);
    way.way = undefined;
    platform.advance(sync.dueMs - platform.now());
    await sync.deliver();
    expect(sync.hasPending).toBe(false);
  });
});

test('removals are delivered, even of keys that the copy lacks', async () => {
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

test('the later of two writes wins even if it is delivered first, and both writers see it', async () => {
  const app = newApp();
  await asUser(app, 'ann', async ({ sync, write, state }) => {
    // More than one delivery, with the key in the last one: the newer value has been delivered before.
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

test('a writer whose clock is fast does not block others', async () => {
  const app = newApp();
  const pending = [{ seq: 1, writtenMs: Date.now() + 1_000_000, value: '"ahead"' }];
  await (await send(app, { sender: 'a', pending })).text();
  await asUser(app, 'ann', async ({ sync, write }) => {
    await write({ 'app:a': 'now' });
    await sync.deliver();
  });
  expect(await seenIn(app)).toEqual({ 'app:a': 'now' });
});

test('the same one of two simultaneous writes wins in any order of delivery', async () => {
  const writtenMs = Date.now() - 1000;
  const ofUsers = ['ann', 'bob'].map((sender) => ({ sender, pending: [{ seq: 1, writtenMs, value: `"${sender}"` }] }));
  for (const deliveries of [ofUsers, ofUsers.toReversed()]) {
    const app = newApp();
    for (const delivery of deliveries) await (await send(app, delivery)).text();
    expect(await seenIn(app)).toEqual({ 'app:a': 'bob' });
  }
});

test('the later of two simultaneous writes of one user wins', async () => {
  const writtenMs = Date.now() - 1000;
  const app = newApp();
  for (const [seq, value] of [[1, '"first"'] as const, [2, '"second"'] as const]) {
    await (await send(app, { sender: 'ann', pending: [{ seq, writtenMs, value }] })).text();
  }
  expect(await seenIn(app)).toEqual({ 'app:a': 'second' });
});
