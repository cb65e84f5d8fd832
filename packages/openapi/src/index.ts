// Tools made from OpenAPI documents.

// Toolset
export type { OpenAPIToolsetOptions } from './openapi-toolset.ts';
export { OpenAPIToolset } from './openapi-toolset.ts';
export type { ApiOperation } from './operations.ts';
export type { ApiCall } from './rest-api-tool.ts';
export { RestApiTool } from './rest-api-tool.ts';

// Errors
export { ApiCallError, OpenApiDocumentError } from './errors.ts';
