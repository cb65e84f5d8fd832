import type { SessionKey } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { SESSIONS, setUp } from './fixtures/session-client.ts';

test('apps are listed by name, and with their root agents on request, as the ADK lists them', async () => {
  const { send } = setUp();
  expect((await send('GET', '/list-apps')).json).toEqual(['app']);
  expect((await send('GET', '/list-apps?detailed=true')).json).toEqual({
    apps: [{ name: 'app', rootAgentName: 'agent', description: '', language: 'typescript' }],
  });
});

describe('listing sessions', () => {
  test("returns an array of the user's sessions without events", async () => {
    const { send } = setUp();
    await send('POST', `${SESSIONS}/s`);
    await send('POST', '/apps/app/users/bob/sessions/t');
    const { json } = await send('GET', SESSIONS);
    expect(json).toMatchObject([{ id: 's', userId: 'ann', events: [] }]);
  });

  test('returns each session once over pages, and no cursor with the last page', async () => {
    const { send } = setUp();
    for (const id of ['a', 'b', 'c']) await send('POST', `${SESSIONS}/${id}`);
    const first = await send('GET', `${SESSIONS}?limit=2`);
    const cursor = first.headers.get('Eventloom-Next-Cursor') ?? '';
    const second = await send('GET', `${SESSIONS}?limit=2&cursor=${encodeURIComponent(cursor)}`);
    const ids = [first, second].flatMap(({ json }) => (json as unknown as { id: string }[]).map(({ id }) => id));
    expect(ids.toSorted()).toEqual(['a', 'b', 'c']);
    expect(second.headers.get('Eventloom-Next-Cursor')).toBeNull();
  });

  test.each(['limit=0', 'limit=x', 'limit=-1', 'cursor=nonsense', 'limit=1&limit=2'])('refuses %s', async (query) => {
    expect((await setUp().send('GET', `${SESSIONS}?${query}`)).status).toBe(400);
  });
});

describe('reading a session', () => {
  test('can be limited to the newest events', async () => {
    const { send } = setUp();
    const events = ['one', 'two', 'three'].map((text) => ({ author: 'a', content: { parts: [{ text }] } }));
    await send('POST', SESSIONS, { sessionId: 's', events });
    const { json } = await send('GET', `${SESSIONS}/s?numRecentEvents=1`);
    expect(json['events']).toMatchObject([{ content: { parts: [{ text: 'three' }] } }]);
  });

  test('that does not exist is a 404', async () => {
    const { status, json } = await setUp().send('GET', `${SESSIONS}/nope`);
    expect([status, json]).toEqual([
      404,
      {
        error:
          'session "nope" of user "ann" in app "app" does not exist; create it first with POST /apps/app/users/ann/sessions/nope, or session.create() of @eventloom/client',
        code: 'SESSION_NOT_FOUND',
      },
    ]);
  });

  test('that does not exist is a 204 with ifExists=true, and so are its events and the state of an unknown run', async () => {
    const { server } = setUp();
    const read = async (path: string): Promise<Response> =>
      server.fetch(new Request(`http://localhost${SESSIONS}${path}`, { headers: { accept: 'application/json' } }));
    for (const path of ['/nope?ifExists=true', '/nope/events?ifExists=true', '/nope/runs/e-1?ifExists=true']) {
      const answer = await read(path);
      expect([answer.status, await answer.text()]).toEqual([204, '']);
    }
    for (const path of ['/nope?ifExists=false', '/nope/events', '/nope/runs/e-1'])
      expect((await read(path)).status).toBe(404);
  });

  test('of an unknown app is a 404, also with ifExists=true', async () => {
    expect((await setUp().send('GET', '/apps/nope/users/ann/sessions/s?ifExists=true')).status).toBe(404);
    const { status, json } = await setUp().send('GET', '/apps/nope/users/ann/sessions/s');
    expect([status, json['code']]).toEqual([404, 'APP_NOT_FOUND']);
  });
});

