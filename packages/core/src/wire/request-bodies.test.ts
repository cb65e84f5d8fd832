import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.ts';
import { RUN_CONFIG_OPTIONS } from '../agent/run-config.ts';
import {
  hasOnlyCreationFields,
  readCreateSessionRequest,
  readPatchSessionRequest,
  readForkSessionRequest,
  readRewindSessionRequest,
  readRunBody,
} from './request-bodies.ts';
import { RUN_BODY } from './wire-shapes.ts';

const RUN = { appName: 'app', userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'hi' }] } };
const deep = (levels: number): unknown => (levels === 0 ? 0 : [deep(levels - 1)]);

describe('the body of a run', () => {
  test('needs an app, a user and a session, and a message unless a run is resumed', () => {
    expect(readRunBody(RUN)).toEqual(RUN);
    const { newMessage: _, ...resumed } = { ...RUN, invocationId: 'e-1' };
    expect(readRunBody(resumed)).toEqual(resumed);
    for (const [key, write] of [
      ['appName', '"appName": "app"'],
      ['userId', '"userId": "ada"'],
      ['sessionId', '"sessionId": "s1"'],
    ] as const) {
      const { [key]: _, ...rest } = RUN;
      expect(() => readRunBody(rest)).toThrow(
        new InvalidRequestError(`${key}: expected a string, got nothing; write ${write}`),
      );
    }
  });

  test('is also read in snake_case, without nulls', () => {
    const body = {
      app_name: 'app',
      user_id: 'u',
      userId: null,
      session_id: 's',
      new_message: { role: 'user', parts: [{ text: 'hi', inline_data: null }] },
      streaming: null,
      state_delta: null,
      invocation_id: null,
    };
    expect(readRunBody(body)).toEqual(RUN);
  });

  test('accepts every option', () => {
    const options = {
      streaming: true,
      stateDelta: { snake_key: 1, nothing: null },
      invocationId: 'e-1',
      requestId: 'mine',
      customMetadata: { trace_id: 'x' },
      completionEvent: true,
      onBusy: 'reject',
    };
    expect(readRunBody({ ...RUN, ...options })).toEqual({ ...RUN, ...options });
  });

  test('ignores fields that only the ADK needs, and unknown fields that resemble no known one', () => {
    expect(readRunBody({ ...RUN, temperature: 1 })).toEqual(RUN);
    expect(readRunBody({ ...RUN, functionCallEventId: 'x' })).toEqual(RUN);
    expect(readRunBody({ ...RUN, function_call_event_id: 'x' })).toEqual(RUN);
  });

  test.each(['text', 'config', 'context', 'model', 'live', 'input', 'data', 'get', 'tools'])(
    'ignores the unknown field %s, which is a part of a known name',
    (name) => expect(readRunBody({ ...RUN, [name]: 'x' })).toEqual(RUN),
  );

  test.each([
    ['streeming', 'did you mean "streaming"?'],
    ['message', 'did you mean "newMessage"?'],
    ['request_ID', 'did you mean "requestId"?'],
  ])('refuses the misspelt field %s', (name, advice) => {
    const read = (): unknown => readRunBody({ ...RUN, [name]: 1 });
    expect(read).toThrow(InvalidRequestError);
    expect(read).toThrow(`${name}: the body has no such field; ${advice}`);
    expect(readRunBody({ ...RUN, [name]: null })).toEqual(RUN);
  });

  test('is strict on request: then every unknown field is refused', () => {
    expect(readRunBody({ ...RUN, temperature: null }, true)).toEqual(RUN);
    const fault = new InvalidRequestError(
      '"temperature": the body has no such field; remove it; GET /openapi.json has the fields',
    );
    expect(() => readRunBody({ ...RUN, temperature: 1 }, true)).toThrow(fault);
    expect(() => readRunBody({ ...RUN, ['x'.repeat(1_000_000)]: 1 }, true)).toThrow(`"${'x'.repeat(40)}": the body`);
  });

  test.each([
    ['maxLLMCalls', 'did you mean "maxLlmCalls"? That is set on the server'],
    ['onOpnRun', 'did you mean "onOpenRun"? That is set on the server'],
    ['generationConfig', 'did you mean "getSessionConfig"? That is set on the server'],
    ['webHook', 'did you mean "webhook"?'],
    ['RunConfig', 'did you mean "runConfig"? That is set on the server'],
    ['runconfig', 'did you mean "runConfig"? That is set on the server'],
    ['supportCFC', 'did you mean "supportCfc"? That is not offered; remove it'],
    ['streamingmode', 'did you mean "streamingMode"? That is not a field of a request; write streaming at /run_sse'],
  ])('refuses %s, which resembles another option of a run, and names both', (name, text) => {
    expect(() => readRunBody({ ...RUN, [name]: 1 })).toThrow(`${name}: the body has no such field; ${text}`);
  });

  test('compares at most 20 unknown fields of usual length, so that the work for many does not grow', () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`unknown field ${index}`, 1]));
    expect(() => readRunBody({ ...RUN, ...many, streeming: 1 })).not.toThrow();
    expect(() => readRunBody({ ...RUN, ['x'.repeat(1_000_000)]: 1, streeming: 1 })).toThrow('streaming');
  });

  test.each([...RUN_CONFIG_OPTIONS, 'runConfig'])(
    'refuses the RunConfig field %s, unless it is a field of the body',
    (option) => {
      if (Object.hasOwn(RUN_BODY.fields ?? {}, option) || option === 'streamingMode') return;
      const snake = option.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      for (const name of [option, snake]) {
        for (const value of [2, 'x', {}, false]) {
          const read = (): unknown => readRunBody({ ...RUN, [name]: value });
          expect(read).toThrow(InvalidRequestError);
          expect(read).toThrow(
            new RegExp(`^${name}: is set on the server.* new Runner\\(.* hook runConfig of the server`),
          );
        }
        expect(readRunBody({ ...RUN, [name]: null })).toEqual(RUN);
      }
    },
  );

  test.each([
    ['streamingMode', 'is not a field of a request; write streaming at /run_sse'],
    ['streaming_mode', 'is not a field of a request; write streaming at /run_sse'],
    ['supportCfc', 'is not offered; remove it'],
    ['support_cfc', 'is not offered; remove it'],
  ])('refuses %s, which no server sets', (name, advice) => {
    expect(() => readRunBody({ ...RUN, [name]: true })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', message: expect.stringContaining(`${name}: ${advice}`) }),
    );
  });

  test.each([
    [{ requestId: 'b', request_id: 'a' }, 'request_id: differs from requestId, which is the same field'],
    [{ app_name: 'other' }, 'app_name: differs from appName'],
    [{ new_message: { parts: [{ text: 'other' }] } }, 'new_message: differs from newMessage'],
  ])('refuses %j, because a field has another value in each spelling', (fields, message) => {
    expect(() => readRunBody({ ...RUN, ...fields })).toThrow(message);
  });

  test('accepts a field in both spellings if the values are equal or one is null', () => {
    expect(readRunBody({ ...RUN, app_name: RUN.appName, new_message: structuredClone(RUN.newMessage) })).toEqual(RUN);
    expect(readRunBody({ ...RUN, request_id: 'a', requestId: null })).toEqual({ ...RUN, requestId: 'a' });
  });

  test.each([
    [{ appName: 5 }, 'appName: expected a string, got the number 5; write "appName": "app"'],
    [{ userId: '' }, 'userId: expected a string that is not empty; write "userId": "ada"'],
    [
      { newMessage: 'hi' },
      'newMessage: expected an object, got a string; write "newMessage": { "parts": [{ "text": "hi" }] }',
    ],
    [{ newMessage: { parts: 'hi' } }, 'newMessage.parts: expected a list, got a string'],
    [
      { newMessage: { parts: [{ text: 5 }, { text: 6 }] } },
      'newMessage.parts[0].text: expected a string, got the number 5; newMessage.parts[1].text: expected a string, got the number 6',
    ],
    [
      { newMessage: { parts: [{ inlineData: { data: '*' } }] } },
      'newMessage.parts[0].inlineData.data: expected base64 text',
    ],
    [
      { newMessage: { parts: [{ functionCall: { args: 5 } }] } },
      'newMessage.parts[0].functionCall.args: expected an object, got the number 5',
    ],
    [
      { newMessage: { parts: [{ videoMetadata: { fps: 'x' } }] } },
      'newMessage.parts[0].videoMetadata.fps: expected a number, got a string',
    ],
    [
      { newMessage: { parts: [{ functionCall: { partialArgs: [{ nullValue: 'other' }] } }] } },
      'newMessage.parts[0].functionCall.partialArgs[0].nullValue: expected one of NULL_VALUE, got "other"',
    ],
    [
      { newMessage: { parts: [{ mediaResolution: 5 }] } },
      'newMessage.parts[0].mediaResolution: expected a string or an object, got the number 5',
    ],
    [{ newMessage: deep(300) }, 'body: is nested deeper than 250 levels'],
    [{ streaming: 'true' }, 'streaming: expected true or false, got a string'],
    [{ stateDelta: [] }, 'stateDelta: expected an object, got a list'],
    [{ customMetadata: 'x' }, 'customMetadata: expected an object, got a string'],
    [{ onBusy: 'wait' }, 'onBusy: expected one of queue, reject, interrupt, got "wait"'],
    [{ completionEvent: 1 }, 'completionEvent: expected true or false, got the number 1'],
    [{ requestId: '' }, 'requestId: expected a string that is not empty'],
  ])('refuses %j', (fault, message) => {
    expect(() => readRunBody({ ...RUN, ...fault })).toThrow(new InvalidRequestError(message));
  });

  test.each([
    [[], 'a list'],
    ['{}', 'a string'],
    [null, 'null'],
    [undefined, 'nothing'],
  ])('refuses %j as a body', (body, kind) => {
    expect(() => readRunBody(body)).toThrow(new InvalidRequestError(`body: expected an object, got ${kind}`));
  });

  test('throws an error with the first three problems and the number of the others', () => {
    expect(() => readRunBody({ streaming: 1 })).toThrow(
      new InvalidRequestError(
        'streaming: expected true or false, got the number 1; appName: expected a string, got nothing; userId: expected a string, got nothing; and 1 more; write "appName": "app", "userId": "ada"',
      ),
    );
  });
});

