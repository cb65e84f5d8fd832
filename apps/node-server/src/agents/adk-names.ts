/** Replacements for names of `@google/adk` that have another name here, or do not exist; see docs/guide/from-adk.md. */
const INSTEAD: Readonly<Record<string, string>> = {
  App: 'options of Runner',
  createResumabilityConfig: 'resumable: true in the options of Runner',
  Workflow: 'StateGraph',
  JoinNode: 'StateGraph',
  RequestInput: 'requestInput',
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME: 'REQUEST_CONFIRMATION',
  REQUEST_EUC_FUNCTION_CALL_NAME: 'REQUEST_CREDENTIAL',
  REQUEST_INPUT_FUNCTION_CALL_NAME: 'REQUEST_INPUT',
  CompositeSessionKey: 'SessionKey',
  LLMRegistry: 'models in the options of Runner',
  DatabaseSessionService:
    'SqliteSessionService of @eventloom/sessions/sqlite, or PostgresSessionService of @eventloom/sessions/postgres',
  GcsArtifactService: 'FileArtifactService of @eventloom/artifacts/fs, or R2ArtifactService of @eventloom/artifacts/r2',
  VertexAiMemoryBankService: 'SqliteMemoryService of @eventloom/memory/sqlite',
  VertexAiRagMemoryService: 'SqliteMemoryService of @eventloom/memory/sqlite',
  GlobalInstructionPlugin: 'globalInstruction of the root agent',
  TokenBasedContextCompactor: 'eventsCompaction in the options of Runner',
  isLoopAgent: 'agent instanceof LoopAgent',
  isSequentialAgent: 'agent instanceof SequentialAgent',
  isParallelAgent: 'agent instanceof ParallelAgent',
  isLlmAgent: 'agent instanceof LlmAgent',
  GOOGLE_SEARCH: 'a tool of ten lines: docs/guide/from-adk.md#not-there',
  URL_CONTEXT: 'a tool of ten lines: docs/guide/from-adk.md#not-there',
  ENTERPRISE_WEB_SEARCH: 'a tool of ten lines: docs/guide/from-adk.md#not-there',
  GOOGLE_MAPS_GROUNDING: 'a tool of ten lines: docs/guide/from-adk.md#not-there',
  VertexAiSearchTool: 'a tool of ten lines: docs/guide/from-adk.md#not-there',
  LOAD_ARTIFACTS: 'a function tool: examples/from-adk/src/load-artifacts.ts',
  LoggingPlugin: 'a class that extends BasePlugin',
  LiteLlm: 'AiSdkLlm of @eventloom/ai-sdk',
  ApigeeLlm: 'a class that extends BaseLlm',
  RoutedLlm: 'a class that extends BaseLlm',
  MCPToolset: 'a class that extends BaseToolset',
  OpenAPIToolset: 'a class that extends BaseToolset',
  ApplicationIntegrationToolset: 'a class that extends BaseToolset',
  RemoteA2aAgent: 'RemoteA2AAgent of @eventloom/a2a',
  RoutedAgent: 'a class that extends BaseAgent',
  UnsafeLocalCodeExecutor: 'QuickJsThreadCodeExecutor of @eventloom/quickjs/node',
  ContainerCodeExecutor: 'QuickJsThreadCodeExecutor of @eventloom/quickjs/node',
  ExampleTool: 'text in the instruction',
};

/** Returns a hint for the failed import of `@google/adk` or of one of its names, or an empty text for any other message. */
export function adkHint(message: string): string {
  if (/Cannot find package '@google\/adk'/.test(message)) return "; write import { … } from 'eventloom'";
  const name = /'(?:eventloom|@eventloom\/[^']+)' does not provide an export named '(\w+)'/.exec(message)?.[1];
  if (name === undefined) return '';
  const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
  return instead === undefined ? '; docs/reference/eventloom.md lists all names' : `; use ${instead} instead`;
}
