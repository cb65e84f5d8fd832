// Tools: functions that a model can call, and schemas that check their arguments.

// Function tools
export { FinalToolResult } from './stream-result.ts';
export type {
  ConfirmationPredicate,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
  ConfirmationRule,
} from './function-tool.ts';
export { FunctionTool, isFunctionTool, LongRunningFunctionTool, refuseUnlessConfirmed } from './function-tool.ts';

// Memory tools
export { LOAD_MEMORY, LoadMemoryTool, PRELOAD_MEMORY, PreloadMemoryTool } from './memory/memory-tools.ts';
export type { MemoryToolOptions } from './memory/memory-tools.ts';

// Schemas
export type {
  GenaiSchema,
  InferSchema,
  JsonSchema,
  SchemaLike,
  StandardIssue,
  StandardResult,
  StandardSchemaWithJson,
  Zod3Schema,
  Zod4Schema,
} from './schema/standard-schema.ts';
export type { SchemaCheck } from './schema/value-schema.ts';
export { ValueSchema } from './schema/value-schema.ts';
