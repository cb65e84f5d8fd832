// What an HTTP server takes, read and checked without a schema library, and the wire schemas as JSON Schema.

export { isDeeperThan } from '../content/json-depth.ts';
export type { OpenApiSchemaName } from '../schemas/open-api-schemas.ts';
export type { CreateSessionRequest, RunRequest } from './request-bodies.ts';
export {
  readCreateSessionRequest,
  readPatchSessionRequest,
  readRewindSessionRequest,
  readRunRequest,
} from './request-bodies.ts';
export type { WireSchema } from './wire-schemas.ts';
export { wireSchemas } from './wire-schemas.ts';
