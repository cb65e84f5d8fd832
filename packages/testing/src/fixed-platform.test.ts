import { expect, test } from 'vitest';
import { fixedPlatform } from './fixed-platform.ts';

test('time stands still until it is moved', () => {
  const platform = fixedPlatform({ now: 1000 });
  expect(platform.now()).toBe(1000);
  platform.advance(5);
  expect(platform.now()).toBe(1005);
});

test('ids count up and have the shape of what they stand for', () => {
  const platform = fixedPlatform();
  expect(platform.newEventId()).toBe('019b76da-a800-7000-8000-000000000001');
  expect(platform.newEventId()).toBe('019b76da-a800-7000-8000-000000000002');
  expect(platform.newUuid()).toBe('00000000-0000-4000-8000-000000000001');
});

test('timers run when they are due, in the order they are due, and see the time they are due at', () => {
  const platform = fixedPlatform({ now: 0 });
  const ran: string[] = [];
  platform.schedule(20, () => ran.push(`late at ${platform.now()}`));
  platform.schedule(10, () => {
    ran.push(`early at ${platform.now()}`);
    platform.schedule(5, () => ran.push(`set by early at ${platform.now()}`));
  });
  platform.advance(9);
  expect(ran).toEqual([]);
  platform.advance(11);
  expect(ran).toEqual(['early at 10', 'set by early at 15', 'late at 20']);
  expect(platform.pendingTimers).toBe(0);
});

test('a timer without a delay runs by itself, once, and not at once', async () => {
  const platform = fixedPlatform();
  let calls = 0;
  const ran = new Promise<void>((resolve) => {
    platform.schedule(0, () => {
      calls++;
      resolve();
    });
  });
  await Promise.resolve();
  expect(calls).toBe(0);
  await ran;
  platform.advance(0);
  expect([calls, platform.pendingTimers]).toEqual([1, 0]);
});

test('a timer that was called off does not run', () => {
  const platform = fixedPlatform();
  const cancel = platform.schedule(1, () => expect.unreachable());
  cancel();
  platform.advance(10);
  expect(platform.pendingTimers).toBe(0);
});

test('everyone who waits for a timer is told when there is one', async () => {
  const platform = fixedPlatform();
  const waiting = [platform.nextTimer(), platform.nextTimer()];
  platform.schedule(250, () => undefined);
  expect(await Promise.all(waiting)).toEqual([250, 250]);
  expect(await platform.nextTimer()).toBe(250);
});

test('draining waits for background work, also for what it started', async () => {
  const platform = fixedPlatform();
  const done: string[] = [];
  platform.background(
    (async () => {
      await Promise.resolve();
      done.push('first');
      platform.background(Promise.resolve().then(() => done.push('second')));
    })(),
  );
  await platform.drain();
  expect(done).toEqual(['first', 'second']);
});

test('draining tells of background work that failed', async () => {
  const platform = fixedPlatform();
  platform.background(Promise.reject(new TypeError('lost')));
  await expect(platform.drain()).rejects.toThrow('lost');
});
