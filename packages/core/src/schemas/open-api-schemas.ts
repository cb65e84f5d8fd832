import * as z from 'zod';
import { artifactVersionSchema, errorBodySchema } from './answer-schemas.ts';
import { contentShape, partShape } from './content-schema.ts';
import { eventActionsShape, eventShape } from './event-schema.ts';
import { runBodySchema } from './run-body-schema.ts';
import {
  createSessionBodySchema,
  patchSessionBodySchema,
  rewindSessionBodySchema,
  sessionSchema,
} from './session-schema.ts';

/** The names of the wire schemas in OpenAPI. */
export type OpenApiSchemaName =
  | 'Part'
  | 'Content'
  | 'EventActions'
  | 'Event'
  | 'Session'
  | 'CreateSessionBody'
  | 'PatchSessionBody'
  | 'RewindSessionBody'
  | 'RunBody'
  | 'ArtifactVersion'
  | 'ErrorBody';

const COMPONENTS: Readonly<Record<OpenApiSchemaName, z.ZodType>> = {
  Part: partShape,
  Content: contentShape,
  EventActions: eventActionsShape,
  Event: eventShape,
  Session: sessionSchema,
  CreateSessionBody: createSessionBodySchema,
  PatchSessionBody: patchSessionBodySchema,
  RewindSessionBody: rewindSessionBodySchema,
  RunBody: runBodySchema,
  ArtifactVersion: artifactVersionSchema,
  ErrorBody: errorBodySchema,
};

/** The wire schemas as JSON Schema, for `components.schemas` of an OpenAPI 3.1 document; they refer to each other there. */
export function toOpenApiSchemas(): Record<OpenApiSchemaName, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` });
  // A component says where it is by its place in the document.
  const components = Object.entries(schemas).map(([id, { $id: _id, $schema: _dialect, ...schema }]) => [id, schema]);
  return Object.fromEntries(components) as Record<OpenApiSchemaName, object>;
}
