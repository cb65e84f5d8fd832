// All names of `@eventloom/adk`, for programs that were written for @google/adk. Written by pnpm api:update.

// Agents
export type { AfterAgentCallback, BeforeAgentCallback, ReadonlyState, SingleAgentCallback } from '@eventloom/adk';
export type { RunConfig } from '@eventloom/adk';
export type { BaseAgentConfig } from '@eventloom/adk';
export { BaseAgent } from '@eventloom/adk';
export {
  CallbackContext,
  Context,
  InvocationContext,
  ReadonlyContext,
  StreamingMode,
  ToolContext,
} from '@eventloom/adk';
export { isBaseAgent } from '@eventloom/adk';
export type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeModelCallback,
  BeforeToolCallback,
  InstructionProvider,
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
} from '@eventloom/adk';
export { isLlmAgent } from '@eventloom/adk';
export type { CanonicalInstruction, LlmAgentConfig, ToolUnion } from '@eventloom/adk';
export { Agent, LlmAgent } from '@eventloom/adk';
export type { LoopAgentConfig, ParallelAgentConfig, SequentialAgentConfig } from '@eventloom/adk';
export { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/adk';
export { isLoopAgent, isParallelAgent, isRoutableLlmAgent, isSequentialAgent, requireAgent } from '@eventloom/adk';
export {
  AUTH_PREPROCESSOR,
  AgentTransferLlmRequestProcessor,
  AuthPreprocessor,
  BaseLlmRequestProcessor,
  BaseLlmResponseProcessor,
  CONTENT_REQUEST_PROCESSOR,
  ContentRequestProcessor,
  INTERACTIONS_REQUEST_PROCESSOR,
  InteractionsRequestProcessor,
} from '@eventloom/adk';
export { FINISH_TASK_SUCCESS_RESULT, FINISH_TASK_TOOL_NAME, FinishTaskTool } from '@eventloom/adk';
export type { ConfigArguments, ConfigCallback, LoadAgentOptions } from '@eventloom/adk';
export { loadAgentFromConfig } from '@eventloom/adk';
export type { AgentRouter, RoutedAgentConfig } from '@eventloom/adk';
export { RoutedAgent, isRoutedAgent } from '@eventloom/adk';

// Workflows
export type { BaseNodeConfig } from '@eventloom/adk';
export { BaseNode, START } from '@eventloom/adk';
export { BranchPath, commonPrefixOf, createSubBranch } from '@eventloom/adk';
export type {
  BuildNodeOptions,
  FunctionNodeConfig,
  FunctionNodeHandler,
  FunctionNodeResult,
  NodeLike,
  NodeOptions,
  ParallelWorkerConfig,
} from '@eventloom/adk';
export { FunctionNode, JoinNode, ParallelWorker, WorkflowNode, node } from '@eventloom/adk';
export type { ToolNodeConfig } from '@eventloom/adk';
export { ToolNode } from '@eventloom/adk';
export type { ChainElement, EdgeItem, RoutingMap } from '@eventloom/adk';
export { DEFAULT_ROUTE, Edge, Graph } from '@eventloom/adk';
export type { NodeResult, RouteKey, RouteValue, RunNodeOptions, RunnableNode } from '@eventloom/adk';
export { NodeContext } from '@eventloom/adk';
export type { CreateNodeErrorEventParams, NodeErrorEvent } from '@eventloom/adk';
export { createNodeErrorEvent, isNodeErrorEvent } from '@eventloom/adk';
export type { NodeState } from '@eventloom/adk';
export { NodeStatus, createNodeState, isNodeState } from '@eventloom/adk';
export { NodeTool } from '@eventloom/adk';
export type { RequestInputParams } from '@eventloom/adk';
export { RequestInput, isRequestInput } from '@eventloom/adk';
export type { ErrorClass, PreparedRetryConfig, RetryConfig } from '@eventloom/adk';
export { normalizeRetryExceptions, prepareRetryConfig } from '@eventloom/adk';
export type { DynamicEntry, RunnableRoot, WorkflowConfig } from '@eventloom/adk';
export { Workflow, asRunnableRoot, isRunnableRoot, isWorkflow } from '@eventloom/adk';
export type { NodeInfo } from '@eventloom/adk';
export type { Route, WorkflowInstructionScope } from '@eventloom/adk';

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
} from '@eventloom/adk';
export {
  AnchoredContextCompactor,
  LlmSummarizer,
  TokenBasedContextCompactor,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
  isCompactedEvent,
  isScratchpadEvent,
} from '@eventloom/adk';

