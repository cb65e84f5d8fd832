// The types and functions of the runtime that other packages and programs use. Needs web standards only, and has no dependencies.

// Content
export type {
  Blob,
  CodeExecutionResult,
  Content,
  ExecutableCode,
  FileData,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  FunctionResponsePart,
  Part,
  PartialArg,
  VendorValue,
} from './content/content.ts';
export { contentText } from './content/content.ts';
export { decodeBase64, encodeBase64 } from './content/bytes.ts';
export type { JsonObject, JsonValue } from './content/json.ts';

// Events
export type { Event, NodeEvent, NodeInfo } from './event/event.ts';
export { getStructuredOutput, ObjectType, objectTypeOf, stringifyContent } from './event/event.ts';
export type {
  EventActions,
  EventCompaction,
  HistoryPointer,
  InputRequest,
  ToolConfirmation,
} from './event/event-actions.ts';
export type { EventParams } from './event/create-event.ts';
export { createEvent, createEventActions } from './event/create-event.ts';
export { getFunctionCalls, getFunctionResponses, isDoneResponse, isFinalResponse } from './event/event-predicates.ts';
export { EventTag, hasTag } from './event/event-tags.ts';
export { RUN_ABANDONED } from './event/run-events.ts';
export type { SerializeEventOptions } from './event/serialize-event.ts';
export { serializeEvent } from './event/serialize-event.ts';
export { parseEvent } from './event/parse-event.ts';
export type { ExecutionNode, ExecutionView, RequestNode } from './event/execution-view.ts';
export { groupByExecution, toExecutionView } from './event/execution-view.ts';
export { fromStrictAdk, toStrictAdk } from './event/strict-adk.ts';
export { hideTransfers } from './event/hide-transfers.ts';

// Tools
export { REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT } from './tool/reserved-calls.ts';

// State
export { State } from './state/state.ts';
export type { StateScope, StateWrite } from './state/state-scope.ts';

// Agents
export type {
  AfterAgentCallback,
  BeforeAgentCallback,
  OnAgentErrorCallback,
  SingleAgentCallback,
  SingleAgentErrorCallback,
} from './agent/agent-callbacks.ts';
export { nearestNames } from './agent/nearest-names.ts';
export type { BaseAgentConfig } from './agent/base-agent.ts';
export { BaseAgent, closeAll } from './agent/base-agent.ts';

// Runs
export type { OnOpenRun, RunBounds, RunConfig, RunConfigDefaults } from './agent/run-config.ts';
export { StreamingMode } from './agent/run-config.ts';

// Contexts
export type { CallbackContextParams, MemorySearchOptions } from './context/callback-context.ts';
export { CallbackContext } from './context/callback-context.ts';
export type { Invocation } from './context/invocation.ts';
export { InvocationContext } from './context/invocation-context.ts';
export { requestInput } from './context/request-input.ts';
export type { ReadonlyState } from './context/callback-context.ts';
export { ReadonlyContext } from './context/callback-context.ts';
export type { ToolContextParams } from './context/tool-context.ts';
export { ToolContext } from './context/tool-context.ts';

// Tools
export type {
  BaseToolParams,
  ResponseScheduling,
  RunAsyncToolRequest,
  ToolProcessLlmRequest,
} from './tool/base-tool.ts';
export { BaseTool } from './tool/base-tool.ts';
export type { ToolResult, ToolResultParams } from './tool/tool-result.ts';
export { toolResult } from './tool/tool-result.ts';
export type { BaseToolsetOptions, ToolPredicate } from './tool/base-toolset.ts';
export { BaseToolset } from './tool/base-toolset.ts';
export type { ToolRequest } from './calls/person-requests.ts';

// Credentials
export type { AuthConfig, AuthCredential, OAuth2Auth } from './credential/auth-config.ts';
export type { CredentialKey, SaveCredentialRequest } from './credential/credential-service.ts';
export { BaseCredentialService } from './credential/credential-service.ts';

// Code execution
export type {
  CodeDelimiters,
  CodeExecutionInput,
  CodeExecutionOutcome,
  CodeExecutionOutput,
  CodeExecutorOptions,
  CodeExecutorProcessLlmRequest,
  CodeFile,
  ExecuteCodeParams,
} from './code-execution/base-code-executor.ts';
export { BaseCodeExecutor } from './code-execution/base-code-executor.ts';

// Models
export type { CacheMetadata, ContextCacheConfig } from './model/context-cache.ts';

