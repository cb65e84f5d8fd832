import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { type DurableObjectStub, env } from 'cloudflare:workers';
import type { Event } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { SignJWT } from 'jose';
import { beforeEach, expect, test } from 'vitest';
import { liveEndpoint } from '@eventloom/live/server';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import type { LiveClient } from '../../live/src/server/fixtures/live-client.ts';
import { speakWith, voice, voiceRunner } from '../../live/src/server/fixtures/voice-runner.ts';
import type { CloudflareBindings } from './cloudflare-bindings.ts';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { callWorker } from './fixtures/call-worker.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';

const SECRET = 'a secret of the tests, which is long enough';
const runners = (_env: unknown, services: Parameters<typeof voiceRunner>[0]) => [voiceRunner(services)];
const fetch = (request: Request): Promise<Response> => protocolServer.handler.fetch(request, env);

let user = '';
let query = '';
beforeEach(async () => {
  user = `user-${crypto.randomUUID()}`;
  query = `app_name=voice&user_id=${user}&session_id=s`;
  voice.limits = {};
  await (await fetch(new Request(`http://localhost/apps/voice/users/${user}/sessions/s`, { method: 'POST' }))).text();
});

const object = (): DurableObjectStub => env.EVENTLOOM_USERS.getByName(JSON.stringify(['voice', user]));
const call = (): Promise<LiveClient> => callWorker(fetch, query);

async function storedTexts(): Promise<(string | undefined)[]> {
  const response = await fetch(new Request(`http://localhost/apps/voice/users/${user}/sessions/s`));
  return ((await response.json()) as { events: Event[] }).events.map(({ content }) => content?.parts?.[0]?.text);
}

test('an alarm keeps an object alive during a live run, and not afterwards', async () => {
  speakWith(['Hello', { turnComplete: true }]);
  const client = await call();
  await client.until(({ turnComplete }) => turnComplete);
  expect(await runDurableObjectAlarm(object())).toBe(true);
  expect(await runDurableObjectAlarm(object())).toBe(true);
  client.send({ close: true });
  await client.end();
  await runDurableObjectAlarm(object());
  expect(await runDurableObjectAlarm(object())).toBe(false);
  await evictDurableObject(object());
  expect(await storedTexts()).toEqual(['Hello', undefined]);
});

test('a live run whose object dies is interrupted, and a new one continues with the stored events', async () => {
  speakWith([{ heard: 'content' }, 'Hello', { turnComplete: true }, 'and', new Gate()]);
  const client = await call();
  client.say('Hi');
  await client.until(({ content }) => content?.parts?.[0]?.text === 'and');
  await abortAllDurableObjects();
  expect((await client.end()).code).toBe(1006);
  const model = speakWith([{ heard: 'history' }, 'Where were we?']);
  const again = await call();
  await again.event();
  expect(JSON.stringify(model.connections[0]?.sent)).toMatch(/Hi.*Hello/);
  again.send({ close: true });
  expect((await again.end()).code).toBe(1000);
  // Behind `turnComplete` is the end of the call that died: RUN_ABANDONED.
  expect(await storedTexts()).toEqual(['Hi', 'Hello', undefined, undefined, 'Where were we?']);
});

test('a token among the WebSocket protocols opens a live run in the object of its user only', async () => {
  const authenticate = () => jwtAuthenticate({ secret: SECRET, issuer: 'issuer', audience: 'agents' });
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['voice'],
    live: liveEndpoint(),
    runners,
    authenticate,
  });
  const jwt = new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject(user).setExpirationTime('1h');
  const token = await jwt.setIssuer('issuer').setAudience('agents').sign(new TextEncoder().encode(SECRET));
  const headers = { 'sec-websocket-protocol': `eventloom, bearer.${token}`, 'eventloom-forwarded': 'forged' };
  const ask = (asked: string, given: Record<string, string>) =>
    callWorker((request) => handler.fetch(request, env), asked, given);
  speakWith([]);
  const client = await ask(query, headers);
  expect(client.protocol).toBe('eventloom');
  client.send({ close: true });
  expect((await client.end()).code).toBe(1000);
  const other = await ask(query.replace(user, 'bob'), headers);
  expect(other.protocol).toBe('eventloom');
  expect(await other.end()).toMatchObject({ errorCode: 'FORBIDDEN', code: 1008 });
  expect(await (await ask(query, {})).end()).toMatchObject({ errorCode: 'UNAUTHENTICATED', code: 1008 });
});

test('a deployed Worker without authenticate refuses live runs before it calls an object', async () => {
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['voice'],
    live: liveEndpoint(),
    runners,
  });
  const client = await callWorker(
    (request) => handler.fetch(new Request(request.url.replace('localhost', 'agents.example'), request), env),
    query,
  );
  expect(await client.end()).toMatchObject({ errorCode: 'FORBIDDEN', code: 1008 });
});

test('rateLimit is called for each live run', async () => {
  const keys: string[] = [];
  const limited = {
    ...env,
    EVENTLOOM_RATE_LIMIT: { limit: ({ key }: { key: string }) => Promise.resolve({ success: keys.push(key) === 0 }) },
  };
  const { handler } = createCloudflareServer<typeof limited>({
    appNames: ['voice'],
    live: liveEndpoint(),
    runners,
    authenticate: () => () => ({ userId: user }),
  });
  const headers = { 'sec-websocket-protocol': 'eventloom' };
  const client = await callWorker((request) => handler.fetch(request, limited), query, headers);
  expect(client.protocol).toBe('eventloom');
  expect(await client.end()).toMatchObject({ errorCode: 'RATE_LIMITED', code: 1013 });
  expect(keys).toEqual([`user:${user}`]);
});

test('a Worker without liveEndpoint answers a WebSocket request with 404', async () => {
  const { handler } = createCloudflareServer<CloudflareBindings>({ appNames: ['voice'], runners });
  const request = new Request(`http://localhost/run_live?${query}`, { headers: { upgrade: 'websocket' } });
  const response = await handler.fetch(request, env);
  expect(response.status).toBe(404);
});