// Apps and runs
export type { AppOptions, ResumabilityConfig } from '@eventloom/adk';
export { App, createResumabilityConfig, isApp, validateAppName } from '@eventloom/adk';
export type { RunAsyncParams, RunEphemeralParams, RunLiveParams, RunnerConfig } from '@eventloom/adk';
export type { RunStreamParams } from '@eventloom/adk';
export { Runner, isRunner } from '@eventloom/adk';
export type { InMemoryRunnerConfig } from '@eventloom/adk';
export { InMemoryRunner } from '@eventloom/adk';

// Tools
export type { BaseToolParams, RunAsyncToolRequest, ToolPredicate } from '@eventloom/adk';
export type { ToolProcessLlmRequest } from '@eventloom/adk';
export { BaseTool, BaseToolset } from '@eventloom/adk';
export { isBaseTool, isBaseToolset } from '@eventloom/adk';
export type { AgentToolConfig } from '@eventloom/adk';
export { AgentTool, EXIT_LOOP, ExitLoopTool } from '@eventloom/adk';
export { isAgentTool } from '@eventloom/adk';
export type {
  LlmAgentSchema,
  RequireConfirmation,
  SchemaLike,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
} from '@eventloom/adk';
export {
  FunctionTool,
  LOAD_MEMORY,
  LoadMemoryTool,
  LongRunningFunctionTool,
  PRELOAD_MEMORY,
  PreloadMemoryTool,
  isFunctionTool,
} from '@eventloom/adk';

// Tools that work in the background
export type { BackgroundPort, BackgroundToolParams } from '@eventloom/adk';
export {
  BackgroundTool,
  completeBackgroundTool,
  failBackgroundTool,
  getBackgroundToolParams,
  requestInputForBackgroundTool,
} from '@eventloom/adk';

// Search in texts
export type {
  FilesRetrievalConstructorParams,
  FilesRetrievalParams,
  LlamaIndexNode,
  LlamaIndexNodeWithScore,
  LlamaIndexRetrievalParams,
  LlamaIndexRetriever,
  TextEmbedder,
} from '@eventloom/adk';
export { BaseRetrievalTool, FilesRetrieval, LlamaIndexRetrieval } from '@eventloom/adk';

// Built-in tools
export type {
  ComputerState,
  ComputerUseToolsetOptions,
  Example,
  LoadWebPageOptions,
  VertexAISearchConfig,
  VertexAISearchDataStoreSpec,
  VertexAiSearchToolParams,
} from '@eventloom/adk';
export type { DataStoreParams, SearchEngineParams } from '@eventloom/adk';
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
  LOAD_ARTIFACTS,
  LOAD_WEB_PAGE,
  LoadArtifactsTool,
  URL_CONTEXT,
  UrlContextTool,
  VertexAiSearchTool,
  VertexRagRetrievalTool,
  isBaseExampleProvider,
  loadWebPage,
} from '@eventloom/adk';
export { GoogleSearchAgentTool, createGoogleSearchAgent } from '@eventloom/adk';

// Tools of servers and APIs
export type {
  MCPConnectionParams,
  MCPResource,
  MCPResourceContents,
  MCPSession,
  MCPToolDescription,
  StdioConnectionParams,
  StreamableHTTPConnectionParams,
} from '@eventloom/adk';
export { LoadMcpResourceTool, MCPSessionManager, MCPTool, MCPToolset } from '@eventloom/adk';
export type { OpenAPIToolsetOptions, OperationEndpoint, ParsedOperation, RestApiToolOptions } from '@eventloom/adk';
export type { Resources, Script, Skill, SkillRegistry, SkillToolsetOptions } from '@eventloom/adk';
export { SkillToolset, loadAllSkillsInDir, loadSkillFromDir, validateSkillDir } from '@eventloom/adk';
export type { Frontmatter } from '@eventloom/adk';
export { OpenAPIToolset, RestApiTool, createRestApiTool } from '@eventloom/adk';