describe('the content in a body', () => {
  test('is read in either spelling, without nulls and with unknown fields', () => {
    const newMessage = {
      role: 'user',
      parts: [
        { text: 'hi', thought: null, someday: 1 },
        { inline_data: { mime_type: 'a/b', data: 'AAA-' } },
        { function_response: { id: 'c1', name: 'f', response: { snake_key: null } }, thought_signature: 'x' },
        { video_metadata: { start_offset: '1s', fps: 2 }, mediaResolution: { level: 'LOW' } },
      ],
    };
    expect(readRunBody({ ...RUN, newMessage }).newMessage).toEqual({
      role: 'user',
      parts: [
        { text: 'hi', someday: 1 },
        { inlineData: { mimeType: 'a/b', data: 'AAA-' } },
        { functionResponse: { id: 'c1', name: 'f', response: { snake_key: null } }, thoughtSignature: 'x' },
        { videoMetadata: { startOffset: '1s', fps: 2 }, mediaResolution: { level: 'LOW' } },
      ],
    });
  });

  test('keeps __proto__ as a key of the user', () => {
    const json = '{"parts":[{"functionCall":{"args":{"__proto__":{"admin":true}}}}]}';
    expect(JSON.stringify(readRunBody({ ...RUN, newMessage: JSON.parse(json) }).newMessage)).toBe(json);
  });
});

