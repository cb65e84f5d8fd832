// The names that most programs need, by task: at most 150, each shown in the code of a page that
// docs/reference/eventloom.md lists. What is needed less often is exported by the package that it belongs to.

// Agents
export { BaseAgent, InvocationContext } from '@eventloom/core';
export type { InstructionProvider, LlmAgentConfig } from '@eventloom/llm-agent';
export { BuiltInPlanner, LlmAgent, PlanReActPlanner } from '@eventloom/llm-agent';
export { AgentTool, exitLoop, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';

// Graphs
export type { AnyNodes, Channels } from '@eventloom/graph';
export { append, channel, END, node, replace, START, stateAfter, StateGraph, StepLimitError } from '@eventloom/graph';

// Tools
export type { AuthConfig, AuthCredential, RunAsyncToolRequest, ToolProcessLlmRequest } from '@eventloom/core';
export {
  BaseTool,
  BaseToolset,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  REQUEST_INPUT,
  requestInput,
  toolResult,
} from '@eventloom/core';
export { BuiltInCodeExecutor } from '@eventloom/llm-agent';
export type { ToolOptions } from '@eventloom/tools';
export { FinalToolResult, FunctionTool, LOAD_MEMORY, LongRunningFunctionTool, PRELOAD_MEMORY } from '@eventloom/tools';

// Callbacks and plugins
export type { Instrumentation, SingleAgentCallback, SingleAgentErrorCallback } from '@eventloom/core';
export { BasePlugin, CallbackContext, ReadonlyContext, State, ToolContext } from '@eventloom/core';
export type {
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
  SingleModelErrorCallback,
  SingleToolErrorCallback,
} from '@eventloom/llm-agent';

// Content and events
export type { Content, Event, EventActions, FunctionCall, FunctionResponse, NodeEvent, Part } from '@eventloom/core';
export {
  contentText,
  createEvent,
  encodeBase64,
  EventTag,
  fromStrictAdk,
  getFunctionCalls,
  getFunctionResponses,
  getStructuredOutput,
  groupByExecution,
  hasTag,
  hideTransfers,
  isFinalResponse,
  ObjectType,
  objectTypeOf,
  parseEvent,
  serializeEvent,
  stringifyContent,
  toStrictAdk,
} from '@eventloom/core';

// Models
export type { LlmRequest, LlmResponse, ModelResolver } from '@eventloom/core';
export { BaseLlm } from '@eventloom/core';
export { FallbackModel } from '@eventloom/llm-agent';
export { Gemini, geminiModels } from '@eventloom/gemini';

// Runs
export type { InMemoryRunnerConfig } from './in-memory-runner.ts';
export { InMemoryRunner } from './in-memory-runner.ts';
export { Runner } from './runner.ts';
export type { ContextCacheConfig, RunConfig } from '@eventloom/core';
export { StreamingMode } from '@eventloom/core';
export type { EventsCompactionConfig } from '@eventloom/llm-agent';
export { BaseEventsSummarizer, LlmEventSummarizer } from '@eventloom/llm-agent';
export type { RunAsyncParams, RunnerConfig } from '@eventloom/runner';

// Voice and video
export { errorAdvice, LiveRequestQueue } from '@eventloom/live';

// Sessions and other services
export type { Session, SessionKey } from '@eventloom/core';
export { BaseArtifactService, BaseCredentialService, BaseMemoryService, BaseSessionService } from '@eventloom/core';
export { InMemoryArtifactService } from '@eventloom/artifacts';
export { InMemoryCredentialService } from '@eventloom/credentials';
export { InMemoryMemoryService } from '@eventloom/memory';
export { InMemorySessionService, parseSessionLines, toSessionLines } from '@eventloom/sessions';

// Errors
export {
  AgentError,
  ConfigurationError,
  EventloomError,
  InvalidEventError,
  InvalidMessageError,
  InvalidRequestError,
  LiveConnectionError,
  LiveQueueFullError,
  LlmCallLimitError,
  RunTimeoutError,
  MissingStateKeyError,
  ModelError,
  OutputSchemaError,
  RequestKnownError,
  RunAbortedError,
  RunNotFoundError,
  SessionAlreadyExistsError,
  SessionBusyError,
  SessionNotFoundError,
  ShuttingDownError,
  SizeLimitError,
  StaleWriterError,
  StateKeyError,
  StateValueError,
  StorageError,
  ToolsetUnavailableError,
  UnfinishedRunError,
} from '@eventloom/core';