describe('changing the state of a session', () => {
  test('appends an event and returns the session', async () => {
    const { send } = setUp();
    await send('POST', `${SESSIONS}/s`, { state: { a: 1 } });
    const { status, json } = await send('PATCH', `${SESSIONS}/s`, { stateDelta: { b: 2, 'user:c': 3, 'temp:d': 4 } });
    expect([status, json['state']]).toEqual([200, { a: 1, b: 2, 'user:c': 3 }]);
    expect(json['events']).toMatchObject([{ author: 'user', actions: { stateDelta: { b: 2, 'user:c': 3 } } }]);
  });

  test('waits for the session and unlocks it', async () => {
    const { send, sessionService } = setUp();
    const key = { appName: 'app', userId: 'ann', sessionId: 's' };
    await send('POST', `${SESSIONS}/s`);
    const lease = await sessionService.acquireLease(key);
    const patched = send('PATCH', `${SESSIONS}/s`, { stateDelta: { a: 1 } });
    await sessionService.releaseLease(lease);
    expect((await patched).status).toBe(200);
    await sessionService.acquireLease({ ...key, onBusy: 'reject' });
  });

  test.each([
    [{}, /^stateDelta: expected an object/],
    [{ stateDelta: [] }, /^stateDelta: expected an object, got a list$/],
    [{ stateDelta: { '': 1 } }, /^state key "": is empty$/],
    [[], /^body: expected an object, got a list$/],
    [undefined, /^body: expected an object/],
  ])('refuses %j', async (body, error) => {
    const { send } = setUp();
    await send('POST', `${SESSIONS}/s`);
    const { status, json } = await send('PATCH', `${SESSIONS}/s`, body);
    expect([status, json['error']]).toEqual([400, expect.stringMatching(error)]);
    expect((await send('GET', `${SESSIONS}/s`)).json['events']).toEqual([]);
  });

  test('keeps a key named __proto__ as data', async () => {
    const { send, sessionService } = setUp();
    await send('POST', `${SESSIONS}/s`);
    const delta = JSON.parse('{"__proto__": {"polluted": true}}') as object;
    await send('PATCH', `${SESSIONS}/s`, { stateDelta: delta });
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(Object.keys(session?.state ?? {})).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('of a session that does not exist is a 404', async () => {
    expect((await setUp().send('PATCH', `${SESSIONS}/s`, { stateDelta: { a: 1 } })).status).toBe(404);
  });
});

describe('deleting a session', () => {
  test('returns null, even if there is no session', async () => {
    const { send } = setUp();
    await send('POST', `${SESSIONS}/s`);
    expect(await send('DELETE', `${SESSIONS}/s`)).toMatchObject({ status: 200, json: null });
    expect(await send('DELETE', `${SESSIONS}/s`)).toMatchObject({ status: 200, json: null });
    expect((await send('GET', `${SESSIONS}/s`)).status).toBe(404);
  });

  test('lets no run of it begin meanwhile', async () => {
    const gate = new Gate();
    class SlowService extends InMemorySessionService {
      override async deleteSession(key: SessionKey): Promise<void> {
        await gate.pass();
        await super.deleteSession(key);
      }
    }
    const { send } = setUp(new SlowService());
    await send('POST', `${SESSIONS}/s`);
    const deleted = send('DELETE', `${SESSIONS}/s`);
    await gate.reached;
    const { status, json } = await send('POST', `${SESSIONS}/s/runs`, { newMessage: { parts: [{ text: 'hi' }] } });
    expect([status, json['error']]).toEqual([409, 'the session was deleted']);
    gate.open();
    expect((await deleted).status).toBe(200);
  });
});

describe('a name in the path', () => {
  test.each(['a b', 'ä/ö', '日本', '%', '%2F', '..%2f', 'a?b#c', "o'neil", '__proto__', 'constructor', '👩‍🚀'])(
    '%j is decoded once',
    async (name) => {
      const { send } = setUp();
      const path = `/apps/app/users/${encodeURIComponent(name)}/sessions/${encodeURIComponent(name)}`;
      expect((await send('POST', path)).json).toMatchObject({ id: name, userId: name });
      expect((await send('GET', path)).json).toMatchObject({ id: name, userId: name });
    },
  );

  test.each(['%', '%zz', '%ff', '%c3%28'])('%s, which is not valid percent-encoding, is refused', async (name) => {
    const { status, json } = await setUp().send('GET', `${SESSIONS}/${name}`);
    expect([status, json['code']]).toEqual([400, 'INVALID_REQUEST']);
  });

  test.each(['a%00b', 'x'.repeat(300)])('that cannot be stored is refused: %s', async (name) => {
    const { status, json } = await setUp().send('POST', `${SESSIONS}/${name}`);
    expect([status, json['code']]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('of dots is refused in a body', async () => {
    expect((await setUp().send('POST', SESSIONS, { sessionId: '..' })).status).toBe(400);
  });
});

test('an unsupported method is refused with the supported ones', async () => {
  const { status, headers, json } = await setUp().send('PUT', `${SESSIONS}/s`);
  expect([status, headers.get('allow'), json['code']]).toEqual([
    405,
    'POST, GET, PATCH, DELETE, HEAD',
    'METHOD_NOT_ALLOWED',
  ]);
});

const LONG = 'a'.repeat(9000);

test.each<[string, string, Record<string, string>?]>([
  ['GET', `/${LONG}`],
  ['GET', '/x%1b%5b31m%0d%0a%e2%80%ae'],
  ['PUT', `${SESSIONS}/%1b%5b31m${LONG}`],
  ['GET', '/list-apps', { origin: `http://${LONG}` }],
  ['GET', `${SESSIONS}?limit=${LONG}`],
  ['GET', `${SESSIONS}?limit=%1b%e2%80%ae%c2%85`],
  ['GET', `${SESSIONS}/s/runs/x`, { 'last-event-id': LONG }],
])('an error quotes a request in a few printable characters: %s %.40s', async (method, path, headers) => {
  const { status, json } = await setUp().send(method, path, undefined, headers);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect(json['error']).toMatch(/^[^\p{Cc}\p{Cf}]{20,400}$/u);
});

test('an unknown path is answered with 404', async () => {
  const { status, json } = await setUp().send('GET', '/nope');
  expect([status, json]).toEqual([
    404,
    { error: 'there is no route GET /nope; GET /openapi.json lists the routes', code: 'ROUTE_NOT_FOUND' },
  ]);
});
