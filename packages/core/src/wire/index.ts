// For HTTP servers: parsing of request bodies, and the JSON Schemas of the OpenAPI document.

// Requests
export { isDeeperThan } from '../content/json.ts';
export {
  checkNoRunConfig,
  checkParameters,
  hasOnlyCreationFields,
  readCreateSessionRequest,
  readCreateSessionSteps,
  readForkSessionRequest,
  readPatchSessionRequest,
  readRewindSessionRequest,
  readRunBody,
  readSaveArtifactRequest,
} from './request-bodies.ts';

// Bodies and their schemas
export type { WireSchema } from './wire-schemas.ts';
export { wireSchemas } from './wire-schemas.ts';
export type {
  CreateSessionBody,
  ErrorBody,
  ForkSessionBody,
  OpenApiSchemaName,
  PatchSessionBody,
  RewindSessionBody,
  RunBody,
  SaveArtifactBody,
} from './wire-shapes.ts';
