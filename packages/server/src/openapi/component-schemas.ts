import { type WireSchema, wireSchemas } from '@eventloom/core/wire';
import type { CountLimits } from '../http/check-counts.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * The schemas of the document. Those of core say what is answered; what a request may leave out of an event, or write in another
 * way, is said here.
 */
export function componentSchemas({ maxBodyParts, maxBodyEvents, maxBodyKeys }: CountLimits): Record<string, object> {
  const schemas = wireSchemas();
  const { Content, CreateSessionBody, Event, EventActions, PatchSessionBody, RunBody } = schemas;
  const contentInput = { $ref: '#/components/schemas/ContentInput' };
  const keysOf = (schema: WireSchema, key: string): Schema => ({
    [key]: { ...schema.properties?.[key], maxProperties: maxBodyKeys },
  });
  return {
    ...schemas,
    ContentInput: withProperties(Content, { parts: { ...Content.properties?.['parts'], maxItems: maxBodyParts } }),
    EventActionsInput: withProperties(inputOf(EventActions, [], 'Left-out deltas are empty.'), {
      ...keysOf(EventActions, 'stateDelta'),
      removedState: { ...EventActions.properties?.['removedState'], maxItems: maxBodyKeys },
    }),
    EventInput: withProperties(inputOf(Event, ['author'], INPUT), {
      id: { type: 'string', description: 'Made up when it is left out.' },
      invocationId: { type: 'string', description: 'Made up when it is left out.' },
      author: { type: 'string', minLength: 1, description: "`user`, or the agent's name." },
      timestamp: {
        anyOf: [{ type: 'number' }, { type: 'string', format: 'date-time' }],
        description: 'Seconds since the epoch, or RFC 3339; now when it is left out.',
      },
      actions: { $ref: '#/components/schemas/EventActionsInput' },
      content: contentInput,
      partial: { const: false, description: 'Chunks are not stored.' },
    }),
    CreateSessionBody: withProperties(CreateSessionBody, {
      ...keysOf(CreateSessionBody, 'state'),
      events: { type: 'array', items: { $ref: '#/components/schemas/EventInput' }, maxItems: maxBodyEvents },
    }),
    PatchSessionBody: withProperties(PatchSessionBody, keysOf(PatchSessionBody, 'stateDelta')),
    RunBody: withProperties(RunBody, { newMessage: contentInput, ...keysOf(RunBody, 'stateDelta') }),
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
