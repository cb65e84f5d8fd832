import { describe, expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import { parseEvent } from './parse-event.ts';

/** The fields of an event that is read from JSON without them. */
const BLANK = { ...createEvent(), id: '', timestamp: 0 };

describe('parseEvent and spellings', () => {
  test('the camelCase spelling wins in any order, unless it is null', () => {
    expect(parseEvent('{"invocation_id":"snake","invocationId":"camel"}').invocationId).toBe('camel');
    expect(parseEvent('{"invocationId":"camel","invocation_id":"snake"}').invocationId).toBe('camel');
    expect(parseEvent('{"invocationId":null,"invocation_id":"snake"}').invocationId).toBe('snake');
    expect(parseEvent('{"usage_metadata":{"totalTokenCount":null,"total_token_count":3}}').usageMetadata).toEqual({
      totalTokenCount: 3,
    });
    expect(parseEvent('{"usage_metadata":{"total_token_count":3,"totalTokenCount":4}}').usageMetadata).toEqual({
      totalTokenCount: 4,
    });
  });

  test('fields of the ADK that the type does not have are read in both spellings', () => {
    const event = { interactionId: 'i', liveSessionId: 'l', goAway: { timeLeft: '1s' } };
    expect(parseEvent(event)).toEqual({ ...BLANK, ...event });
    expect(parseEvent({ interaction_id: 'i', live_session_id: 'l', go_away: { time_left: '1s' } })).toEqual({
      ...BLANK,
      ...event,
    });
  });

  test('does not check the spelling that is ignored', () => {
    expect(parseEvent('{"invocationId":"camel","invocation_id":5}').invocationId).toBe('camel');
  });

  test('keys of the user are not renamed at any depth', () => {
    const data = { snake_key: { other_key: [{ third_key: null }] }, camelKey: 1, __proto__x: 2 };
    const event = parseEvent({
      custom_metadata: data,
      content: {
        parts: [
          { function_call: { args: data } },
          { function_response: { response: data } },
          { part_metadata: data },
          { tool_call: { tool_type: 'SEARCH', args: data } },
          { tool_response: { tool_type: 'SEARCH', response: data } },
        ],
      },
      actions: {
        state_delta: data,
        agent_state: data,
        artifact_delta: { snake_name: 1 },
        requested_tool_confirmations: { call_id_1: { payload: data } },
      },
      node_event: { event_type: 'a', category: 'custom', node_id: 'n', payload: data },
    });
    expect(event).toEqual({
      ...createEvent({
        customMetadata: data,
        content: {
          parts: [
            { functionCall: { args: data } },
            { functionResponse: { response: data } },
            { partMetadata: data },
            { toolCall: { toolType: 'SEARCH', args: data } },
            { toolResponse: { toolType: 'SEARCH', response: data } },
          ],
        },
        actions: {
          stateDelta: data,
          agentState: data,
          artifactDelta: { snake_name: 1 },
          requestedToolConfirmations: { call_id_1: { payload: data } },
        },
        nodeEvent: { eventType: 'a', category: 'custom', nodeId: 'n', payload: data },
      }),
      id: '',
      timestamp: 0,
      object: undefined,
    });
  });

  test('reads auth configs in both spellings, and treats their scopes and headers as data', () => {
    const scopes = { 'https://www.googleapis.com/auth/calendar_readonly': 'Read' };
    const event = parseEvent({
      actions: {
        requested_auth_configs: {
          call_1: {
            auth_scheme: { flows: { authorization_code: { token_url: 'https://t', scopes } } },
            raw_auth_credential: { auth_type: 'http', http: { additional_headers: { x_key: 'a' } } },
          },
        },
      },
    });
    expect(event.actions.requestedAuthConfigs).toEqual({
      call_1: {
        authScheme: { flows: { authorizationCode: { tokenUrl: 'https://t', scopes } } },
        rawAuthCredential: { authType: 'http', http: { additionalHeaders: { x_key: 'a' } } },
      },
    });
  });

  test('keeps unknown keys unchanged, except nulls', () => {
    const event = parseEvent({
      turn_complete_reason: 'X',
      someday: { a_b: 1 },
      gone: null,
      actions: { new_signal: 1 },
    });
    expect(event).toEqual({
      ...BLANK,
      turn_complete_reason: 'X',
      someday: { a_b: 1 },
      actions: { stateDelta: {}, artifactDelta: {}, new_signal: 1 },
    });
  });

  test('treats __proto__ and inherited names as ordinary keys', () => {
    const text =
      '{"__proto__":{"partial":true},"constructor":1,"actions":{"stateDelta":{"__proto__":1},"artifactDelta":{"__proto__":2}}}';
    const event = parseEvent(text);
    expect(event.partial).toBeUndefined();
    expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
    expect(Object.keys(event)).toContain('__proto__');
    expect(JSON.stringify(event.actions)).toBe('{"stateDelta":{"__proto__":1},"artifactDelta":{"__proto__":2}}');
  });
});
