import { expect, test } from 'vitest';
import type { CloudflareBindings } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { countedObjects } from './fixtures/counted-objects.ts';

const SESSIONS = '/apps/app/users/ann/sessions';
const RUN = {
  method: 'POST',
  body: JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'x' }] } }),
};

interface Asked extends RequestInit {
  readonly headers?: Record<string, string>;
}

/** A Worker with a rate limit that refuses every request, or answers as given. */
function createWorker(
  options: Partial<CloudflareServerOptions<CloudflareBindings>>,
  limit: () => Promise<{ success: boolean }> = () => Promise.resolve({ success: false }),
) {
  const keys: string[] = [];
  const reported: unknown[] = [];
  const { users, bindings } = countedObjects();
  const EVENTLOOM_RATE_LIMIT = {
    limit({ key }: { key: string }) {
      keys.push(key);
      return limit();
    },
  };
  const env = { ...bindings, EVENTLOOM_RATE_LIMIT };
  const { handler, fetchAs } = createCloudflareServer<typeof env>({
    appNames: ['app'],
    runners: () => [],
    onError: (error) => reported.push(error),
    ...options,
  });
  const ask = (path: string, { headers, ...init }: Asked = {}, address = '192.0.2.1') =>
    handler.fetch(
      new Request(`https://agents.example${path}`, { ...init, headers: { 'cf-connecting-ip': address, ...headers } }),
      env,
    );
  const askAs = (userId: string, path: string) =>
    fetchAs(env, { userId }, new Request(`https://agents.example${path}`));
  return { ask, askAs, keys, users, reported };
}

const authenticate = () => (request: Request) => {
  const userId = request.headers.get('authorization');
  return userId === null ? undefined : { userId };
};
const ann = { authorization: 'ann' };

test('an authenticated user is limited by id, and refused requests reach no object', async () => {
  const { ask, keys, users } = createWorker({ authenticate });
  const foreign = '/apps/app/users/bob/sessions';
  const answers = [
    await ask(SESSIONS, { headers: ann }),
    await ask('/run', { ...RUN, headers: ann }),
    await ask('/run_sse', { ...RUN, headers: ann }),
    await ask(foreign, { headers: ann }),
    await ask('/list-apps', { headers: ann }),
    await ask('/openapi.json', { headers: ann }),
  ];
  for (const answer of answers) {
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([429, 'RATE_LIMITED']);
    // Of its period it is only known that it is a minute at most.
    expect(answer.headers.get('retry-after')).toBe('60');
  }
  expect(keys).toEqual(answers.map(() => 'user:ann'));
  expect(users).toEqual([]);
});

test('an unauthenticated request is limited by address', async () => {
  const { ask, keys } = createWorker({ authenticate });
  for (const path of [SESSIONS, '/list-apps', '/openapi.json']) expect((await ask(path)).status).toBe(429);
  expect((await ask('/run', RUN, '192.0.2.2')).status).toBe(429);
  expect(keys).toEqual([...Array<string>(3).fill('address:192.0.2.1'), 'address:192.0.2.2']);
});

test('without authenticate every request is limited by address', async () => {
  const { ask, keys } = createWorker({ allowUnauthenticated: true });
  expect((await ask(SESSIONS)).status).toBe(429);
  expect((await ask('/run', RUN, '192.0.2.2')).status).toBe(429);
  expect(keys).toEqual(['address:192.0.2.1', 'address:192.0.2.2']);
});

test('an allowed request is answered as without a limit', async () => {
  const { ask, users } = createWorker({ authenticate }, () => Promise.resolve({ success: true }));
  expect((await ask(SESSIONS)).status).toBe(401);
  expect((await ask(SESSIONS, { headers: ann })).status).toBe(200);
  expect(users).toEqual(['["app","ann"]']);
});

test('requests of the Worker itself are not limited', async () => {
  const { askAs, keys, users } = createWorker({ authenticate });
  expect((await askAs('ann', SESSIONS)).status).toBe(200);
  expect([keys, users]).toEqual([[], ['["app","ann"]']]);
});

test('probes are not limited', async () => {
  const { ask, keys } = createWorker({});
  for (const path of ['/health', '/livez', '/readyz']) expect((await ask(path)).status).toBe(200);
  expect(keys).toEqual([]);
});

test('a limit that fails allows the request and is reported', async () => {
  const failure = new TypeError('no limiter');
  const { ask, users, reported } = createWorker({ authenticate }, () => Promise.reject(failure));
  expect((await ask(SESSIONS, { headers: ann })).status).toBe(200);
  expect((await ask(SESSIONS)).status).toBe(401);
  expect([users, reported]).toEqual([['["app","ann"]'], [failure]]);
});
