import { describe, expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import { parseContent, parseEvent } from './parse-event.ts';
import { faultOf } from './fixtures/fault-of.ts';

/** JSON with this number of nested levels. */
function nested(levels: number): string {
  return '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
}

// As adk-python writes an event with `model_dump()`: every field, snake_case, nulls and empty maps.
const PYTHON_DUMP = `{
  "model_version": "gemini-2.5-flash",
  "content": {
    "parts": [
      {
        "media_resolution": null, "code_execution_result": null, "executable_code": null, "file_data": null,
        "function_call": {
          "id": "adk-1", "args": {"city_name": "Paris", "when": null}, "name": "get_weather",
          "partial_args": null, "will_continue": null
        },
        "function_response": null, "inline_data": null, "text": null, "thought": null,
        "thought_signature": "Cr8BA-_x", "video_metadata": null
      }
    ],
    "role": "model"
  },
  "grounding_metadata": null, "partial": null, "turn_complete": null, "finish_reason": "STOP",
  "error_code": null, "error_message": null, "interrupted": null, "custom_metadata": null,
  "usage_metadata": {
    "cache_tokens_details": null, "candidates_token_count": 12, "prompt_token_count": 300,
    "prompt_tokens_details": [{"modality": "TEXT", "token_count": 300}], "total_token_count": 312
  },
  "live_session_resumption_update": null, "input_transcription": null, "output_transcription": null,
  "avg_logprobs": -0.04, "logprobs_result": null, "cache_metadata": null, "citation_metadata": null,
  "invocation_id": "e-87c91b9d-5b0c-4d0a-a0f5-2b2b8d3e9d51", "author": "weather_agent",
  "actions": {
    "skip_summarization": null, "state_delta": {"user:last_city": "Paris", "_draft": null}, "artifact_delta": {"a_b.txt": 0},
    "transfer_to_agent": null, "escalate": null, "requested_auth_configs": {}, "requested_tool_confirmations": {},
    "compaction": null, "end_of_agent": null, "agent_state": null, "rewind_before_invocation_id": null
  },
  "long_running_tool_ids": ["adk-1"], "branch": null, "id": "1c6e4c0e-7f3e-4f58-a1a8-54d2d6d1b0a5",
  "timestamp": 1763705520.123456
}`;

const PYTHON_EVENT = {
  id: '1c6e4c0e-7f3e-4f58-a1a8-54d2d6d1b0a5',
  invocationId: 'e-87c91b9d-5b0c-4d0a-a0f5-2b2b8d3e9d51',
  author: 'weather_agent',
  timestamp: 1_763_705_520.123456,
  modelVersion: 'gemini-2.5-flash',
  finishReason: 'STOP',
  content: {
    role: 'model',
    parts: [
      {
        functionCall: { id: 'adk-1', name: 'get_weather', args: { city_name: 'Paris', when: null } },
        thoughtSignature: 'Cr8BA-_x',
      },
    ],
  },
  usageMetadata: {
    promptTokenCount: 300,
    candidatesTokenCount: 12,
    totalTokenCount: 312,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 300 }],
  },
  avgLogprobs: -0.04,
  longRunningToolIds: ['adk-1'],
  actions: {
    stateDelta: { 'user:last_city': 'Paris', _draft: null },
    artifactDelta: { 'a_b.txt': 0 },
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
  },
};

// As the ADK's HTTP server writes one: camelCase, nothing that is null.
const SERVER_JSON = `{
  "content": {"parts": [{"text": "Hello"}, {"inlineData": {"mimeType": "image/png", "data": "_-8"}}], "role": "model"},
  "partial": true, "invocationId": "e-1", "author": "greeter",
  "actions": {"stateDelta": {}, "artifactDelta": {}, "requestedAuthConfigs": {}, "requestedToolConfirmations": {}},
  "id": "event-1", "timestamp": 1763705520.5
}`;

/** The fields of an event that is read from JSON without them. */
const BLANK = { ...createEvent(), id: '', timestamp: 0 };

describe('parseEvent reads events of other ADK implementations:', () => {
  test('a dump of adk-python in snake_case, full of nulls', () => {
    expect(parseEvent(PYTHON_DUMP)).toEqual(PYTHON_EVENT);
  });

  test('an event of the ADK server in camelCase', () => {
    expect(parseEvent(SERVER_JSON)).toEqual(JSON.parse(SERVER_JSON));
  });

  test('an object as well as its text', () => {
    expect(parseEvent(JSON.parse(PYTHON_DUMP))).toEqual(PYTHON_EVENT);
  });

  test('a time and tags as trpc-agent-go writes them', () => {
    const event = parseEvent('{"timestamp":"2025-11-21T06:12:00.123456789Z","tag":"transfer; mine;"}');
    expect(event.timestamp).toBe(1_763_705_520.123);
    expect(event.tags).toEqual(['transfer', 'mine']);
    expect(event).not.toHaveProperty('tag');
    expect(parseEvent({ tags: ['a'], tag: 'b;a' }).tags).toEqual(['a', 'b']);
    expect(parseEvent({ tag: 'a' }).tags).toEqual(['a']);
    expect(parseEvent({ tag: '' })).toEqual(BLANK);
  });

  test('an event that is nearly empty', () => {
    expect(parseEvent({})).toEqual(BLANK);
    expect(parseEvent({ id: null, author: null, timestamp: null, actions: null, content: null })).toEqual(BLANK);
  });
});

