// The names of @google/adk over the packages of Eventloom. docs/guide/from-adk.md lists all of them, also those that are not here.

// Agents
export type { AfterAgentCallback, BeforeAgentCallback, ReadonlyState, SingleAgentCallback } from '@eventloom/core';
export type { AdkRunConfig as RunConfig } from './run-config.ts';
export type { AdkBaseAgentConfig as BaseAgentConfig } from './agents.ts';
export { AdkBaseAgent as BaseAgent } from './agents.ts';
export {
  CallbackContext,
  CallbackContext as Context,
  InvocationContext,
  ReadonlyContext,
  StreamingMode,
  ToolContext,
} from '@eventloom/core';
export { isBaseAgent } from '@eventloom/core/internal';
export type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeToolCallback,
  InstructionProvider,
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeToolCallback,
} from '@eventloom/llm-agent';
export type {
  AdkBeforeModelCallback as BeforeModelCallback,
  AdkSingleBeforeModelCallback as SingleBeforeModelCallback,
} from './adk-types.ts';
export { isLlmAgent } from '@eventloom/llm-agent';
export type {
  AdkLlmAgentConfig as LlmAgentConfig,
  AdkToolUnion as ToolUnion,
  CanonicalInstruction,
} from './llm-agent.ts';
export { AdkLlmAgent as Agent, AdkLlmAgent as LlmAgent } from './llm-agent.ts';
export type {
  AdkLoopAgentConfig as LoopAgentConfig,
  AdkParallelAgentConfig as ParallelAgentConfig,
  AdkSequentialAgentConfig as SequentialAgentConfig,
} from './agents.ts';
export {
  AdkLoopAgent as LoopAgent,
  AdkParallelAgent as ParallelAgent,
  AdkSequentialAgent as SequentialAgent,
} from './agents.ts';
export { isLoopAgent, isParallelAgent, isRoutableLlmAgent, isSequentialAgent, requireAgent } from './agent-guards.ts';
export {
  AgentTransferLlmRequestProcessor,
  AUTH_PREPROCESSOR,
  AuthPreprocessor,
  BaseLlmRequestProcessor,
  BaseLlmResponseProcessor,
  CONTENT_REQUEST_PROCESSOR,
  ContentRequestProcessor,
  INTERACTIONS_REQUEST_PROCESSOR,
  InteractionsRequestProcessor,
} from './processors.ts';
export { FINISH_TASK_SUCCESS_RESULT, FINISH_TASK_TOOL_NAME, FinishTaskTool } from './finish-task.ts';
export type { ConfigArguments, ConfigCallback, LoadAgentOptions } from './agent-config.ts';
export { loadAgentFromConfig } from './agent-config.ts';
export type { AgentRouter, RoutedAgentConfig } from './routed-agent.ts';
export { isRoutedAgent, RoutedAgent } from './routed-agent.ts';

// Workflows
export type { BaseNodeConfig } from './workflow/base-node.ts';
export { BaseNode, START } from './workflow/base-node.ts';
export { BranchPath, commonPrefixOf, createSubBranch } from './workflow/branch-path.ts';
export type {
  AdkNodeOptions as BuildNodeOptions,
  NodeLike,
  AdkNodeOptions as NodeOptions,
  ParallelWorkerConfig,
} from './workflow/build-node.ts';
export { JoinNode, node, ParallelWorker, WorkflowNode } from './workflow/build-node.ts';
export type { FunctionNodeConfig, FunctionNodeHandler, FunctionNodeResult } from './workflow/function-node.ts';
export { FunctionNode } from './workflow/function-node.ts';
export type { ToolNodeConfig } from './workflow/tool-node.ts';
export { ToolNode } from './workflow/tool-node.ts';
export type { ChainElement, EdgeItem, RoutingMap } from './workflow/graph.ts';
export { DEFAULT_ROUTE, Edge, Graph } from './workflow/graph.ts';
export type {
  NodeResult,
  RouteValue as RouteKey,
  RouteValue,
  RunnableNode,
  AdkRunNodeOptions as RunNodeOptions,
} from './workflow/node-context.ts';
export { AdkNodeContext as NodeContext } from './workflow/node-context.ts';
export type { CreateNodeErrorEventParams, NodeErrorEvent } from './workflow/node-error-event.ts';
export { createNodeErrorEvent, isNodeErrorEvent } from './workflow/node-error-event.ts';
export type { NodeState } from './workflow/node-state.ts';
export { createNodeState, isNodeState, NodeStatus } from './workflow/node-state.ts';
export { NodeTool } from './workflow/node-tool.ts';
export type { RequestInputParams } from './workflow/request-input.ts';
export { isRequestInput, RequestInput } from './workflow/request-input.ts';
export type { ErrorClass, PreparedRetryConfig, AdkRetryConfig as RetryConfig } from './workflow/retry.ts';
export { normalizeRetryExceptions, prepareRetryConfig } from './workflow/retry.ts';
export type { DynamicEntry, RunnableRoot, WorkflowConfig } from './workflow/workflow.ts';
export { asRunnableRoot, isRunnableRoot, isWorkflow, Workflow } from './workflow/workflow.ts';
export type { NodeInfo } from '@eventloom/core';
export type { Route, WorkflowInstructionScope } from './adk-types.ts';