describe('the body that creates a session', () => {
  const EVENT = { id: 'i', invocationId: 'e-1', author: 'user', timestamp: 5 };
  const NO_ACTIONS = { stateDelta: {}, artifactDelta: {} };

  test.each([undefined, null, {}])('may be %j', (body) => {
    expect(readCreateSessionRequest(body)).toEqual({});
  });

  test.each<[object, boolean]>([
    [{}, true],
    [{ sessionId: 's', session_id: 's', state: {}, events: [] }, true],
    [{ state: {}, lang: 'de' }, false],
    [{ toString: 1 }, false],
  ])('%j has only its fields: %s', (body, isTrue) => {
    expect(hasOnlyCreationFields({ ...body })).toBe(isTrue);
  });

  test('accepts an id, state and events in either spelling, and fills in optional fields of events', () => {
    const body = {
      session_id: 's',
      state: { 'user:snake_key': null },
      events: [{ invocation_id: 'e-1', author: 'user' }, {}],
    };
    expect(readCreateSessionRequest(body)).toEqual({
      sessionId: 's',
      state: { 'user:snake_key': null },
      events: [
        { id: '', invocationId: 'e-1', author: 'user', timestamp: 0, actions: NO_ACTIONS },
        { id: '', invocationId: '', author: '', timestamp: 0, actions: NO_ACTIONS },
      ],
    });
  });

  test('accepts times, tags and counts in the formats of other ADKs', () => {
    const event = {
      ...EVENT,
      timestamp: '2026-01-01T00:00:00Z',
      tag: 'a;b',
      usage_metadata: { prompt_token_count: 3 },
    };
    expect(readCreateSessionRequest({ events: [event] }).events).toEqual([
      {
        ...EVENT,
        timestamp: 1_767_225_600,
        tags: ['a', 'b'],
        usageMetadata: { promptTokenCount: 3 },
        actions: NO_ACTIONS,
      },
    ]);
  });

  test.each([
    [{ sessionId: '' }, 'sessionId: expected a string that is not empty; write "sessionId": "s1"'],
    [{ state: 5 }, 'state: expected an object, got the number 5'],
    [{ events: {} }, 'events: expected a list, got an object'],
    [{ events: ['x'] }, 'events[0]: expected an object, got a string'],
    [
      { events: [{}, { content: { parts: [{ text: 1 }] } }] },
      'events[1].content.parts[0].text: expected a string, got the number 1',
    ],
  ])('is refused: %j', (body, message) => {
    expect(() => readCreateSessionRequest(body)).toThrow(new InvalidRequestError(message));
  });

  test.each([
    [{ timestamp: 'soon' }, 'timestamp: expected seconds since the epoch or RFC 3339 text, got "soon"'],
    [
      { timestamp: 1_763_705_520_123 },
      'timestamp: 1763705520123 is past the year 9999; timestamps are in seconds, was this milliseconds?',
    ],
    [{ tag: 5 }, 'tag: expected a string, got the number 5'],
    [
      { usageMetadata: { promptTokenCount: 1.5 } },
      'usageMetadata.promptTokenCount: expected an integer, got the number 1.5',
    ],
    [
      { usageMetadata: { timing_info: { time_to_first_token_ms: 'x' } } },
      'usageMetadata.timingInfo.timeToFirstTokenMs: expected a number, got a string',
    ],
    [
      { nodeEvent: { eventType: 't', category: 'other', nodeId: 'n' } },
      'nodeEvent.category: expected one of custom, progress, text, got "other"',
    ],
    [
      { nodeEvent: { eventType: 't', category: 'progress', nodeId: 'n', progress: 101 } },
      'nodeEvent.progress: expected a number of at most 100, got 101',
    ],
    [
      { nodeEvent: { eventType: 't', category: 'progress', nodeId: 'n', progress: -1 } },
      'nodeEvent.progress: expected a number of at least 0, got -1',
    ],
    [{ nodeEvent: { category: 'text', nodeId: 'n' } }, 'nodeEvent.eventType: expected a string, got nothing'],
    [{ error: { type: 't' } }, 'error.message: expected a string, got nothing'],
    [{ alternatives: [{ index: 1.5 }] }, 'alternatives[0].index: expected an integer, got the number 1.5'],
    [
      { actions: { artifactDelta: { 'a.txt': 1.5 } } },
      'actions.artifactDelta.a.txt: expected an integer, got the number 1.5',
    ],
    [{ actions: { escalate: 'yes' } }, 'actions.escalate: expected true or false, got a string'],
    [
      { actions: { requestedToolConfirmations: { c: { hint: 5 } } } },
      'actions.requestedToolConfirmations.c.hint: expected a string, got the number 5',
    ],
    [
      { actions: { requestedInputs: { c: [{ message: 'Which?' }] } } },
      'actions.requestedInputs.c[0].key: expected a string, got nothing',
    ],
  ])('is refused for an event with %j', (change, message) => {
    expect(() => readCreateSessionRequest({ events: [{ ...EVENT, ...change }] })).toThrow(
      new InvalidRequestError(`events[0].${message}`),
    );
  });

  test('keeps __proto__ among the keys of state and of deltas', () => {
    const state = '{"state":{"__proto__":{"admin":true}}}';
    expect(JSON.stringify(readCreateSessionRequest(JSON.parse(state)))).toBe(state);
    const actions = '{"stateDelta":{"__proto__":1},"artifactDelta":{"__proto__":2}}';
    const { events } = readCreateSessionRequest(JSON.parse(`{"events":[{"actions":${actions}}]}`));
    expect(JSON.stringify(events?.[0]?.actions)).toBe(actions);
  });
});

