import { notOffered } from './not-offered.ts';

// The names of @google/adk that Eventloom does not have. A program that imports one loads; its use throws.

// Processors of requests and responses
/** Not offered: write inputStream: true in the options of a FunctionTool. */
export const ActiveStreamingTool = /* @__PURE__ */ notOffered(
  'ActiveStreamingTool',
  'write inputStream: true in the options of a FunctionTool',
);
/** Not offered: write contextCompactors in the options of the agent. */
export const ContextCompactorRequestProcessor = /* @__PURE__ */ notOffered(
  'ContextCompactorRequestProcessor',
  'write contextCompactors in the options of the agent',
);
/** Not offered: it is internal to the ADK. */
export const functionsExportedForTestingOnly = /* @__PURE__ */ notOffered(
  'functionsExportedForTestingOnly',
  'it is internal to the ADK',
);

// Long conversations
/** Not offered: write eventsCompaction in the options of the Runner. */
export const AgentControlledContextCompactor = /* @__PURE__ */ notOffered(
  'AgentControlledContextCompactor',
  'write eventsCompaction in the options of the Runner',
);
/** Not offered: write eventsCompaction in the options of the Runner. */
export const ConsolidateContextTool = /* @__PURE__ */ notOffered(
  'ConsolidateContextTool',
  'write eventsCompaction in the options of the Runner',
);
/** Not offered: write eventsCompaction in the options of the Runner. */
export const ContextCompactionTrigger = /* @__PURE__ */ notOffered(
  'ContextCompactionTrigger',
  'write eventsCompaction in the options of the Runner',
);

// Credentials
/** Not offered: fetch the well-known document of the server and write its endpoints into authScheme. */
export const OAuth2DiscoveryManager = /* @__PURE__ */ notOffered(
  'OAuth2DiscoveryManager',
  'fetch the well-known document of the server and write its endpoints into authScheme',
);
/** Not offered: write InMemoryCredentialService, or EncryptedCredentialService of @eventloom/credentials: secrets do not belong into state. */
export const SessionStateCredentialService = /* @__PURE__ */ notOffered(
  'SessionStateCredentialService',
  'write InMemoryCredentialService, or EncryptedCredentialService of @eventloom/credentials: secrets do not belong into state',
);

// Code and commands
/** Not offered: write SandboxCodeExecutor of @eventloom/llm-agent with a CodeSandbox over the service. */
export const AgentEngineSandboxCodeExecutor = /* @__PURE__ */ notOffered(
  'AgentEngineSandboxCodeExecutor',
  'write SandboxCodeExecutor of @eventloom/llm-agent with a CodeSandbox over the service',
);
/** Not offered: write a FunctionTool that runs the command. */
export const BaseEnvironment = /* @__PURE__ */ notOffered(
  'BaseEnvironment',
  'write a FunctionTool that runs the command',
);
/** Not offered: write a FunctionTool that runs the command. */
export const LocalEnvironment = /* @__PURE__ */ notOffered(
  'LocalEnvironment',
  'write a FunctionTool that runs the command',
);

