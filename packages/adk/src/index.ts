// The names of @google/adk over the packages of Eventloom. docs/guide/from-adk.md lists all of them, also those that are not here.

// Agents
export type {
  AfterAgentCallback,
  BaseAgentConfig,
  BeforeAgentCallback,
  ReadonlyState,
  RunConfig,
  SingleAgentCallback,
} from '@eventloom/core';
export {
  BaseAgent,
  CallbackContext,
  Context,
  InvocationContext,
  isBaseAgent,
  ReadonlyContext,
  StreamingMode,
  ToolContext,
} from '@eventloom/core';
export type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeModelCallback,
  BeforeToolCallback,
  InstructionProvider,
  LlmAgentConfig,
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
  ToolUnion,
} from '@eventloom/llm-agent';
export { Agent, isLlmAgent, LlmAgent } from '@eventloom/llm-agent';
export type { LoopAgentConfig } from '@eventloom/multi-agent';
export { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
export { isLoopAgent, isParallelAgent, isRoutableLlmAgent, isSequentialAgent } from './agent-guards.ts';
export type { AgentRouter, RoutedAgentConfig } from './routed-agent.ts';
export { isRoutedAgent, RoutedAgent } from './routed-agent.ts';

// Apps and runs
export type { AppOptions, ResumabilityConfig } from './app.ts';
export { App, createResumabilityConfig, isApp, validateAppName } from './app.ts';
export type { AdkRunnerConfig as RunnerConfig, RunEphemeralParams } from './runner.ts';
export { AdkRunner as Runner, isRunner } from './runner.ts';
export type { AdkInMemoryRunnerConfig as InMemoryRunnerConfig } from './in-memory-runner.ts';
export { AdkInMemoryRunner as InMemoryRunner } from './in-memory-runner.ts';

// Tools
export type { BaseToolParams, RunAsyncToolRequest, ToolPredicate, ToolProcessLlmRequest } from '@eventloom/core';
export { BaseTool, BaseToolset, isBaseTool, isBaseToolset } from '@eventloom/core';
export type { AgentToolConfig } from '@eventloom/multi-agent';
export { AgentTool, EXIT_LOOP } from '@eventloom/multi-agent';
export { isAgentTool } from './agent-guards.ts';
export type {
  SchemaLike,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
} from '@eventloom/tools';
export {
  FunctionTool,
  isFunctionTool,
  LOAD_MEMORY,
  LoadMemoryTool,
  LongRunningFunctionTool,
  PRELOAD_MEMORY,
  PreloadMemoryTool,
} from '@eventloom/tools';

// Questions to people
export {
  REQUEST_CONFIRMATION as REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL as REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT as REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '@eventloom/core';
export type { UserInputKind, UserInputRequest } from './user-input-requests.ts';
export { getPendingUserInputRequests, getUserInputRequests, requiresUserInput } from './user-input-requests.ts';

// Models
export type { BaseLlmConnection, LlmRequest, LlmResponse } from '@eventloom/core';
export { BaseLlm, isBaseLlm } from '@eventloom/core';
export type { GeminiParams } from './gemini.ts';
export { AdkGemini as Gemini, geminiInitParams } from './gemini.ts';
export type { BaseLlmType } from './llm-registry.ts';
export { LLMRegistry } from './llm-registry.ts';
export type { LlmRouter, RoutedLlmParams } from './routed-llm.ts';
export { RoutedLlm } from './routed-llm.ts';
export { GoogleLLMVariant, isGemini2OrAbove, isGemini3xFlashLive } from './model-names.ts';

// Code execution
export type { ExecuteCodeParams } from '@eventloom/core';
export { BaseCodeExecutor } from '@eventloom/core';
export { BuiltInCodeExecutor } from '@eventloom/llm-agent';

// Events and state
export type { Event, EventActions, EventParams as CreateEventParams } from '@eventloom/core';
export {
  createEvent,
  createEventActions,
  getFunctionCalls,
  getFunctionResponses,
  hasTrailingCodeExecutionResult,
  isFinalResponse,
  State,
  stringifyContent,
} from '@eventloom/core';
export type {
  ActivityEvent,
  CallCodeEvent,
  CodeResultEvent,
  ContentEvent,
  ErrorEvent,
  FinishedEvent,
  StructuredEvent,
  ThoughtEvent,
  ToolCallEvent,
  ToolConfirmationEvent,
  ToolResultEvent,
} from './structured-events.ts';
export { EventType, toStructuredEvents } from './structured-events.ts';

// Plugins
export { BasePlugin, PluginManager } from '@eventloom/core';

// Voice and video
export type { LiveRequest } from '@eventloom/core';
export { LiveRequestQueue } from '@eventloom/live';

// Services
export type {
  AppendEventRequest,
  CreateSessionRequest,
  GetSessionConfig,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadArtifactRequest,
  MemoryEntry,
  SaveArtifactRequest,
  SearchMemoryRequest,
  SearchMemoryResponse,
  Session,
  SessionKey as CompositeSessionKey,
} from '@eventloom/core';
export { BaseArtifactService, BaseCredentialService, BaseMemoryService, BaseSessionService } from '@eventloom/core';
export { InMemoryArtifactService } from '@eventloom/artifacts';
export { InMemoryCredentialService } from '@eventloom/credentials';
export { InMemoryMemoryService } from '@eventloom/memory';
export { InMemorySessionService } from '@eventloom/sessions';

// Logs and errors
export type { Logger } from './logger.ts';
export { getLogger, LogLevel, setLogger, setLogLevel } from './logger.ts';
export { NotOfferedError } from './errors.ts';