// Questions to people
export {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '@eventloom/adk';
export { getUserChoiceTool, requestInputTool } from '@eventloom/adk';
export { ToolConfirmation } from '@eventloom/adk';
export type { UserInputKind, UserInputRequest } from '@eventloom/adk';
export { getPendingUserInputRequests, getUserInputRequests, requiresUserInput } from '@eventloom/adk';

// Credentials
export type { AuthConfig, AuthCredential, OAuth2Auth } from '@eventloom/adk';
export type {
  AuthScheme,
  BaseAuthProvider,
  BaseCredentialExchanger,
  BaseCredentialRefresher,
  ExchangeResult,
} from '@eventloom/adk';
export {
  AuthCredentialTypes,
  AuthHandler,
  AuthProviderRegistry,
  CredentialRefresherRegistry,
  OAuth2CredentialExchanger,
  OAuthGrantType,
} from '@eventloom/adk';
export type {
  HttpAuth,
  HttpCredentials,
  OpenIdConnectWithConfig,
  ServiceAccount,
  ServiceAccountCredential,
} from '@eventloom/adk';

// Models
export type { BaseLlmConnection, LlmResponse } from '@eventloom/adk';
export type { LlmRequest } from '@eventloom/adk';
export { appendInstructions } from '@eventloom/adk';
export { BaseLlm } from '@eventloom/adk';
export { createLlmResponse } from '@eventloom/adk';
export { isBaseLlm } from '@eventloom/adk';
export type { AdkLlmRequest, GeminiParams } from '@eventloom/adk';
export { Gemini, geminiInitParams } from '@eventloom/adk';
export type { BaseLlmType } from '@eventloom/adk';
export type { ApigeeLlmParams } from '@eventloom/adk';
export { ApigeeLlm } from '@eventloom/adk';
export { LLMRegistry } from '@eventloom/adk';
export type { LlmRouter, RoutedLlmParams } from '@eventloom/adk';
export { RoutedLlm } from '@eventloom/adk';
export { GoogleLLMVariant, isGemini2OrAbove, isGemini3xFlashLive } from '@eventloom/adk';

// Code execution
export type { CodeExecutionInput, CodeExecutionResult, ExecuteCodeParams, File } from '@eventloom/adk';
export { CodeExecutionLanguage, FileContentEncoding } from '@eventloom/adk';
export { BaseCodeExecutor } from '@eventloom/adk';
export { BuiltInCodeExecutor } from '@eventloom/adk';
export type { UnsafeLocalCodeExecutorOptions } from '@eventloom/adk';
export { UnsafeLocalCodeExecutor } from '@eventloom/adk';

// Events and state
export type { CreateEventParams, EventActions } from '@eventloom/adk';
export type { Event } from '@eventloom/adk';
export { createEventActions } from '@eventloom/adk';
export { getFunctionCalls, getFunctionResponses, isFinalResponse, stringifyContent } from '@eventloom/adk';
export { State } from '@eventloom/adk';
export { hasTrailingCodeExecutionResult } from '@eventloom/adk';
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
} from '@eventloom/adk';
export { EventType, toStructuredEvents } from '@eventloom/adk';
export {
  createEvent,
  determineAgentForResumption,
  findEventByFunctionCallId,
  findEventByLastFunctionResponseId,
  findMatchingFunctionCall,
  generateClientFunctionCallId,
  hasThoughts,
  populateClientFunctionCallId,
  pruneThoughts,
} from '@eventloom/adk';
export { createSession, mergeStates, trimTempDeltaState, trimTempState } from '@eventloom/adk';

// Plugins
export {
  ContextFilterPlugin,
  DebugLoggingPlugin,
  GlobalInstructionPlugin,
  ReflectAndRetryModelPlugin,
  ReflectAndRetryToolPlugin,
  SaveFilesAsArtifactsPlugin,
  ToolCallIntegrityPlugin,
} from '@eventloom/adk';
export { BasePlugin } from '@eventloom/adk';
export { LoggingPlugin } from '@eventloom/adk';
export { PluginManager } from '@eventloom/adk';
export type { BasePolicyEngine, PolicyCheckResult, ToolCallPolicyContext } from '@eventloom/adk';
export {
  InMemoryPolicyEngine,
  PolicyOutcome,
  SecurityPlugin,
  getAskUserConfirmationFunctionCalls,
} from '@eventloom/adk';

// Voice and video
export type { LiveRequest } from '@eventloom/adk';
export type { TranscriptionEntry } from '@eventloom/adk';
export type { ActiveStreamingToolParams } from '@eventloom/adk';
export { ActiveStreamingTool } from '@eventloom/adk';
export { LiveRequestQueue } from '@eventloom/adk';

