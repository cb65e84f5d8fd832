import { SignJWT } from 'jose';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { jwtAuthenticate } from '../jwt/index.ts';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { protocolRunners } from './fixtures/protocol-runners.ts';

const SECRET = 'a secret of the tests, which is long enough';
const runners = (_env: unknown, services: Parameters<typeof protocolRunners>[0]) => protocolRunners(services);

async function tokenOf(userId: string): Promise<string> {
  const token = new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject(userId).setExpirationTime('1h');
  return token.setIssuer('issuer').setAudience('agents').sign(new TextEncoder().encode(SECRET));
}

test('without a hook a Worker under a name of its own refuses, unless it is open to everybody', async () => {
  const request = () => new Request('https://agents.example/apps/app/users/ann/sessions');
  const closed = createCloudflareServer({ runners });
  expect((await closed.handler.fetch(request(), env)).status).toBe(403);
  const open = createCloudflareServer({ runners, allowUnauthenticated: true });
  expect(await (await open.handler.fetch(request(), { ...env })).text()).not.toBe('');
});

test('a token opens the object of its user and no other one', async () => {
  let users: string[] = [];
  const watched = {
    ...env,
    EVENTLOOM_USERS: {
      getByName: (name: string) => ({
        fetch: (request: Request) => {
          users.push(name);
          return Promise.resolve(Response.json(request.headers.get('eventloom-forwarded')));
        },
      }),
    },
  };
  const authenticate = () => jwtAuthenticate({ secret: SECRET, issuer: 'issuer', audience: 'agents' });
  const { handler } = createCloudflareServer<typeof watched>({ runners, authenticate });
  const headers = { authorization: `Bearer ${await tokenOf('ann')}`, 'eventloom-forwarded': 'forged' };
  const ask = (userId: string, init: RequestInit = { headers }) =>
    handler.fetch(new Request(`https://agents.example/apps/app/users/${userId}/sessions`, init), watched);
  const answer = (await (await ask('ann')).json()) as string;
  expect(JSON.parse(decodeURIComponent(answer))).toEqual({
    appName: 'app',
    user: { userId: 'ann', mayWriteAppState: false },
  });
  expect((await ask('bob')).status).toBe(403);
  expect((await ask('ann', {})).status).toBe(401);
  const body = JSON.stringify({
    appName: 'app',
    userId: 'bob',
    sessionId: 's',
    newMessage: { parts: [{ text: 'x' }] },
  });
  const run = new Request('https://agents.example/run', { method: 'POST', headers, body });
  expect((await handler.fetch(run, watched)).status).toBe(403);
  expect(users).toEqual(['["app","ann"]']);
  users = [];
});

test('a rate limit is asked for the user, and what it refuses reaches no object', async () => {
  const keys: string[] = [];
  const limited = {
    ...env,
    EVENTLOOM_RATE_LIMIT: { limit: ({ key }: { key: string }) => Promise.resolve({ success: keys.push(key) === 0 }) },
  };
  const authenticate = () => () => ({ userId: 'ann' });
  const { handler } = createCloudflareServer<typeof limited>({ runners, authenticate });
  const response = await handler.fetch(new Request('https://agents.example/apps/app/users/ann/sessions'), limited);
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([429, 'RATE_LIMITED']);
  expect(keys).toEqual(['user:ann']);
});
