import { describe, expect, test } from 'vitest';
import { parseBody, patchSessionBodySchema, rewindSessionBodySchema, runBodySchema } from '../schemas/index.ts';
import { createSessionBodySchema } from '../schemas/session-schema.ts';
import {
  readCreateSessionRequest,
  readPatchSessionRequest,
  readRewindSessionRequest,
  readRunRequest,
} from './request-bodies.ts';

const RUN = { appName: 'app', userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'hi' }] } };
const EVENT = { id: 'i', invocationId: 'e-1', author: 'user', timestamp: 5 };
const deep = (levels: number): unknown => (levels === 0 ? 0 : [deep(levels - 1)]);

/** What is read, or the message of what is thrown. */
function outcome(read: () => unknown): unknown {
  try {
    return { read: read() };
  } catch (error) {
    return { refused: String(error) };
  }
}

describe('a body of a run is read as its zod schema reads it', () => {
  test.each<[unknown]>([
    ...[undefined, null, [], '{}', 5, {}, { appName: 5, userId: '', sessionId: null, streaming: 'yes' }].map(alone),
    ...[
      {},
      { app_name: 'other', session_id: 'x', new_message: { parts: [{ inline_data: null, text: 'hi' }] } },
      { streaming: true, stateDelta: { snake_key: 1, nothing: null }, onBusy: 'reject', completionEvent: false },
      { request_id: 'mine', customMetadata: { trace_id: 'x' }, invocationId: 'e-1', someday: {} },
      { appName: 5 },
      { userId: '' },
      { newMessage: 'hi' },
      { newMessage: { parts: [{ text: 5 }, { text: 6 }] } },
      { newMessage: { parts: [{ inlineData: { data: '*' } }] } },
      { newMessage: { parts: [{ videoMetadata: { fps: 'x' } }] } },
      { newMessage: { parts: [{ functionCall: { partialArgs: [{ nullValue: 'other' }] } }] } },
      { newMessage: { parts: [{ functionCall: { name: 'f', args: { a: null } }, unknown: { b: 1 } }] } },
      { newMessage: deep(300) },
      { streaming: 'true', stateDelta: [], customMetadata: 'x', onBusy: 'wait', requestId: '' },
    ].map((more) => alone({ ...RUN, ...more })),
  ])('%j', (body) => {
    expect(outcome(() => readRunRequest(body))).toEqual(outcome(() => parseBody(runBodySchema, body)));
  });
});

describe('a body that creates a session is read as its zod schema reads it', () => {
  test.each<[unknown]>([
    ...[undefined, null, {}, [], 'x', { sessionId: '' }, { state: 5 }, { events: {} }, { session_id: 's' }].map(alone),
    ...[
      {},
      { author: undefined },
      { timestamp: '2026-01-01T00:00:00Z', tag: 'a;b', usage_metadata: { prompt_token_count: 3 } },
      { timestamp: 'soon' },
      { usageMetadata: { promptTokenCount: 1.5 } },
      { nodeEvent: { eventType: 't', category: 'other', nodeId: 'n' } },
      { nodeEvent: { eventType: 't', category: 'progress', nodeId: 'n', progress: 101 } },
      { nodeEvent: { category: 'text', nodeId: 'n' } },
      { error: { type: 't' } },
      { alternatives: [{ index: 1.5, content: {} }] },
      { actions: { stateDelta: { a: null }, artifactDelta: { 'a.txt': 1.5 } } },
      { actions: { requestedToolConfirmations: { c: { hint: 5 } } } },
      { actions: { compaction: { startTimestamp: 1 } } },
    ].map((more) => alone({ state: { 'user:k': null }, events: [{ ...EVENT, ...more }] })),
  ])('%j', (body) => {
    const here = outcome(() => readCreateSessionRequest(body));
    expect(here).toEqual(outcome(() => parseBody(createSessionBodySchema, body)));
  });

  test('keeps __proto__ among the keys of state', () => {
    const body = JSON.parse('{"state":{"__proto__":{"admin":true}}}') as unknown;
    expect(JSON.stringify(readCreateSessionRequest(body))).toBe('{"state":{"__proto__":{"admin":true}}}');
  });
});

test.each([{ state_delta: { a: null } }, {}, { stateDelta: null }, { stateDelta: [] }])(
  'a body that changes a session is read as its zod schema reads it: %j',
  (body) => {
    const here = outcome(() => readPatchSessionRequest(body));
    expect(here).toEqual(outcome(() => parseBody(patchSessionBodySchema, body)));
  },
);

test.each([{ rewind_before_invocation_id: 'e-1' }, {}, { rewindBeforeInvocationId: '' }])(
  'a body that rewinds a session is read as its zod schema reads it: %j',
  (body) => {
    const here = outcome(() => readRewindSessionRequest(body));
    expect(here).toEqual(outcome(() => parseBody(rewindSessionBodySchema, body)));
  },
);

function alone(body: unknown): [unknown] {
  return [body];
}