// Agents
export { BasePlanner } from './planner/base-planner.ts';

// Models
export type { ModelResolver } from './model/base-llm.ts';
export type { ModelCapabilities } from './model/capabilities.ts';
export { BaseLlm } from './model/base-llm.ts';
export type { BaseLlmConnection, LiveLlmResponse } from './model/base-llm-connection.ts';

// Observing runs
export type {
  ActiveOperation,
  Instrumentation,
  Operation,
  OperationEnd,
  TraceHeaders,
} from './instrumentation/instrumentation.ts';

// Live runs
export type { BaseLiveRequestQueue, LiveRequest } from './live/live-request-queue.ts';
export type { LiveRun, LiveSupport, RunLiveParams } from './live/live-run.ts';
export type { LiveRunConfig } from './live/live-run-config.ts';
export type { Modality } from './live/live-run-config.ts';

// Models
export type { GenerateContentConfig, LlmRequest } from './model/llm-request.ts';
export { appendInstructions, appendTools, createLlmRequest } from './model/llm-request.ts';
export type {
  AlternativeResponse,
  ErrorInfo,
  LlmResponse,
  TimingInfo,
  Transcription,
  UsageMetadata,
} from './model/llm-response.ts';
export type { RetryOptions } from './model/retry.ts';

// Sessions
export type { MaybePromise } from './session/maybe-promise.ts';
export type { Session, SessionJson } from './session/session.ts';
export type { SessionKey } from './session/session-key.ts';
export type {
  FindRunRequest,
  ListOpenRunsRequest,
  ListOpenRunsResponse,
  OpenRun,
  OpenRunState,
  RunOutcome,
  EndedRunState,
  RunRecord,
} from './session/open-run.ts';
export type {
  ListRunWebhooksRequest,
  PutRunWebhookRequest,
  RunWebhook,
  RunWebhookChange,
} from './session/run-webhook.ts';
export type {
  AcquireLeaseRequest,
  KeepRunOpen,
  OnBusy,
  ReleaseLeaseOptions,
  SessionLease,
} from './session/session-lease.ts';
export type {
  AppendEventRequest,
  AppendEventsRequest,
  BeginRunRequest,
  BegunRun,
  EndRunRequest,
  CreateSessionRequest,
  GetSessionConfig,
  GetSessionRequest,
  ImportSessionRequest,
  ListEventsRequest,
  ListEventsResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  ListToolCallsRequest,
} from './session/session-service.ts';
export { BaseSessionService } from './session/session-service.ts';
export type {
  EventRecord,
  SessionEndRecord,
  SessionHeaderRecord,
  SessionRecord,
  ToolCallRecord,
} from './session/session-record.ts';
export type { ToolLedgerEntry } from './session/tool-ledger.ts';

// Artifacts
export type {
  ArtifactKey,
  ArtifactVersion,
  LoadArtifactRequest,
  SaveArtifactRequest,
} from './artifact/artifact-service.ts';
export { BaseArtifactService } from './artifact/artifact-service.ts';
export type {
  SessionArtifactName,
  SessionLoadArtifactRequest,
  SessionSaveArtifactRequest,
} from './artifact/session-artifact-service.ts';
export { SessionArtifactService } from './artifact/session-artifact-service.ts';

// Memory
export type {
  AddEventsToMemoryRequest,
  DeleteMemoriesRequest,
  DeleteMemoryRequest,
  MemoryEntry,
  SearchMemoryRequest,
  SearchMemoryResponse,
} from './memory/memory-service.ts';
export { BaseMemoryService } from './memory/memory-service.ts';

// Plugins
export { BasePlugin } from './plugin/base-plugin.ts';

// Platform
export type { DurableObjectStorage, Platform } from './platform/platform.ts';
export { systemPlatform } from './platform/platform.ts';

// Errors
export type { EventloomErrorOptions, LiveConnectionErrorOptions, ModelErrorOptions } from './errors.ts';
export {
  AgentError,
  ConfigurationError,
  EventloomError,
  HandOverLimitError,
  InvalidArtifactNameError,
  InvalidEventError,
  InvalidMessageError,
  InvalidRequestError,
  LiveConnectionError,
  LiveQueueFullError,
  LlmCallLimitError,
  RunTimeoutError,
  ToolTimeoutError,
  MissingStateKeyError,
  ModelError,
  OutputSchemaError,
  RequestKnownError,
  RequestReusedError,
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
  toError,
  ToolsetUnavailableError,
  UnfinishedRunError,
} from './errors.ts';