test('the body that changes a session needs a delta', () => {
  expect(readPatchSessionRequest({ state_delta: { a: null } })).toEqual({ stateDelta: { a: null } });
  expect(() => readPatchSessionRequest({})).toThrow('stateDelta: expected an object, got nothing');
  expect(() => readPatchSessionRequest({ stateDelta: null })).toThrow('stateDelta: expected an object, got nothing');
  expect(() => readPatchSessionRequest({ stateDelta: [] })).toThrow('stateDelta: expected an object, got a list');
});

test('the body that rewinds a session needs an invocation', () => {
  const body = { rewindBeforeInvocationId: 'e-1', onBusy: 'queue' };
  expect(readRewindSessionRequest({ rewind_before_invocation_id: 'e-1', on_busy: 'queue' })).toEqual(body);
  expect(() => readRewindSessionRequest({})).toThrow(
    'rewindBeforeInvocationId: is missing; write "rewindBeforeInvocationId": "…", the invocationId of an event to undo',
  );
  expect(() => readRewindSessionRequest({ rewindBeforeInvocationId: '' })).toThrow(
    'expected a string that is not empty',
  );
});

test('the body that copies a session needs an event', () => {
  const body = { afterEventId: 'v-1', sessionId: 'copy' };
  expect(readForkSessionRequest({ after_event_id: 'v-1', session_id: 'copy' })).toEqual(body);
  expect(() => readForkSessionRequest({ sessionId: 'copy' })).toThrow(
    'afterEventId: is missing; write "afterEventId": "…", the id of the last event of the copy',
  );
  expect(() => readForkSessionRequest({ afterEventId: 'v-1', state: {} })).toThrow(
    '"state": the body has no such field',
  );
});