// Services
export type {
  AppendEventRequest,
  CompositeSessionKey,
  CreateSessionRequest,
  DeleteArtifactRequest,
  DeleteSessionRequest,
  GetSessionConfig,
  GetSessionRequest,
  ListArtifactKeysRequest,
  ListSessionsRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  MemoryEntry,
  SaveArtifactRequest,
  SearchMemoryRequest,
  SearchMemoryResponse,
  SessionArtifactService,
  SessionLoadArtifactRequest,
  SessionSaveArtifactRequest,
} from '@eventloom/adk';
export type { ArtifactVersion, BaseArtifactService, BaseCredentialService, BaseMemoryService } from '@eventloom/adk';
export type { ListSessionsResponse, Session } from '@eventloom/adk';
export { BaseSessionService } from '@eventloom/adk';
export { InMemoryArtifactService } from '@eventloom/adk';
export { InMemoryCredentialService } from '@eventloom/adk';
export { InMemoryMemoryService } from '@eventloom/adk';
export { InMemorySessionService } from '@eventloom/adk';
export type { GcsArtifactServiceOptions } from '@eventloom/adk';
export {
  DatabaseSessionService,
  FileArtifactService,
  GcsArtifactService,
  getArtifactServiceFromUri,
  getSessionServiceFromUri,
} from '@eventloom/adk';

// Utilities
export { AsyncQueue } from '@eventloom/adk';
export { getClientLabels, runWithClientLabel, version } from '@eventloom/adk';
export type { FeatureConfig } from '@eventloom/adk';
export {
  FeatureName,
  FeatureStage,
  getFeatureConfig,
  isFeatureEnabled,
  overrideFeatureEnabled,
  registerFeature,
  withTemporaryFeatureOverride,
} from '@eventloom/adk';
export type { TaskExecutable } from '@eventloom/adk';
export { Task } from '@eventloom/adk';
export type { GeminiSchema } from '@eventloom/adk';
export { zodObjectToSchema } from '@eventloom/adk';

// Logs and errors
export type { Logger } from '@eventloom/adk';
export { LogLevel, getLogger, setLogLevel, setLogger } from '@eventloom/adk';
export {
  AgentConfigError,
  CredentialExchangeError,
  DynamicNodeFailError,
  NodeReportedError,
  NodeSchemaValidationError,
  NodeTimeoutError,
  NotOfferedError,
  StateSchemaError,
  isNodeReportedError,
  isNodeSchemaValidationError,
  isNodeTimeoutError,
  isStateSchemaError,
} from '@eventloom/adk';
export type { AgentConfigPlace, IntentMismatchReason } from '@eventloom/adk';
export { IntentMismatchError, isIntentMismatchError } from '@eventloom/adk';

// A2A
export { AGENT_CARD_PATH } from '@eventloom/adk';
export type {
  A2AStreamEventData,
  A2aArtifact,
  A2aMessage,
  A2aMessageSendParams,
  A2aPart,
  A2aTask,
  A2aTaskArtifactUpdateEvent,
  A2aTaskStatus,
  A2aTaskStatusUpdateEvent,
} from '@eventloom/adk';
export type { A2aAgentCard, A2aAgentInterface, A2aAgentSkill } from '@eventloom/adk';
export { getA2AAgentCard } from '@eventloom/adk';
export type {
  A2aEventBus,
  A2aRequestContext,
  AfterEventCallback,
  AfterExecuteCallback,
  AgentExecutorConfig,
  BeforeExecuteCallback,
  ExecutorContext,
  RunnerOrRunnerConfig,
} from '@eventloom/adk';
export { A2AAgentExecutor } from '@eventloom/adk';
export type {
  A2aClient,
  AfterA2ARequestCallback,
  BeforeA2ARequestCallback,
  RemoteA2AAgentConfig,
} from '@eventloom/adk';
export { RemoteA2AAgent } from '@eventloom/adk';
export type { A2aHttpRequest, A2aUser, A2aUserBuilder, ExpressApplication, ToA2aOptions } from '@eventloom/adk';
export { bearerTokenUserBuilder, toA2a } from '@eventloom/adk';

// Names that are not offered
export type { NotOffered } from '@eventloom/adk';
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
} from '@eventloom/adk';
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
} from '@eventloom/adk';
