// Tools: functions that a model can call, and the schemas their arguments are checked with.

export type { ToolExecuteArgument, ToolExecuteFunction, ToolInputParameters, ToolOptions } from './function-tool.ts';
export { FunctionTool, isFunctionTool } from './function-tool.ts';
export { LongRunningFunctionTool } from './long-running-function-tool.ts';
export type {
  InferSchema,
  JsonSchema,
  SchemaLike,
  StandardIssue,
  StandardSchemaWithJson,
} from './schema/standard-schema.ts';
export type { SchemaCheck } from './schema/value-schema.ts';
export { ValueSchema } from './schema/value-schema.ts';