// Long conversations
export type {
  AnchoredContextCompactorOptions,
  BaseContextCompactor,
  BaseSummarizer,
  CompactedEvent,
  LlmSummarizerOptions,
  TokenBasedContextCompactorOptions,
  TrajectoryThoughtPruningCompactorOptions,
  TruncatingContextCompactorOptions,
} from './context-compactors.ts';
export {
  AnchoredContextCompactor,
  isCompactedEvent,
  isScratchpadEvent,
  LlmSummarizer,
  TokenBasedContextCompactor,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
} from './context-compactors.ts';

// Apps and runs
export type { AppOptions, ResumabilityConfig } from './app.ts';
export { App, createResumabilityConfig, isApp, validateAppName } from './app.ts';
export type {
  AdkRunAsyncParams as RunAsyncParams,
  AdkRunLiveParams as RunLiveParams,
  AdkRunnerConfig as RunnerConfig,
  RunEphemeralParams,
} from './runner.ts';
export type { RunStreamParams } from './background-calls.ts';
export { AdkRunner as Runner, isRunner } from './runner.ts';
export type { AdkInMemoryRunnerConfig as InMemoryRunnerConfig } from './in-memory-runner.ts';
export { AdkInMemoryRunner as InMemoryRunner } from './in-memory-runner.ts';

// Tools
export type { BaseToolParams, RunAsyncToolRequest, ToolPredicate } from '@eventloom/core';
export type { AdkToolProcessLlmRequest as ToolProcessLlmRequest, RequireConfirmation } from './adk-types.ts';
export { BaseToolset } from '@eventloom/core';
export { isBaseTool, isBaseToolset } from '@eventloom/core/internal';
export type { AdkAgentToolConfig as AgentToolConfig } from './adk-types.ts';
export {
  AdkAgentTool as AgentTool,
  AdkBaseTool as BaseTool,
  AdkFunctionTool as FunctionTool,
  AdkLongRunningTool as LongRunningFunctionTool,
} from './tools.ts';
export { exitLoop as EXIT_LOOP, ExitLoopTool } from '@eventloom/multi-agent';
export { isAgentTool } from './agent-guards.ts';
export type {
  SchemaLike,
  SchemaLike as LlmAgentSchema,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
} from '@eventloom/tools';
export { isFunctionTool, LOAD_MEMORY, LoadMemoryTool, PRELOAD_MEMORY, PreloadMemoryTool } from '@eventloom/tools';

// Tools that work in the background
export type { BackgroundPort, BackgroundToolParams } from './background-tool.ts';
export {
  BackgroundTool,
  completeBackgroundTool,
  failBackgroundTool,
  getBackgroundToolParams,
  requestInputForBackgroundTool,
} from './background-tool.ts';

// Search in texts
export type {
  FilesRetrievalConstructorParams,
  FilesRetrievalParams,
  LlamaIndexNode,
  LlamaIndexNodeWithScore,
  LlamaIndexRetrievalParams,
  LlamaIndexRetriever,
  TextEmbedder,
} from './retrieval.ts';
export { BaseRetrievalTool, FilesRetrieval, LlamaIndexRetrieval } from './retrieval.ts';

// Built-in tools
export type {
  Example,
  LoadWebPageOptions,
  ComputerState,
  ComputerUseToolsetOptions,
  VertexAISearchConfig,
  VertexAISearchDataStoreSpec,
  VertexAiSearchToolParams,
} from '@eventloom/tools/built-in';
export type { DataStoreParams, SearchEngineParams } from './adk-types.ts';
export {
  BaseComputer,
  BaseExampleProvider,
  ComputerUseToolset,
  ENTERPRISE_WEB_SEARCH,
  EnterpriseWebSearchTool,
  ExampleTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  GoogleMapsGroundingTool,
  GoogleSearchTool,
  isBaseExampleProvider,
  LOAD_ARTIFACTS,
  LOAD_WEB_PAGE,
  LoadArtifactsTool,
  loadWebPage,
  URL_CONTEXT,
  UrlContextTool,
  VertexAiSearchTool,
  VertexRagRetrievalTool,
} from '@eventloom/tools/built-in';
export { createGoogleSearchAgent, GoogleSearchAgentTool } from '@eventloom/llm-agent/built-in';

