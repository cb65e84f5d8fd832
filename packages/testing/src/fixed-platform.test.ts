import { expect, test } from 'vitest';
import { fixedPlatform } from './fixed-platform.ts';

test('now changes only with advance', () => {
  const platform = fixedPlatform({ now: 1000 });
  expect(platform.now()).toBe(1000);
  platform.advance(5);
  expect(platform.now()).toBe(1005);
});

test('ids are numbered and have the shape of real ones', () => {
  const platform = fixedPlatform();
  expect(platform.newEventId()).toBe('019b76da-a800-7000-8000-000000000001');
  expect(platform.newEventId()).toBe('019b76da-a800-7000-8000-000000000002');
  expect(platform.newUuid()).toBe('00000000-0000-4000-8000-000000000001');
});

test('advance runs due timers in order, each at its own time', () => {
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

test('a timer without a delay runs once by itself, after the current task', async () => {
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

test('a cancelled timer does not run', () => {
  const platform = fixedPlatform();
  const cancel = platform.schedule(1, () => expect.unreachable());
  cancel();
  platform.advance(10);
  expect(platform.pendingTimers).toBe(0);
});

test('nextTimer resolves all its callers with the delay of the next timer', async () => {
  const platform = fixedPlatform();
  const waiting = [platform.nextTimer(), platform.nextTimer()];
  platform.schedule(250, () => undefined);
  expect(await Promise.all(waiting)).toEqual([250, 250]);
  expect(await platform.nextTimer()).toBe(250);
});

test('drain waits for background work, and for background work started by it', async () => {
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

test('drain rejects with the error of background work', async () => {
  const platform = fixedPlatform();
  platform.background(Promise.reject(new TypeError('lost')));
  await expect(platform.drain()).rejects.toThrow('lost');
});
