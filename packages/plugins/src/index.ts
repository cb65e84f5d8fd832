// Ready-made plugins, under the names of the ADK.

// Logs
export type { LoggingPluginOptions } from './logging-plugin.ts';
export { LoggingPlugin } from './logging-plugin.ts';
export type { DebugLoggingPluginOptions } from './debug-logging-plugin.ts';
export { DebugLoggingPlugin } from './debug-logging-plugin.ts';

// Repair
export type { RetryLimits } from './failure-counter.ts';
export { REFLECT_AND_RETRY_RESPONSE_TYPE, TrackingScope } from './failure-counter.ts';
export type { ReflectAndRetryModelPluginOptions } from './reflect-and-retry-model-plugin.ts';
export { ReflectAndRetryModelPlugin } from './reflect-and-retry-model-plugin.ts';
export type { ReflectAndRetryToolPluginOptions, ToolFailureResponse } from './reflect-and-retry-tool-plugin.ts';
export { ReflectAndRetryToolPlugin } from './reflect-and-retry-tool-plugin.ts';

// Requests and messages
export type { ContextFilterPluginOptions } from './context-filter-plugin.ts';
export { ContextFilterPlugin } from './context-filter-plugin.ts';
export { GlobalInstructionPlugin } from './global-instruction-plugin.ts';
export type { SaveFilesAsArtifactsPluginOptions } from './save-files-as-artifacts-plugin.ts';
export { SaveFilesAsArtifactsPlugin } from './save-files-as-artifacts-plugin.ts';

// Integrity
export { ToolCallIntegrityError } from './errors.ts';
export type { ToolCallIntegrityPluginOptions } from './tool-call-integrity-plugin.ts';
export { ToolCallIntegrityPlugin } from './tool-call-integrity-plugin.ts';