// Tools of servers and APIs
export type {
  MCPConnectionParams,
  MCPResource,
  MCPResourceContents,
  MCPSession,
  MCPToolDescription,
  StdioConnectionParams,
  StreamableHTTPConnectionParams,
} from './mcp.ts';
export { AdkMCPTool as MCPTool, AdkMCPToolset as MCPToolset, LoadMcpResourceTool, MCPSessionManager } from './mcp.ts';
export type {
  AdkOpenAPIToolsetOptions as OpenAPIToolsetOptions,
  OperationEndpoint,
  ParsedOperation,
  RestApiToolOptions,
} from './openapi.ts';
export type {
  AdkResources as Resources,
  AdkSkill as Skill,
  AdkSkillRegistry as SkillRegistry,
  AdkSkillToolsetOptions as SkillToolsetOptions,
  Script,
} from './skills.ts';
export { AdkSkillToolset as SkillToolset, loadAllSkillsInDir, loadSkillFromDir, validateSkillDir } from './skills.ts';
export type { Frontmatter } from '@eventloom/skills';
export { AdkOpenAPIToolset as OpenAPIToolset, AdkRestApiTool as RestApiTool, createRestApiTool } from './openapi.ts';

// Questions to people
export {
  REQUEST_CONFIRMATION as REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL as REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT as REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '@eventloom/core';
export { getUserChoiceTool, requestInputTool } from './ask-tools.ts';
export { AdkToolConfirmation as ToolConfirmation } from './tool-confirmation.ts';
export type { UserInputKind, UserInputRequest } from './user-input-requests.ts';
export { getPendingUserInputRequests, getUserInputRequests, requiresUserInput } from './user-input-requests.ts';

// Credentials
export type {
  AdkAuthConfig as AuthConfig,
  AdkAuthCredential as AuthCredential,
  AdkOAuth2Auth as OAuth2Auth,
} from './adk-types.ts';
export type {
  AuthScheme,
  BaseAuthProvider,
  BaseCredentialExchanger,
  BaseCredentialRefresher,
  ExchangeResult,
} from './auth.ts';
export {
  AuthCredentialTypes,
  AuthHandler,
  AuthProviderRegistry,
  CredentialRefresherRegistry,
  OAuth2CredentialExchanger,
  OAuthGrantType,
} from './auth.ts';
export type {
  HttpAuth,
  HttpCredentials,
  OpenIdConnectWithConfig,
  ServiceAccount,
  ServiceAccountCredential,
} from './auth.ts';

// Models
export type { BaseLlmConnection, LlmResponse } from '@eventloom/core';
export type { AdkModelRequest as LlmRequest } from './adk-types.ts';
export { appendInstructions } from '@eventloom/core';
export { AdkBaseLlm as BaseLlm } from './base-llm.ts';
export { createLlmResponse } from '@eventloom/gemini';
export { isBaseLlm } from '@eventloom/core/internal';
export type { AdkLlmRequest, GeminiParams } from './gemini.ts';
export { AdkGemini as Gemini, geminiInitParams } from './gemini.ts';
export type { BaseLlmType } from './llm-registry.ts';
export type { ApigeeLlmParams } from './apigee-llm.ts';
export { ApigeeLlm } from './apigee-llm.ts';
export { LLMRegistry } from './llm-registry.ts';
export type { LlmRouter, RoutedLlmParams } from './routed-llm.ts';
export { RoutedLlm } from './routed-llm.ts';
export { GoogleLLMVariant, isGemini2OrAbove, isGemini3xFlashLive } from './model-names.ts';

// Code execution
export type {
  CodeExecutionInput,
  CodeExecutionOutput as CodeExecutionResult,
  CodeFile as File,
  ExecuteCodeParams,
} from '@eventloom/core';
export { CodeExecutionLanguage, FileContentEncoding } from './code-languages.ts';
export { BaseCodeExecutor } from '@eventloom/core';
export { BuiltInCodeExecutor } from '@eventloom/llm-agent';
export type { AdkLocalExecutorOptions as UnsafeLocalCodeExecutorOptions } from './services.ts';
export { AdkUnsafeLocalCodeExecutor as UnsafeLocalCodeExecutor } from './services.ts';

// Events and state
export type { EventActions } from '@eventloom/core';
export type { AdkCreateEventParams as CreateEventParams } from './adk-types.ts';
export type { AdkEvent as Event } from './event-fields.ts';
export type { AdkRunEvent } from './event-fields.ts';
export { createAdkEventActions as createEventActions } from './event-fields.ts';
export { getFunctionCalls, getFunctionResponses, stringifyContent } from '@eventloom/core';
export { AdkState as State } from './state.ts';
export { hasTrailingCodeExecutionResult } from '@eventloom/core/internal';
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

export {
  createAdkEvent as createEvent,
  determineAgentForResumption,
  findEventByFunctionCallId,
  findEventByLastFunctionResponseId,
  findMatchingFunctionCall,
  generateClientFunctionCallId,
  hasThoughts,
  isAdkFinalResponse as isFinalResponse,
  populateClientFunctionCallId,
  pruneThoughts,
} from './event-history.ts';
export { createSession, mergeStates, trimTempDeltaState, trimTempState } from './sessions.ts';

// Plugins
export {
  ContextFilterPlugin,
  DebugLoggingPlugin,
  GlobalInstructionPlugin,
  ReflectAndRetryModelPlugin,
  ReflectAndRetryToolPlugin,
  SaveFilesAsArtifactsPlugin,
  ToolCallIntegrityPlugin,
} from '@eventloom/plugins';
export { AdkBasePlugin as BasePlugin } from './base-plugin.ts';
export { AdkLoggingPlugin as LoggingPlugin } from './logging-plugin.ts';
export { AdkPluginManager as PluginManager } from './plugin-manager.ts';
export type { BasePolicyEngine, PolicyCheckResult, ToolCallPolicyContext } from './security-plugin.ts';
export {
  getAskUserConfirmationFunctionCalls,
  InMemoryPolicyEngine,
  PolicyOutcome,
  SecurityPlugin,
} from './security-plugin.ts';

// Voice and video
export type { AdkLiveRequest as LiveRequest } from './live-requests.ts';
export type { TranscriptionEntry } from './adk-types.ts';
export type { ActiveStreamingToolParams } from './active-streaming-tool.ts';
export { ActiveStreamingTool } from './active-streaming-tool.ts';
export { AdkLiveRequestQueue as LiveRequestQueue } from './live-requests.ts';

// Services
export type { AdkMemoryEntry as MemoryEntry } from './adk-types.ts';
export type {
  AppendEventRequest,
  ArtifactKey as DeleteArtifactRequest,
  ArtifactKey as ListVersionsRequest,
  CreateSessionRequest,
  GetSessionConfig,
  GetSessionRequest,
  ListSessionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
  SearchMemoryRequest,
  SearchMemoryResponse,
  SessionArtifactService,
  SessionLoadArtifactRequest,
  SessionSaveArtifactRequest,
  SessionKey as CompositeSessionKey,
  SessionKey as DeleteSessionRequest,
  SessionKey as ListArtifactKeysRequest,
} from '@eventloom/core';
export type {
  AdkArtifactVersion as ArtifactVersion,
  AdkBaseArtifactService as BaseArtifactService,
  AdkBaseCredentialService as BaseCredentialService,
  AdkBaseMemoryService as BaseMemoryService,
} from './program-services.ts';
export type { AdkListSessionsResponse as ListSessionsResponse, AdkSession as Session } from './base-session-service.ts';
export { AdkBaseSessionService as BaseSessionService } from './base-session-service.ts';
export { InMemoryArtifactService } from '@eventloom/artifacts';
export { AdkInMemoryCredentialService as InMemoryCredentialService } from './program-services.ts';
export { AdkInMemoryMemoryService as InMemoryMemoryService } from './in-memory-memory.ts';
export { AdkInMemorySessionService as InMemorySessionService } from './session-reads.ts';
export type { AdkGcsOptions as GcsArtifactServiceOptions } from './services.ts';
export {
  DatabaseSessionService,
  AdkFileArtifactService as FileArtifactService,
  AdkGcsArtifactService as GcsArtifactService,
  getArtifactServiceFromUri,
  isDatabaseConnectionString,
  getSessionServiceFromUri,
} from './services.ts';

// Utilities
export { AsyncQueue } from './async-queue.ts';
export { getClientLabels, runWithClientLabel, version } from './client-labels.ts';
export type { FeatureConfig } from './features.ts';
export {
  FeatureName,
  FeatureStage,
  getFeatureConfig,
  isFeatureEnabled,
  overrideFeatureEnabled,
  registerFeature,
  withTemporaryFeatureOverride,
} from './features.ts';
export type { TaskExecutable } from './task.ts';
export { AbortableTask as Task } from './task.ts';
export type { GeminiSchema } from './gemini-schema.ts';
export { zodObjectToSchema } from './zod-object-to-schema.ts';

// Logs and errors
export type { Logger } from './logger.ts';
export { getLogger, LogLevel, setLogger, setLogLevel } from './logger.ts';
export {
  AdkNodeTimeoutError as NodeTimeoutError,
  AgentConfigError,
  CredentialExchangeError,
  DynamicNodeFailError,
  isNodeReportedError,
  isNodeSchemaValidationError,
  isNodeTimeoutError,
  isStateSchemaError,
  NodeReportedError,
  NodeSchemaValidationError,
  NotOfferedError,
  StateSchemaError,
} from './errors.ts';
export type { AgentConfigPlace, IntentMismatchReason } from './errors.ts';
export { IntentMismatchError, isIntentMismatchError } from './errors.ts';

// A2A
export { AGENT_CARD_PATH } from '@eventloom/a2a/internal';
export type {
  A2aArtifact,
  A2aMessage,
  A2aMessageSendParams,
  A2aPart,
  A2AStreamEventData,
  A2aTask,
  A2aTaskArtifactUpdateEvent,
  A2aTaskStatus,
  A2aTaskStatusUpdateEvent,
} from './a2a-types.ts';
export type { A2aAgentCard, A2aAgentInterface, A2aAgentSkill } from './a2a-agent-card.ts';
export { getA2AAgentCard } from './a2a-agent-card.ts';
export type {
  A2aEventBus,
  A2aRequestContext,
  AfterEventCallback,
  AfterExecuteCallback,
  AgentExecutorConfig,
  BeforeExecuteCallback,
  ExecutorContext,
  RunnerOrRunnerConfig,
} from './a2a-agent-executor.ts';
export { A2AAgentExecutor } from './a2a-agent-executor.ts';
export type {
  A2aClient,
  AfterA2ARequestCallback,
  BeforeA2ARequestCallback,
  RemoteA2AAgentConfig,
} from './remote-a2a-agent.ts';
export { AdkRemoteA2AAgent as RemoteA2AAgent } from './remote-a2a-agent.ts';
export type { A2aHttpRequest, A2aUser, A2aUserBuilder, ExpressApplication, ToA2aOptions } from './to-a2a.ts';
export { bearerTokenUserBuilder, toA2a } from './to-a2a.ts';

// Names that are not offered
export type { NotOffered } from './not-offered.ts';
export {
  AGENT_REGISTRY_BASE_URL,
  AgentControlledContextCompactor,
  AgentEngineSandboxCodeExecutor,
  AgentRegistry,
  AgentRegistrySingleMCPToolset,
  BaseEnvironment,
  ConsolidateContextTool,
  ContextCompactionTrigger,
  ContextCompactorRequestProcessor,
  GCPSkillRegistry,
  GCP_MCP_SERVER_DESTINATION_ID,
  ListSkillsTool,
  LoadSkillResourceTool,
  LoadSkillTool,
  LocalEnvironment,
  OAuth2DiscoveryManager,
  OpenApiSpecParser,
  OperationParser,
  ProtocolType,
  RunSkillInlineScriptErrorCode,
  RunSkillInlineScriptTool,
  RunSkillScriptTool,
  SearchSkillsTool,
  SessionStateCredentialService,
  ToolAuthHandler,
  VertexAiMemoryBankService,
  VertexAiSessionService,
  cleanName,
  functionsExportedForTestingOnly,
  getGcpExporters,
  getGcpResource,
  isGoogleApi,
  loadSkillFromZipBuffer,
  maybeSetOtelProviders,
} from './not-offered-names.ts';
export type {
  AgentEngineSandboxCodeExecutorOptions,
  AgentInfo,
  AgentSkillMetadata,
  ApiParameter,
  AuthPreparationResult,
  Binding,
  ConnectionUriFilter,
  ConnectionUriResult,
  Endpoint,
  ExecutionResult,
  GCPSkillRegistryOptions,
  GcpAuthProviderScheme,
  Interface,
  InvocationContextParams,
  ListAgentsResponse,
  ListBindingsResponse,
  ListEndpointsResponse,
  ListMcpServersResponse,
  LocalEnvironmentOptions,
  McpServer,
  NodeContextOptions,
  OTelHooks,
  OtelExportersConfig,
  ScheduleDynamicNode,
  ScheduleDynamicNodeOptions,
  VertexAiCreateSessionRequest,
  VertexAiMemoryBankServiceOptions,
  VertexAiSessionServiceOptions,
} from './not-offered-types.ts';
