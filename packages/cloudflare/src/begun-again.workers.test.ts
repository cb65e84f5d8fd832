import { createCloudflareServer } from './create-cloudflare-server.ts';
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';

test('an object whose storage failed once at its begin answers the next request', () =>
  runInDurableObject(env.EVENTLOOM_USERS.getByName(crypto.randomUUID()), async (_instance, state) => {
    let isAway = true;
    const storage = new Proxy(state.storage, {
      get(target, key) {
        if (key === 'getAlarm' && isAway) return () => Promise.reject(new Error('storage is away'));
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { UserObject } = createCloudflareServer<typeof env>({
      appNames: [],
      runners: () => [],
      allowUnauthenticated: true,
    });
    const object = new UserObject({ id: state.id, storage }, env);
    const ask = () => object.fetch(new Request('http://localhost/health'));
    await expect(ask()).rejects.toThrow('storage is away');
    isAway = false;
    expect((await ask()).status).toBe(200);
  }));
