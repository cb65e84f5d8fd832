import { describe, expect, test } from 'vitest';
import { SESSIONS, setUp } from './fixtures/session-client.ts';

describe('creating a session', () => {
  test("returns the session in the ADK's format", async () => {
    const { send } = setUp();
    const { status, json } = await send('POST', SESSIONS, {
      sessionId: 's',
      state: { a: 1, 'user:b': 2, 'temp:c': 3 },
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      id: 's',
      appName: 'app',
      userId: 'ann',
      state: { a: 1, 'user:b': 2 },
      events: [],
      lastUpdateTime: expect.closeTo(Date.now() / 1000, -1),
    });
  });

  test('generates an id without a body', async () => {
    const { send } = setUp();
    const { status, json } = await send('POST', SESSIONS);
    expect([status, typeof json['id']]).toEqual([200, 'string']);
    expect((await send('GET', `${SESSIONS}/${String(json['id'])}`)).status).toBe(200);
  });

  test('accepts keys in snake_case', async () => {
    const { send } = setUp();
    expect((await send('POST', SESSIONS, { session_id: 's' })).json['id']).toBe('s');
  });

  test('accepts the state as the body of the path with an id, like the ADK', async () => {
    const { send } = setUp();
    expect((await send('POST', `${SESSIONS}/a`, { key: 'value' })).json['state']).toEqual({ key: 'value' });
    expect((await send('POST', `${SESSIONS}/b`, { state: { key: 'value' } })).json['state']).toEqual({ key: 'value' });
    expect((await send('POST', `${SESSIONS}/c`)).json['state']).toEqual({});
  });

  test('stores given events in either spelling', async () => {
    const { send } = setUp();
    const events = [
      { author: 'user', content: { parts: [{ text: 'hi' }] }, invocation_id: 'e-1' },
      { author: 'agent', content: { parts: [{ text: 'hello' }] }, actions: { state_delta: { mood: 'good' } } },
    ];
    const { json } = await send('POST', SESSIONS, { sessionId: 's', events });
    expect(json['state']).toEqual({ mood: 'good' });
    expect(json['events']).toMatchObject([
      { author: 'user', invocationId: 'e-1', id: expect.stringMatching(/./), timestamp: expect.any(Number) },
      { author: 'agent', invocationId: expect.stringMatching(/^e-/) },
    ]);
    expect((await send('GET', `${SESSIONS}/s`)).json).toEqual(json);
  });

  test('with events writes only its own state, and keeps their state changes for the user and the app only as history', async () => {
    const { send } = setUp();
    const state = { 'user:a': 'now', 'user:kept': 1, 'app:b': 'now' };
    await send('POST', SESSIONS, { sessionId: 'present', state });
    const changes = [
      { stateDelta: { own: 1, 'user:a': 'old', 'app:b': 'old', 'user:new': 2 } },
      { stateDelta: { own: 2 }, removedState: ['user:kept'] },
    ];
    const events = changes.map((actions) => ({ author: 'agent', invocationId: 'e-1', actions }));
    const { json } = await send('POST', SESSIONS, { sessionId: 'past', state: { first: 0 }, events });
    expect(json['state']).toEqual({ ...state, first: 0, own: 2 });
    expect(json['events']).toMatchObject(changes.map((actions) => ({ actions })));
    expect((await send('GET', `${SESSIONS}/present`)).json['state']).toEqual(state);
    const { json: other } = await send('POST', '/apps/app/users/bob/sessions');
    expect(other['state']).toEqual({ 'app:b': 'now' });
  });

  test.each([
    [
      'a partial event',
      [{ author: 'a', partial: true }],
      'events[0]: is partial, and chunks are not stored; leave the event out',
    ],
    [
      'an event without an author',
      [{ content: { parts: [{ text: 'x' }] } }],
      'events[0].author: is missing; write "author": "user", or the name of the agent',
    ],
    [
      'an id that comes twice',
      [
        { id: 'x', author: 'a' },
        { id: 'x', author: 'a' },
      ],
      'events[1].id: is the id of an earlier event; give each event its own id, or no id',
    ],
    [
      'a control character in an author',
      [{ author: 'a\0b' }],
      'events[0].author: contains a control character; remove it',
    ],
    [
      'a name that no artifact has',
      [{ author: 'a' }, { author: 'a', actions: { artifactDelta: { '../x': 0 } } }],
      'events[1].actions.artifactDelta: artifact name "../x": has the segment .., which would leave its folder; remove it',
    ],
    [
      'a version below 0',
      [{ author: 'a', actions: { artifact_delta: { 'a.txt': -1 } } }],
      'events[0].actions.artifactDelta: "a.txt" has the version -1; versions are integers from 0',
    ],
    ['something that is not an event', [{ author: 5 }], 'events[0].author: expected a string, got the number 5'],
  ])('with %s is refused and leaves nothing', async (_what, events, error) => {
    const { send } = setUp();
    const { status, json } = await send('POST', SESSIONS, { sessionId: 's', events });
    expect([status, json['error']]).toEqual([400, error]);
    expect((await send('GET', `${SESSIONS}/s`)).status).toBe(404);
  });

  test('with an overlong artifact name is refused with a short message', async () => {
    const { send } = setUp();
    const events = [{ author: 'a', actions: { artifactDelta: { ['x'.repeat(100_000)]: 0 } } }];
    const { status, json } = await send('POST', SESSIONS, { events });
    expect([status, String(json['error']).length < 300]).toEqual([400, true]);
  });

  test('with invalid events creates no session', async () => {
    const { send } = setUp();
    const events = [{ author: 'a', actions: { stateDelta: { '': 1 } } }];
    const { status, json } = await send('POST', SESSIONS, { sessionId: 's', events });
    expect([status, json['code']]).toEqual([400, 'STATE_KEY']);
    expect((await send('GET', `${SESSIONS}/s`)).status).toBe(404);
  });

  test.each([SESSIONS, `${SESSIONS}/s`])('with an existing id is a conflict: POST %s', async (path) => {
    const { send } = setUp();
    await send('POST', SESSIONS, { sessionId: 's', state: { kept: true } });
    const { status, json } = await send('POST', path, { sessionId: 's' });
    expect([status, json['code']]).toEqual([409, 'SESSION_ALREADY_EXISTS']);
    expect(json['error']).toContain(`the session "s" already exists; read it with GET ${SESSIONS}/s, send another`);
    expect((await send('GET', `${SESSIONS}/s`)).json['state']).toEqual({ kept: true });
  });

  test('with different ids in the body and in the path is refused', async () => {
    const { send } = setUp();
    expect((await send('POST', `${SESSIONS}/s`, { sessionId: 't' })).status).toBe(400);
  });
});
