import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.ts';
import { artifactVersionSchema, errorBodySchema } from './answer-schemas.ts';
import { parseBody } from './parse-body.ts';
import { runBodySchema } from './run-body-schema.ts';
import { createSessionBodySchema, patchSessionBodySchema, sessionListSchema, sessionSchema } from './session-schema.ts';

const RUN = { appName: 'app', userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'hi' }] } };

describe('the body of a run', () => {
  test('needs an app, a user and a session; a run that is resumed needs no message', () => {
    expect(parseBody(runBodySchema, RUN)).toEqual(RUN);
    const { newMessage: _, ...resumed } = { ...RUN, invocationId: 'e-1' };
    expect(parseBody(runBodySchema, resumed)).toEqual(resumed);
    for (const key of ['appName', 'userId', 'sessionId']) {
      const { [key as keyof typeof RUN]: _, ...rest } = RUN;
      expect(() => parseBody(runBodySchema, rest)).toThrow(new RegExp(`^${key}: must be an? \\w+, is missing$`));
    }
  });

  test('is read in snake_case as well, nulls left out, camelCase winning', () => {
    const body = {
      app_name: 'app',
      user_id: 'other',
      userId: 'u',
      session_id: 's',
      new_message: { role: 'user', parts: [{ text: 'hi', inline_data: null }] },
      streaming: null,
      state_delta: null,
      invocation_id: null,
    };
    expect(parseBody(runBodySchema, body)).toEqual(RUN);
  });

  test('takes every option', () => {
    const options = {
      streaming: true,
      stateDelta: { snake_key: 1, nothing: null },
      invocationId: 'e-1',
      requestId: 'mine',
      customMetadata: { trace_id: 'x' },
      completionEvent: true,
      onBusy: 'reject',
    };
    expect(parseBody(runBodySchema, { ...RUN, ...options })).toEqual({ ...RUN, ...options });
  });

  test('ignores what it does not know', () => {
    expect(parseBody(runBodySchema, { ...RUN, functionCallEventId: 'x', someday: {} })).toEqual(RUN);
  });

  test.each([
    [{ appName: 5 }, 'appName: must be a string, is the number 5'],
    [{ userId: '' }, 'userId: must not be empty'],
    [{ newMessage: 'hi' }, 'newMessage: must be an object, is a string'],
    [{ newMessage: { parts: [{ text: 5 }] } }, 'newMessage.parts[0].text: must be a string, is the number 5'],
    [{ streaming: 'true' }, 'streaming: must be true or false, is a string'],
    [{ stateDelta: [] }, 'stateDelta: must be an object, is a list'],
    [{ customMetadata: 'x' }, 'customMetadata: must be an object, is a string'],
    [{ onBusy: 'wait' }, 'onBusy: must be one of queue, reject, interrupt'],
    [{ completionEvent: 1 }, 'completionEvent: must be true or false, is the number 1'],
    [{ requestId: '' }, 'requestId: must not be empty'],
  ])('refuses %j', (fault, message) => {
    const read = (): unknown => parseBody(runBodySchema, { ...RUN, ...fault });
    expect(read).toThrow(new InvalidRequestError(message));
  });

  test.each([
    [[], 'a list'],
    ['{}', 'a string'],
    [null, 'null'],
    [undefined, 'missing'],
  ])('refuses %j for a body', (body, kind) => {
    expect(() => parseBody(runBodySchema, body)).toThrow(`body: must be an object, is ${kind}`);
  });
});

describe('the body that creates a session', () => {
  test.each([undefined, null, {}])('may be %j', (body) => {
    expect(parseBody(createSessionBodySchema, body)).toEqual({});
  });

  test('takes an id, state and events, in either spelling', () => {
    const body = {
      session_id: 's',
      state: { 'user:snake_key': null },
      events: [{ invocation_id: 'e-1', author: 'user' }],
    };
    expect(parseBody(createSessionBodySchema, body)).toEqual({
      sessionId: 's',
      state: { 'user:snake_key': null },
      events: [
        { id: '', invocationId: 'e-1', author: 'user', timestamp: 0, actions: { stateDelta: {}, artifactDelta: {} } },
      ],
    });
  });

  test.each([
    [{ sessionId: '' }, 'sessionId: must not be empty'],
    [{ state: 5 }, 'state: must be an object, is the number 5'],
    [{ events: {} }, 'events: must be a list, is an object'],
    [
      { events: [{}, { content: { parts: [{ text: 1 }] } }] },
      'events[1].content.parts[0].text: must be a string, is the number 1',
    ],
  ])('refuses %j', (body, message) => {
    expect(() => parseBody(createSessionBodySchema, body)).toThrow(message);
  });

  test('keeps __proto__ among the keys of state', () => {
    const body = JSON.parse('{"state":{"__proto__":{"admin":true}}}') as unknown;
    expect(JSON.stringify(parseBody(createSessionBodySchema, body))).toBe('{"state":{"__proto__":{"admin":true}}}');
  });
});

test('the body that changes a session needs a delta', () => {
  expect(parseBody(patchSessionBodySchema, { state_delta: { a: null } })).toEqual({ stateDelta: { a: null } });
  expect(() => parseBody(patchSessionBodySchema, {})).toThrow('stateDelta: must be an object, is missing');
  expect(() => parseBody(patchSessionBodySchema, { stateDelta: null })).toThrow('stateDelta: must be an object');
});

describe('answers', () => {
  const session = { id: 's', appName: 'app', userId: 'u', state: { a_b: 1 }, events: [], lastUpdateTime: 1.5 };

  test('a session, and a list of them', () => {
    const { appName, userId, lastUpdateTime, ...rest } = session;
    const snake = { ...rest, app_name: appName, user_id: userId, last_update_time: lastUpdateTime };
    expect(parseBody(sessionSchema, session)).toEqual(session);
    expect(parseBody(sessionListSchema, [session, snake])).toEqual([session, session]);
    expect(() => parseBody(sessionListSchema, [session, {}])).toThrow('[1].id: must be a string, is missing');
  });

  test('an error', () => {
    expect(parseBody(errorBodySchema, { error: 'what', code: 'WHY' })).toEqual({ error: 'what', code: 'WHY' });
    expect(() => parseBody(errorBodySchema, { error: 'what' })).toThrow('code: must be a string, is missing');
  });

  test('a version of an artifact', () => {
    const version = { version: 0, canonicalUri: 'artifact://x', mimeType: 'a/b', createTime: 1.5 };
    expect(parseBody(artifactVersionSchema, version)).toEqual(version);
    expect(() => parseBody(artifactVersionSchema, { ...version, version: -1 })).toThrow('version: must be at least 0');
  });
});

test('a message names three faults and counts the rest', () => {
  expect(() => parseBody(runBodySchema, { streaming: 1 })).toThrow(
    new InvalidRequestError(
      'appName: must be a string, is missing; userId: must be a string, is missing; sessionId: must be a string, is missing; and 1 more',
    ),
  );
});
