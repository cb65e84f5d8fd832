import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, expect, test } from 'vitest';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { BUCKET_USER } from './fixtures/test-objects.ts';
import { voice } from '../../live/src/server/fixtures/voice-runner.ts';
import { waiting } from './fixtures/protocol-runners.ts';
import { ask, idOf, objectOf, open, post, sessionOf } from './fixtures/user-client.ts';

let user = '';

function tell(text: string, userId = user, sessionId = 's', path = '/run_sse'): Promise<Response> {
  const newMessage = { role: 'user', parts: [{ text }] };
  return post(path, { appName: 'app', userId, sessionId, newMessage, streaming: true });
}

/** Returns the response of an object after its eviction: it has its storage and none of its memory. */
async function askFresh(path: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  await evictDurableObject(objectOf(user));
  const response = await ask(path, { headers });
  return { status: response.status, text: await response.text() };
}

beforeEach(() => {
  user = `user-${crypto.randomUUID()}`;
  waiting.gate = Promise.withResolvers<void>();
  voice.runConfig = undefined;
});

test('a run can be followed to its end after an eviction: a stored event replaces its chunks', async () => {
  await open(user);
  const response = await tell('hello');
  const whole = await response.text();
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  const stored = whole.slice(whole.indexOf('id: 1\n'));
  const [, , chunk = ''] = Array.from(whole.matchAll(/^id: (.+)$/gm), ([, id = '']) => id);
  expect(await askFresh(run, { 'last-event-id': chunk })).toEqual({ status: 200, text: stored });
  expect(await askFresh(run)).toEqual({ status: 200, text: stored });
  expect(await askFresh(run, { 'last-event-id': '1' })).toEqual({ status: 204, text: '' });
  expect((await askFresh(run, { 'last-event-id': '2' })).status).toBe(404);
});

test("a protocol route with a user is answered by that user's object, and one without by the Worker", async () => {
  await open(user);
  expect(await (await ask('/card')).text()).toBe('card');
  const answer = await ask(`/note?user=${user}`, { method: 'POST', body: 'hello' });
  expect(await answer.text()).toMatch(/^data: 1 .+\n\ndata: end\n\n$/);
  const run = `${sessionOf(user)}/runs/${idOf(answer)}`;
  expect((await askFresh(run)).text).toContain('id: 1\n');
  expect((await ask('/note', { method: 'POST', body: 'hello' })).status).toBe(400);
  expect((await ask('/openapi.json').then((response) => response.text())).includes('"/note"')).toBe(true);
});

