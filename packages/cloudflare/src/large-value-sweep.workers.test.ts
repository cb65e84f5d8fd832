import { ManualPlatform } from '@eventloom/sessions/conformance';
import { DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { protocolServer } from './fixtures/protocol-worker.ts';
import { LargeValueSweep } from './large-value-sweep.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const newObject = () => env.EVENTLOOM_USERS.getByName(crypto.randomUUID());

test('unreferenced values are due after five seconds, and failed deletes are retried with growing delays and reported once', () =>
  runInDurableObject(newObject(), async (_instance, { storage }) => {
    const platform = new ManualPlatform();
    const bucket = { ...failing(), isUnavailable: true };
    const sessions = new DurableObjectSessionService({ storage, platform, bucket, maxRowBytes: 0 });
    const reported: unknown[] = [];
    const sweep = new LargeValueSweep(sessions, platform, (error) => reported.push(error));
    expect(sweep.dueMs).toBe(Infinity);
    await sessions.createSession({ ...KEY, state: { key: 'x' } });
    await sessions.deleteSession(KEY);
    const waits: number[] = [];
    const attempt = async (): Promise<void> => {
      waits.push(sweep.dueMs - platform.now());
      platform.advance(sweep.dueMs - platform.now());
      await sweep.sweep();
    };
    for (let count = 0; count < 9; count++) await attempt();
    expect(waits.map((wait) => wait / 1000)).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    expect([reported.length, bucket.deletes()]).toEqual([1, 9]);
    void sweep.dueMs;
    await sweep.sweep();
    expect(bucket.deletes()).toBe(9);
    bucket.isUnavailable = false;
    await attempt();
    expect(sweep.dueMs).toBe(Infinity);
  }));

/** A bucket that fails every deletion while it is unreachable. */
function failing() {
  let deletes = 0;
  return {
    isUnavailable: false,
    put: () => Promise.resolve(),
    get: () => Promise.resolve({ text: () => Promise.resolve('"x"') }),
    delete(this: { readonly isUnavailable: boolean }) {
      deletes++;
      return this.isUnavailable ? Promise.reject(new RangeError('the bucket is unreachable')) : Promise.resolve();
    },
    deletes: () => deletes,
  };
}

test('an object sets an alarm before it writes a large value, which deletes it if the object dies before the commit', () =>
  runInDurableObject(newObject(), async (_instance, { id, storage }) => {
    const alarms: (number | null)[] = [];
    const put = async (key: string, value: string) => {
      alarms.push(await storage.getAlarm());
      return env.ARTIFACTS.put(key, value);
    };
    const bucket = Object.create(env.ARTIFACTS, { put: { value: put } });
    bucket.get = (key: string) => env.ARTIFACTS.get(key);
    const object = new protocolServer.UserObject({ id, storage }, { ...env, EVENTLOOM_ARTIFACTS: bucket });
    const post = async (path: string, body: object): Promise<void> => {
      const request = new Request(`http://localhost${path}`, { method: 'POST', body: JSON.stringify(body) });
      await (await object.fetch(request)).text();
    };
    await post('/apps/app/users/ann/sessions/s', {});
    await post('/run', { ...KEY, newMessage: { role: 'user', parts: [{ text: 'large 2000000' }] } });
    expect(alarms).toHaveLength(1);
    expect(alarms[0]).toBeLessThan(Date.now() + 5001);
  }));
