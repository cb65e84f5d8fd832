// What the HTTP server takes and gives, as zod schemas: it validates with them and writes its OpenAPI document from them.
// What has a type in the core (Content, Event, SessionJson, …) is read as that type.

export type { ArtifactVersionBody, ErrorBody } from './answer-schemas.ts';
export { artifactVersionSchema, errorBodySchema } from './answer-schemas.ts';
export type { ContentJson, PartJson } from './content-schema.ts';
export { contentSchema, partSchema } from './content-schema.ts';
export type { EventActionsJson, EventJson } from './event-schema.ts';
export { eventActionsSchema, eventSchema } from './event-schema.ts';
export { jsonObjectSchema } from './json-object-schema.ts';
export type { OpenApiSchemaName } from './open-api-schemas.ts';
export { toOpenApiSchemas } from './open-api-schemas.ts';
export { parseBody } from './parse-body.ts';
export type { RunBody } from './run-body-schema.ts';
export { runBodySchema } from './run-body-schema.ts';
export type {
  CreateSessionBody,
  PatchSessionBody,
  RewindSessionBody,
  SessionBody,
  SessionListBody,
} from './session-schema.ts';
export {
  createSessionBodySchema,
  patchSessionBodySchema,
  rewindSessionBodySchema,
  sessionListSchema,
  sessionSchema,
} from './session-schema.ts';
