// Tools: functions that a model can call, and the schemas their arguments are checked with.

export { FinalToolResult, isFinalToolResult } from './final-tool-result.ts';
export type {
  ConfirmationPredicate,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
} from './function-tool.ts';
export { FunctionTool, isFunctionTool } from './function-tool.ts';
export type { ConfirmationRule } from './is-confirmed.ts';
export { isConfirmed } from './is-confirmed.ts';
export { LongRunningFunctionTool } from './long-running-function-tool.ts';
export { LOAD_MEMORY, LoadMemoryTool } from './memory/load-memory-tool.ts';
export type { MemoryToolOptions } from './memory/memory-tool-options.ts';
export { PRELOAD_MEMORY, PreloadMemoryTool } from './memory/preload-memory-tool.ts';
export type {
  InferSchema,
  JsonSchema,
  SchemaLike,
  StandardIssue,
  StandardSchemaWithJson,
} from './schema/standard-schema.ts';
export type { SchemaCheck } from './schema/value-schema.ts';
export { ValueSchema } from './schema/value-schema.ts';
