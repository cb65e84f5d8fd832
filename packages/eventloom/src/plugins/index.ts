// Plugins under the names of the ADK.

// Logs
export type { LoggingPluginOptions } from '@eventloom/plugins';
export { LoggingPlugin } from '@eventloom/plugins';
export type { DebugLoggingPluginOptions } from '@eventloom/plugins';
export { DebugLoggingPlugin } from '@eventloom/plugins';

// Repair
export { REFLECT_AND_RETRY_RESPONSE_TYPE, TrackingScope } from '@eventloom/plugins';
export type { ReflectAndRetryModelPluginOptions } from '@eventloom/plugins';
export { ReflectAndRetryModelPlugin } from '@eventloom/plugins';
export type { ReflectAndRetryToolPluginOptions, ToolFailureResponse } from '@eventloom/plugins';
export { ReflectAndRetryToolPlugin } from '@eventloom/plugins';

// Requests and messages
export type { ContextFilterPluginOptions } from '@eventloom/plugins';
export { ContextFilterPlugin } from '@eventloom/plugins';
export { GlobalInstructionPlugin } from '@eventloom/plugins';
export type { SaveFilesAsArtifactsPluginOptions } from '@eventloom/plugins';
export { SaveFilesAsArtifactsPlugin } from '@eventloom/plugins';

// Integrity
export { ToolCallIntegrityError } from '@eventloom/plugins';
export type { ToolCallIntegrityPluginOptions } from '@eventloom/plugins';
export { ToolCallIntegrityPlugin } from '@eventloom/plugins';
