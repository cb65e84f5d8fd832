import { expect, test } from 'vitest';
import * as z from 'zod';
import * as schemas from './index.ts';
import { toOpenApiSchemas } from './open-api-schemas.ts';

const SCHEMAS = Object.entries<unknown>({ ...schemas }).filter(
  (entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType,
);

test.each(SCHEMAS)('%s converts to JSON Schema, for what comes in and for what goes out', (_name, schema) => {
  for (const io of ['input', 'output'] as const) {
    const json = z.toJSONSchema(schema, { io });
    expect(json.type).toBe(schema === schemas.sessionListSchema ? 'array' : 'object');
  }
});

test('there is something to convert', () => {
  expect(SCHEMAS.map(([name]) => name).toSorted()).toEqual([
    'artifactVersionSchema',
    'contentSchema',
    'createSessionBodySchema',
    'errorBodySchema',
    'eventActionsSchema',
    'eventSchema',
    'jsonObjectSchema',
    'partSchema',
    'patchSessionBodySchema',
    'rewindSessionBodySchema',
    'runBodySchema',
    'sessionListSchema',
    'sessionSchema',
  ]);
});

test('the components refer to each other, and only to each other', () => {
  const components = toOpenApiSchemas();
  const references = JSON.stringify(components).match(/"\$ref":"[^"]*"/g) ?? [];
  expect(new Set(references)).toEqual(
    new Set(['Part', 'Content', 'EventActions', 'Event'].map((name) => `"$ref":"#/components/schemas/${name}"`)),
  );
  expect(components).toMatchObject({
    RunBody: {
      properties: {
        newMessage: { $ref: '#/components/schemas/Content' },
        onBusy: { enum: ['queue', 'reject', 'interrupt'] },
      },
      required: ['appName', 'userId', 'sessionId'],
    },
    Session: { properties: { events: { items: { $ref: '#/components/schemas/Event' } } } },
    Event: { required: ['id', 'invocationId', 'author', 'timestamp', 'actions'] },
    EventActions: { properties: { artifactDelta: { additionalProperties: { type: 'integer' } } } },
    CreateSessionBody: { properties: { state: { type: 'object' } } },
  });
  expect(JSON.stringify(components)).not.toMatch(/"\$(id|schema)"/);
});