describe('parseEvent names the path of an error', () => {
  test.each([
    [null, 'event: expected an object, got null'],
    [[], 'event: expected an object, got a list'],
    [undefined, 'event: expected an object, got nothing'],
    [7, 'event: expected an object, got the number 7'],
    [{ id: 5 }, 'event.id: expected a string, got the number 5'],
    [{ invocation_id: false }, 'event.invocationId: expected a string, got false'],
    [{ partial: 'true' }, 'event.partial: expected true or false, got a string'],
    [{ avgLogprobs: Number.POSITIVE_INFINITY }, 'event.avgLogprobs: expected a number, got the number Infinity'],
    [{ content: 'hi' }, 'event.content: expected an object, got a string'],
    [{ content: { parts: {} } }, 'event.content.parts: expected a list, got an object'],
    [{ content: { parts: [{}, null] } }, 'event.content.parts[1]: expected an object, got null'],
    [{ content: { parts: [{ text: 5 }] } }, 'event.content.parts[0].text: expected a string, got the number 5'],
    [
      { content: { parts: [{ function_call: { args: [] } }] } },
      'event.content.parts[0].functionCall.args: expected an object, got a list',
    ],
    [{ longRunningToolIds: ['a', 1] }, 'event.longRunningToolIds[1]: expected a string, got the number 1'],
    [{ usage_metadata: [] }, 'event.usageMetadata: expected an object, got a list'],
    [{ actions: { state_delta: 'x' } }, 'event.actions.stateDelta: expected an object, got a string'],
    [
      { actions: { artifactDelta: { 'a.txt': 1.5 } } },
      'event.actions.artifactDelta.a.txt: expected an integer, got the number 1.5',
    ],
    [
      { actions: { requestedToolConfirmations: { c1: { confirmed: 1 } } } },
      'event.actions.requestedToolConfirmations.c1.confirmed: expected true or false, got the number 1',
    ],
    [{ alternatives: [{ index: 'x' }] }, 'event.alternatives[0].index: expected an integer, got a string'],
  ])('%j', (json, message) => {
    const fault = faultOf(() => parseEvent(json));
    expect(fault?.message).toBe(message);
    expect(fault?.path).toBe(message.slice(0, message.indexOf(': ')));
  });

  test('for text that is not JSON', () => {
    const fault = faultOf(() => parseEvent('{"id": '));
    expect(fault?.message).toMatch(/^event: is not JSON: /);
    expect(fault?.cause).toBeInstanceOf(SyntaxError);
  });
});

test('parseEvent throws InvalidEventError for JSON that is nested too deep, without a stack overflow', () => {
  const state = (levels: number): string => `{"actions":{"stateDelta":{"a":${nested(levels)}}}}`;
  const lists = (levels: number): string => `{"someday":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  for (const text of [state(200), nested(250), lists(249)]) expect(faultOf(() => parseEvent(text))).toBeNull();
  for (const text of [
    state(300),
    nested(251),
    lists(250),
    nested(20_000),
    lists(20_000),
    `{"usageMetadata":${nested(20_000)}}`,
  ]) {
    expect(faultOf(() => parseEvent(text))?.message).toBe('event: is nested deeper than 250 levels');
  }
  expect(faultOf(() => parseContent(JSON.parse(nested(20_000))))?.path).toBe('content');
});

test('parseEvent throws InvalidEventError with the beginning of a long path', () => {
  const fault = faultOf(() => parseEvent({ actions: { artifactDelta: { ['k'.repeat(5000)]: 'x' } } }));
  const path = `event.actions.artifactDelta.${'k'.repeat(228)}…`;
  expect([fault?.path, fault?.message]).toEqual([path, `${path}: expected an integer, got a string`]);
});

describe('parseContent', () => {
  test('reads either spelling and leaves nulls out', () => {
    expect(parseContent({ role: null, parts: [{ file_data: { file_uri: 'gs://a', mime_type: 'a/b' } }] })).toEqual({
      parts: [{ fileData: { fileUri: 'gs://a', mimeType: 'a/b' } }],
    });
  });

  test('starts the path of a fault with the given prefix', () => {
    expect(faultOf(() => parseContent({ parts: [{ text: 1 }] }))?.path).toBe('content.parts[0].text');
    expect(faultOf(() => parseContent({ role: 1 }, 'newMessage'))?.message).toBe(
      'newMessage.role: expected a string, got the number 1',
    );
  });
});

test('parseEvent does not change its argument', () => {
  const given: unknown = JSON.parse(PYTHON_DUMP);
  const before = structuredClone(given);
  parseEvent(given);
  expect(given).toEqual(before);
});
