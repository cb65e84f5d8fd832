import { wireSchemas } from '@eventloom/core/wire';

type Schema = Readonly<Record<string, unknown>>;

/**
 * The schemas of the document. Those of core say what is answered; what a request may leave out of an event, or write in another
 * way, is said here.
 */
export function componentSchemas(): Record<string, object> {
  const actions = 'Left-out deltas are empty.';
  return {
    ...wireSchemas,
    EventActionsInput: inputOf(wireSchemas.EventActions, [], actions),
    EventInput: withProperties(inputOf(wireSchemas.Event, ['author'], INPUT), {
      id: { type: 'string', description: 'Made up when it is left out.' },
      invocationId: { type: 'string', description: 'Made up when it is left out.' },
      author: { type: 'string', minLength: 1, description: "`user`, or the agent's name." },
      timestamp: {
        anyOf: [{ type: 'number' }, { type: 'string', format: 'date-time' }],
        description: 'Seconds since the epoch, or RFC 3339; now when it is left out.',
      },
      actions: { $ref: '#/components/schemas/EventActionsInput' },
      partial: { const: false, description: 'Chunks are not stored.' },
    }),
    CreateSessionBody: withProperties(wireSchemas.CreateSessionBody, {
      events: { type: 'array', items: { $ref: '#/components/schemas/EventInput' } },
    }),
  };
}

const INPUT =
  'An event as a request gives it. Keys may be in snake case too, and null is the same as leaving one out. Author is required.';

function inputOf(schema: object, required: readonly string[], description: string): Schema {
  return { ...schema, required, description };
}

function withProperties(schema: object, properties: Schema): Schema {
  const own = 'properties' in schema && typeof schema.properties === 'object' ? schema.properties : {};
  return { ...schema, properties: { ...own, ...properties } };
}