test('a page of a listed origin on another site reaches the object, and a request from there without an origin does not', async () => {
  await open(user);
  const page = 'https://app.example';
  const { handler } = createCloudflareServer({ appNames: ['app'], runners: () => [], origins: [page] });
  const askFrom = (headers: Record<string, string>): Promise<Response> =>
    handler.fetch(new Request(`http://localhost${sessionOf(user)}`, { headers }), env);
  const answer = await askFrom({ origin: page, 'sec-fetch-site': 'cross-site' });
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, page]);
  await answer.text();
  expect((await askFrom({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
});

test.each(['/run', '/run_sse'])('an object leaves no timer after %s, so that it can be evicted', async (path) => {
  await open(user);
  await (await tell('hello', user, 's', path)).text();
  await evictDurableObject(objectOf(user));
  const session = (await (await ask(sessionOf(user))).json()) as { events: object[] };
  expect(session.events).toHaveLength(2);
});

test('the runConfig hook runs in the object with the forwarded request', async () => {
  await open(user);
  voice.runConfig = ({ headers }, given, appName) => ({
    customMetadata: { tenant: headers.get('x-tenant'), given, appName },
  });
  const newMessage = { role: 'user', parts: [{ text: 'hello' }] };
  const body = { appName: 'app', userId: user, sessionId: 's', newMessage, customMetadata: { tenant: 'mine', own: 1 } };
  const text = await (await post('/run', body, { 'x-tenant': 'acme' })).text();
  expect(JSON.parse(text)).toMatchObject([{ customMetadata: { tenant: 'acme', own: 1, appName: 'app' } }]);

  voice.runConfig = () => ({ maxLlmCalls: '2' }) as never;
  const wrong = await post('/run', body);
  expect([wrong.status, await wrong.json()]).toMatchObject([500, { code: 'CONFIGURATION' }]);
  const refused = await post('/run', { ...body, max_llm_calls: 2 });
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
  const session = (await (await ask(sessionOf(user))).json()) as { events: object[] };
  expect(session.events).toHaveLength(2);
});

test('a run continues when its client leaves', async () => {
  await open(user);
  const response = await tell('wait');
  await response.body?.cancel();
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  const followed = await ask(`${sessionOf(user)}/runs/${idOf(response)}`);
  expect(await followed.text()).toContain('id: 1\ndata: ');
});

test('after a halt during a run the committed events and the outcome can be read', async () => {
  await open(user);
  const response = await tell('pause');
  const reader = response.body?.getReader();
  let seen = '';
  while (!seen.includes('three')) seen += new TextDecoder().decode((await reader?.read())?.value);
  await abortAllDurableObjects();
  await expect(reader?.read()).rejects.toThrow();
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  const [first, ...chunks] = seen.split('\n\n').filter((frame) => frame !== '');
  expect([first?.startsWith('id: 1\n'), chunks.length]).toEqual([true, 3]);
  const [stored, end, failure, ...rest] = (await (await ask(run)).text()).split('\n\n');
  expect([stored, rest]).toEqual([first, ['']]);
  expect(failure).toMatch(/\ndata: \{"error":.*"code":"RUN_ABANDONED"\}$/);
  expect(end).toMatch(/^id: 2\ndata: .*"errorCode":"RUN_ABANDONED"/);
  const last = /^id: (.+)$/m.exec(chunks.at(-1) ?? '')?.[1] ?? '';
  expect(await (await ask(run, { headers: { 'last-event-id': last } })).text()).toBe(`${end}\n\n${failure}\n\n`);
});

test('a session is free immediately after the object that ran it died', async () => {
  await open(user);
  const response = await tell('wait');
  await abortAllDurableObjects();
  await expect(response.text()).rejects.toThrow();
  const next = await tell('hello', user, 's', '/run');
  expect([next.status, ((await next.json()) as object[]).length]).toEqual([200, 1]);
});

test('an alarm fires while a run continues, and is set again', async () => {
  await open(user);
  const response = await tell('wait');
  expect(await runDurableObjectAlarm(objectOf(user))).toBe(true);
  expect(await runDurableObjectAlarm(objectOf(user))).toBe(true);
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  expect(await response.text()).toContain('id: 1\n');
});

test('the default limit of runs applies if the option is undefined', async () => {
  const sessions = Array.from({ length: 100 }, (_, index) => `s${index}`);
  await Promise.all([open(user), ...sessions.map((sessionId) => open(user, sessionId))]);
  const runs = sessions.map((sessionId) => tell('wait', user, sessionId));
  await runs[0];
  await expect
    .poll(async () => {
      const response = await tell('hello', user, 's', '/run');
      return { status: response.status, text: await response.text() };
    })
    .toEqual({ status: 429, text: expect.stringContaining('the user may have 100 runs in flight') });
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  const texts = await Promise.all(runs.map(async (run) => (await run).text()));
  expect(texts.filter((text) => text.includes('one two three'))).toHaveLength(100);
});

test('runs of a deleted session are forgotten', async () => {
  await open(user);
  const response = await tell('hello');
  await response.text();
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  await (await ask(sessionOf(user), { method: 'DELETE' })).text();
  await open(user);
  expect((await askFresh(run)).status).toBe(404);
});

test('artifacts are stored in the bucket if there is one', async () => {
  user = `${BUCKET_USER}-${user}`;
  await open(user);
  await (await tell('file content', user, 's', '/run')).text();
  const { objects } = await env.ARTIFACTS.list();
  const keys = objects.map(({ key }) => key).filter((key) => key.includes(user));
  expect(keys).not.toEqual([]);
  expect(await (await ask(`${sessionOf(user)}/artifacts/note.txt`)).json()).toEqual({ text: 'content' });
});

test('a session is copied with its artifacts, and neither a copy nor imported events change state of the user and the app', async () => {
  await open(user);
  for (const text of ['motto old', 'file one', 'motto new', 'file two']) await (await tell(text)).text();
  interface Stored {
    readonly state: Readonly<Record<string, unknown>>;
    readonly events: readonly { readonly id: string }[];
  }
  const read = async (response: Promise<Response>): Promise<Stored> => (await (await response).json()) as Stored;
  const { events } = await read(ask(sessionOf(user)));
  const shared = { 'app:motto': 'new', 'user:word': 'new' };
  const copy = await read(post(`${sessionOf(user)}/fork`, { afterEventId: events[3]?.id, sessionId: 'copy' }));
  expect(copy).toMatchObject({ state: { ...shared, own: 'old' }, events: events.slice(0, 4) });
  const note = `${sessionOf(user, 'copy')}/artifacts/note.txt`;
  expect(JSON.parse((await askFresh(note)).text)).toEqual({ text: 'one' });
  expect(JSON.parse((await askFresh(`${note}/versions`)).text)).toEqual([0]);
  const imported = await read(post(sessionOf(user, 'imported'), { events: events.slice(0, 4) }));
  expect(imported.state).toEqual({ ...shared, own: 'old' });
  expect((await read(ask(sessionOf(user)))).state).toEqual({ ...shared, own: 'new' });
});

test('runs of one session run in order, and those of other sessions concurrently', async () => {
  await open(user);
  await open(user, 'other');
  const first = await tell('wait');
  const second = tell('hello', user, 's', '/run');
  expect((await tell('hello', user, 'other', '/run')).status).toBe(200);
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  await first.text();
  await (await second).text();
  const session = (await (await ask(sessionOf(user))).json()) as { events: { invocationId: string }[] };
  const order = session.events.map(({ invocationId }) => invocationId === idOf(first));
  expect(order).toEqual([true, true, false, false]);
});

test('an error message of 3 MB is truncated in the answer', async () => {
  await open(user);
  const response = await tell('fail 3000000');
  const whole = await response.text();
  const failure = whole.split('\n\n').at(-2) ?? '';
  expect(failure).toContain('as asked!');
  expect(failure.length).toBeLessThan(100_000);
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  const { text } = await askFresh(run);
  const [event = '', again = ''] = text.split('\n\n');
  expect([event.length > 3_000_000, whole.startsWith(event), again.includes('as asked!')]).toEqual([true, true, true]);
  expect(again.length).toBeLessThan(100_000);
});

test('an object names createCloudflareServer in the error for an invalid option', () =>
  runInDurableObject(env.EVENTLOOM_USERS.getByName(crypto.randomUUID()), (_instance, state) => {
    const { UserObject } = createCloudflareServer<typeof env>({
      appNames: [],
      runners: () => [],
      runConfig: () => 5 as never,
    });
    expect(() => new UserObject(state, env)).toThrow(/^createCloudflareServer: runConfig: expected a function/);
  }));

test('an object whose storage fails once at its start answers the next request', () =>
  runInDurableObject(env.EVENTLOOM_USERS.getByName(crypto.randomUUID()), async (_instance, state) => {
    let isUnavailable = true;
    const storage = new Proxy(state.storage, {
      get(target, key) {
        if (key === 'getAlarm' && isUnavailable) return () => Promise.reject(new Error('storage is unreachable'));
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
    await expect(ask()).rejects.toThrow('storage is unreachable');
    isUnavailable = false;
    expect((await ask()).status).toBe(200);
  }));