// Services of Google Cloud
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const AGENT_REGISTRY_BASE_URL = /* @__PURE__ */ notOffered(
  'AGENT_REGISTRY_BASE_URL',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const AgentRegistry = /* @__PURE__ */ notOffered(
  'AgentRegistry',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: write new MCPToolset({ type, url }) with the address of the server. */
export const AgentRegistrySingleMCPToolset = /* @__PURE__ */ notOffered(
  'AgentRegistrySingleMCPToolset',
  'write new MCPToolset({ type, url }) with the address of the server',
);
/** Not offered: write new Gemini({ model, baseUrl, headers }). */
export const ApigeeLlm = /* @__PURE__ */ notOffered('ApigeeLlm', 'write new Gemini({ model, baseUrl, headers })');
/** Not offered: write new MCPToolset({ type, url }) with the address of the server. */
export const GCP_MCP_SERVER_DESTINATION_ID = /* @__PURE__ */ notOffered(
  'GCP_MCP_SERVER_DESTINATION_ID',
  'write new MCPToolset({ type, url }) with the address of the server',
);
/** Not offered: write FileArtifactService, R2ArtifactService of @eventloom/artifacts/r2, or an ArtifactDriver over the bucket. */
export const GcsArtifactService = /* @__PURE__ */ notOffered(
  'GcsArtifactService',
  'write FileArtifactService, R2ArtifactService of @eventloom/artifacts/r2, or an ArtifactDriver over the bucket',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const ProtocolType = /* @__PURE__ */ notOffered(
  'ProtocolType',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: write SqliteMemoryService of @eventloom/memory/sqlite, or a MemoryDriver over the memory bank. */
export const VertexAiMemoryBankService = /* @__PURE__ */ notOffered(
  'VertexAiMemoryBankService',
  'write SqliteMemoryService of @eventloom/memory/sqlite, or a MemoryDriver over the memory bank',
);
/** Not offered: write DatabaseSessionService, or a SessionDriver over the service. */
export const VertexAiSessionService = /* @__PURE__ */ notOffered(
  'VertexAiSessionService',
  'write DatabaseSessionService, or a SessionDriver over the service',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const bearerTokenUserBuilder = /* @__PURE__ */ notOffered(
  'bearerTokenUserBuilder',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const cleanName = /* @__PURE__ */ notOffered(
  'cleanName',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner. */
export const getGcpExporters = /* @__PURE__ */ notOffered(
  'getGcpExporters',
  'write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner',
);
/** Not offered: write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner. */
export const getGcpResource = /* @__PURE__ */ notOffered(
  'getGcpResource',
  'write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const isGoogleApi = /* @__PURE__ */ notOffered(
  'isGoogleApi',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner. */
export const maybeSetOtelProviders = /* @__PURE__ */ notOffered(
  'maybeSetOtelProviders',
  'write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner',
);

// Protocols
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const A2AAgentExecutor = /* @__PURE__ */ notOffered(
  'A2AAgentExecutor',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const AGENT_CARD_PATH = /* @__PURE__ */ notOffered(
  'AGENT_CARD_PATH',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export const OpenApiSpecParser = /* @__PURE__ */ notOffered(
  'OpenApiSpecParser',
  'write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation',
);
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export const OperationParser = /* @__PURE__ */ notOffered(
  'OperationParser',
  'write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const RemoteA2AAgent = /* @__PURE__ */ notOffered(
  'RemoteA2AAgent',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export const ToolAuthHandler = /* @__PURE__ */ notOffered(
  'ToolAuthHandler',
  'write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const getA2AAgentCard = /* @__PURE__ */ notOffered(
  'getA2AAgentCard',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);
/** Not offered: call the other agent in a FunctionTool, or in a BaseAgent of your own. */
export const toA2a = /* @__PURE__ */ notOffered(
  'toA2a',
  'call the other agent in a FunctionTool, or in a BaseAgent of your own',
);

// Skills
/** Not offered: load the skills before, for example with loadAllSkillsInBucket of @eventloom/skills. */
export const GCPSkillRegistry = /* @__PURE__ */ notOffered(
  'GCPSkillRegistry',
  'load the skills before, for example with loadAllSkillsInBucket of @eventloom/skills',
);
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const ListSkillsTool = /* @__PURE__ */ notOffered(
  'ListSkillsTool',
  'write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them',
);
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const LoadSkillResourceTool = /* @__PURE__ */ notOffered(
  'LoadSkillResourceTool',
  'write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them',
);
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const LoadSkillTool = /* @__PURE__ */ notOffered(
  'LoadSkillTool',
  'write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them',
);
/** Not offered: write codeExecutor in the agent, which runs the code that its model writes. */
export const RunSkillInlineScriptErrorCode = /* @__PURE__ */ notOffered(
  'RunSkillInlineScriptErrorCode',
  'write codeExecutor in the agent, which runs the code that its model writes',
);
/** Not offered: write codeExecutor in the agent, which runs the code that its model writes. */
export const RunSkillInlineScriptTool = /* @__PURE__ */ notOffered(
  'RunSkillInlineScriptTool',
  'write codeExecutor in the agent, which runs the code that its model writes',
);
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const RunSkillScriptTool = /* @__PURE__ */ notOffered(
  'RunSkillScriptTool',
  'write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them',
);
/** Not offered: load the skills before, and give them to SkillToolset. */
export const SearchSkillsTool = /* @__PURE__ */ notOffered(
  'SearchSkillsTool',
  'load the skills before, and give them to SkillToolset',
);
/** Not offered: unpack the archive, and write loadSkillFromFiles of @eventloom/skills. */
export const loadSkillFromZipBuffer = /* @__PURE__ */ notOffered(
  'loadSkillFromZipBuffer',
  'unpack the archive, and write loadSkillFromFiles of @eventloom/skills',
);
/** Not offered: write loadSkillFromDir, which throws a SkillError with what is wrong. */
export const validateSkillDir = /* @__PURE__ */ notOffered(
  'validateSkillDir',
  'write loadSkillFromDir, which throws a SkillError with what is wrong',
);
