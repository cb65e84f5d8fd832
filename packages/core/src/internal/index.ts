// Names that the packages of Eventloom share and applications do not need. They may change with every release.

export { firstReplacement, runAfterCallbacks, toCallbacks, toList } from '../agent/agent-callbacks.ts';
export type { RunDescription, RunQuery, TransferRules } from '../agent/base-agent.ts';
export { BASE_AGENT_OPTIONS, checkLists, completedEvents, isBaseAgent } from '../agent/base-agent.ts';
export {
  ABORT_SIGNAL_RULE,
  checkBaseOptions,
  checkDriver,
  checkOptions,
  integer,
  type OptionRules,
  readOnlyError,
  SCHEMA_RULE,
  wrongOption,
} from '../agent/options.ts';
export {
  checkRunConfig,
  checkRunConfigDefaults,
  RUN_CONFIG_DEFAULTS,
  RUN_CONFIG_OPTIONS,
  mergeRunConfigs,
} from '../agent/run-config.ts';
export { artifactUri, checkArtifactName, isUserArtifact } from '../artifact/artifact-name.ts';
export { ARTIFACTS_TO_RESTORE } from '../artifact/artifact-service.ts';
export { addUnnamedArtifacts, artifactsOf, copyArtifacts } from '../artifact/copy-artifacts.ts';
export {
  type SessionCall,
  type CallResponse,
  Calls,
  answerOf,
  isCancelled,
  lacksResult,
  answersToUnsettled,
  unsettledRequests,
  stateOf,
} from '../calls/calls.ts';
export {
  confirmationOf,
  inputOf,
  inputRequestOf,
  type InputRequestParams,
  inputRequestPart,
  personRequests,
  refusalOf,
  toInputRequest,
} from '../calls/person-requests.ts';
export { isBaseCodeExecutor, languageOf } from '../code-execution/base-code-executor.ts';
export { encodeUrlBase64, isBase64, joinBytes, normaliseBase64 } from '../content/bytes.ts';
export { callsToRun, hasResponses, NO_PARTS } from '../content/content.ts';
export { TIMEOUT } from '../tool/base-tool.ts';
export { contextInTime, runInTime } from '../tool/run-in-time.ts';
export { copyJson, type JsonFault, sealJson } from '../content/copy-json.ts';
export {
  describeKind,
  getOwn,
  isRecord,
  isSameJson,
  jsonOrText,
  setOwn,
  tryParseJson,
  weigh,
} from '../content/json.ts';
export { AbortGuard, AGENT_CLOSE_MS } from '../context/abort-guard.ts';
export type { AgentPlace } from '../context/invocation-context.ts';
export type { ReplyInProgress } from '../context/invocation-progress.ts';
export type { CheckedMessage, RunHost } from '../context/invocation.ts';
export { type Execution, InvocationLog } from '../context/invocation-log.ts';
export { Semaphore } from '../context/semaphore.ts';
export { DerivedKey, type DerivedValues } from '../context/derived-values.ts';
export type { InTurn, SubInvocation } from '../context/sub-invocation.ts';
export type { ToolListener } from '../context/tool-context.ts';
export { requireAdvice } from '../dynamic-require.ts';
export {
  branchBelow,
  branchInScope,
  enclosedBranch,
  enclosingCallIds,
  enclosureOf,
  isVisibleOn,
} from '../event/branch.ts';
export { branchOfNode, isOfWorkflowNode, isVisibleAcrossNodes, NODE_END } from '../event/workflow-node.ts';
export { errorCodeOf, reasonOf, StoredError } from '../errors.ts';
export {
  checkEventFields,
  createErrorEvent,
  fillKind,
  isYieldedAgain,
  mergeEventActions,
  toSeconds,
} from '../event/create-event.ts';
export { afterCovered, isEmptyActions } from '../event/event-actions.ts';
export {
  isBookkeeping,
  hasTrailingCodeExecutionResult,
  isFailure,
  isInput,
  isWholeReply,
} from '../event/event-predicates.ts';
export { ReplyBuffer } from '../event/reply-buffer.ts';
export { EventQueue } from '../event/event-queue.ts';
export { withTag } from '../event/event-tags.ts';
export { TRANSFER_TAG } from '../event/hide-transfers.ts';
export { parseContent } from '../event/parse-event.ts';
export { ChunkWriter } from '../event/serialize-event.ts';
export { CANCELLED_CALL, FINISH_TASK } from '../tool/reserved-calls.ts';
export { acceptsMedia, checkCapabilities, sharedCapabilities, withCapabilities } from '../model/capabilities.ts';
export { type MadeBy, madeByOf } from '../model/made-by.ts';
export { CONTINUE } from '../model/llm-request.ts';
export {
  hasMoreThanText,
  INCOMPLETE_CALL,
  lostCallsMessage,
  ResponseAggregator,
  reportsLostCalls,
  withoutCalls,
} from '../model/response-aggregator.ts';
export { copyPlain, copyRequest } from '../model/copy-request.ts';
export { secretRedactor } from '../model/secret-redactor.ts';
export { notAnEvent, STRUCTURED_OUTPUT } from '../event/event.ts';
export { closingParams } from '../event/closing-params.ts';
export { newestEntries, newestFirst } from '../event/newest-first.ts';
export {
  beginsResumableRun,
  errorOfEvent,
  errorOutcome,
  hasBeginOfRun,
  outcomeOfEvent,
  RunMark,
} from '../event/run-events.ts';
export { sealContent, sealEvent } from '../event/seal-event.ts';
export {
  isYielded,
  readStreamed,
  streamedRecordOf,
  toStreamed,
  toStreamedRecord,
  withoutText,
} from '../event/streamed-record.ts';
export type { ObservedOperation } from '../instrumentation/instrumentation.ts';
export {
  operationNameOf,
  OperationProgress,
  OperationRecord,
  placeOf,
  subjectOf,
} from '../instrumentation/operation-record.ts';
export {
  combineInstrumentation,
  openInside,
  readTraceHeaders,
  RunOperations,
} from '../instrumentation/instrumentation.ts';
export { Fifo } from '../live/fifo.ts';
export { checkLiveRunConfig, Modality } from '../live/live-run-config.ts';
export type { LiveRunHost } from '../live/live-run.ts';
export { checkContextCacheConfig, CONTEXT_CACHE_DEFAULTS, isCacheMetadata } from '../model/context-cache.ts';
export { checkModel, isBaseLlm } from '../model/base-llm.ts';
export { isBasePlanner } from '../planner/base-planner.ts';
export { type PluginHook, PluginManager } from '../plugin/plugin-manager.ts';
export { isBaseTool } from '../tool/base-tool.ts';
export { isBaseToolset } from '../tool/base-toolset.ts';
export { moveResponseParts } from '../tool/tool-result.ts';
export { isRetryableStatus, type Retry, retryAfterMs, statusCode, toRetry, wait, withRetries } from '../model/retry.ts';
export { KeyedQueue } from '../platform/keyed-queue.ts';
export { WorkQueue } from '../platform/work-queue.ts';
export { newInvocationId, otherWork, reportTo, reportUnlessStopped, within } from '../platform/platform.ts';
export { storageFailure } from '../platform/storage-failure.ts';
export { checkArgument, checkName, nameFault } from '../session/check-name.ts';
export { faultOfLostRun, isCancelledRequest, MAX_RUN_ATTEMPTS, openRuns } from '../session/open-run.ts';
export { checkToolCall, ledgerEntryId, type ToolLedger } from '../session/tool-ledger.ts';
export { isPromiseLike } from '../session/maybe-promise.ts';
export { SESSION_RECORD_VERSION } from '../session/session-record.ts';
export { EPOCH_CYCLE } from '../session/session-lease.ts';
export { isUnavailable, MAX_OUTAGE_MS, repeatWhileUnavailable } from '../session/storage-outage.ts';
export { countOfPage, eventPages, FIRST_EVENTS, goneError, type ReadEvents } from '../session/event-pages.ts';
export { readNewest, readWithoutEvents, readWithoutState } from '../session/read-newest.ts';
export { sessionKeyOf } from '../session/session.ts';
export { checkStoredKeys, inField, toStoredEvent } from '../session/stored-checks.ts';
export {
  ledgerActions,
  type LedgerOutcome,
  type LedgerTool,
  outcomeOfEntry,
  responseAtEnd,
  runUnderLedger,
} from '../tool/run-under-ledger.ts';
export {
  APP_PREFIX,
  applyStateDelta,
  checkStateKey,
  prefixedKey,
  stateScopeOf,
  TEMP_PREFIX,
  toStateWrites,
  USER_PREFIX,
} from '../state/state-scope.ts';
export { checkStateDelta } from '../state/state.ts';
export {
  aboutCallId,
  INTERRUPTED_BY_COPY,
  INTERRUPTED_CALL,
  isPersonRequest,
  isQuestionOfModel,
  isReservedToolName,
  isToolName,
  isTransfer,
  SET_MODEL_RESPONSE,
  TASK_COMPLETED,
  TRANSFER_TO_AGENT,
} from '../tool/reserved-calls.ts';
export { readCredential } from '../credential/auth-config.ts';
export { checkLibrarySchema, isLibrarySchema, librarySchemaToJson } from '../tool/standard-schema.ts';
export { isToolResult } from '../tool/tool-result.ts';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from '../platform/postgres-pool.ts';
export { listenToClient, listenToPool } from '../platform/postgres-pool.ts';
export { migrateTables, readVersion, schemaPrefix, versionOf } from '../platform/postgres-tables.ts';
