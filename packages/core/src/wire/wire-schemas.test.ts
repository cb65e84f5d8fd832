import { expect, test } from 'vitest';
import { wireSchemas } from './wire-schemas.ts';

test('the schemas refer to each other, and only to each other', () => {
  const references = JSON.stringify(wireSchemas()).match(/"\$ref":"[^"]*"/g) ?? [];
  expect(new Set(references)).toEqual(
    new Set(['Part', 'Content', 'EventActions', 'Event'].map((name) => `"$ref":"#/components/schemas/${name}"`)),
  );
});

test('a schema has the types, limits, required members and additional members of its shape', () => {
  const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  expect(wireSchemas()).toMatchObject({
    Part: {
      properties: {
        text: { type: 'string' },
        thought: { type: 'boolean', description: 'The text is reasoning, not the answer.' },
        inlineData: { properties: { data: { type: 'string' } } },
        videoMetadata: { type: 'object', properties: { fps: { type: 'number' } }, additionalProperties: {} },
        mediaResolution: { type: ['string', 'object'] },
        functionCall: { properties: { args: { type: 'object' }, partialArgs: { type: 'array' } } },
      },
    },
    RunBody: {
      type: 'object',
      properties: {
        appName: { type: 'string', minLength: 1 },
        newMessage: { $ref: '#/components/schemas/Content' },
        onBusy: { enum: ['queue', 'reject', 'interrupt'] },
      },
      required: ['appName', 'userId', 'sessionId'],
    },
    Session: { properties: { events: { type: 'array', items: { $ref: '#/components/schemas/Event' } } } },
    Event: {
      properties: {
        nodeEvent: { properties: { payload: {}, progress: { minimum: 0, maximum: 100 } } },
      },
      required: ['id', 'invocationId', 'author', 'timestamp', 'actions'],
      additionalProperties: {},
    },
    EventActions: {
      properties: { artifactDelta: { type: 'object', additionalProperties: { type: 'integer', ...safe } } },
      required: ['stateDelta', 'artifactDelta'],
    },
    CreateSessionBody: { properties: { state: { type: 'object' } } },
    ArtifactVersion: { properties: { version: { minimum: 0 } } },
  });
  expect(wireSchemas().RunBody).not.toHaveProperty('additionalProperties');
});

test('a schema leaves out members that are accepted only for compatibility with other ADKs', () => {
  const { Event } = wireSchemas();
  expect(Event.properties).not.toHaveProperty('tag');
  expect(Object.keys(Event.properties?.['inputTranscription']?.properties ?? {})).toEqual(['text', 'finished']);
});
