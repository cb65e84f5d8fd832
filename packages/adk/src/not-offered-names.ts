import { notOffered } from './not-offered.ts';

// The names of @google/adk that Eventloom does not have. A program that imports one loads; its use throws.

const WRITE_ADDRESSES =
  'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server';
const HAS_SKILL_TOOLS = 'write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them';
const HAS_API_TOOLS = 'write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation';
const INSTRUMENT = 'write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner';
const COMPACT = 'write eventsCompaction in the options of the Runner';
const CONNECT = 'write new MCPToolset({ type, url }) with the address of the server';
const RUN_COMMAND = 'write a FunctionTool that runs the command';

// Processors of requests and responses
/** Not offered: write contextCompactors in the options of the agent. */
export const ContextCompactorRequestProcessor = /* @__PURE__ */ notOffered(
  'ContextCompactorRequestProcessor',
  'write contextCompactors in the options of the agent',
);
export type ContextCompactorRequestProcessor = typeof ContextCompactorRequestProcessor;
/** Not offered: it is internal to the ADK. */
export const functionsExportedForTestingOnly = /* @__PURE__ */ notOffered(
  'functionsExportedForTestingOnly',
  'it is internal to the ADK',
);

// Long conversations
/** Not offered: write eventsCompaction in the options of the Runner. */
export const AgentControlledContextCompactor = /* @__PURE__ */ notOffered('AgentControlledContextCompactor', COMPACT);
export type AgentControlledContextCompactor = typeof AgentControlledContextCompactor;
/** Not offered: write eventsCompaction in the options of the Runner. */
export const ConsolidateContextTool = /* @__PURE__ */ notOffered('ConsolidateContextTool', COMPACT);
export type ConsolidateContextTool = typeof ConsolidateContextTool;
/** Not offered: write eventsCompaction in the options of the Runner. */
export const ContextCompactionTrigger = /* @__PURE__ */ notOffered('ContextCompactionTrigger', COMPACT);
export type ContextCompactionTrigger = typeof ContextCompactionTrigger;

// Credentials
/** Not offered: fetch the well-known document of the server and write its endpoints into authScheme. */
export const OAuth2DiscoveryManager = /* @__PURE__ */ notOffered(
  'OAuth2DiscoveryManager',
  'fetch the well-known document of the server and write its endpoints into authScheme',
);
export type OAuth2DiscoveryManager = typeof OAuth2DiscoveryManager;
/**
 * Not offered: write InMemoryCredentialService, or EncryptedCredentialService of `@eventloom/credentials`: secrets do
 * not belong in state.
 */
export const SessionStateCredentialService = /* @__PURE__ */ notOffered(
  'SessionStateCredentialService',
  'write InMemoryCredentialService, or EncryptedCredentialService of @eventloom/credentials: secrets do not belong in state',
);
export type SessionStateCredentialService = typeof SessionStateCredentialService;

// Code and commands
/** Not offered: write SandboxCodeExecutor of `@eventloom/llm-agent` with a CodeSandbox over the service. */
export const AgentEngineSandboxCodeExecutor = /* @__PURE__ */ notOffered(
  'AgentEngineSandboxCodeExecutor',
  'write SandboxCodeExecutor of @eventloom/llm-agent with a CodeSandbox over the service',
);
export type AgentEngineSandboxCodeExecutor = typeof AgentEngineSandboxCodeExecutor;
/** Not offered: write a FunctionTool that runs the command. */
export const BaseEnvironment = /* @__PURE__ */ notOffered('BaseEnvironment', RUN_COMMAND);
export type BaseEnvironment = typeof BaseEnvironment;
/** Not offered: write a FunctionTool that runs the command. */
export const LocalEnvironment = /* @__PURE__ */ notOffered('LocalEnvironment', RUN_COMMAND);
export type LocalEnvironment = typeof LocalEnvironment;

// Services of Google Cloud
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export const AGENT_REGISTRY_BASE_URL = /* @__PURE__ */ notOffered('AGENT_REGISTRY_BASE_URL', WRITE_ADDRESSES);
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export const AgentRegistry = /* @__PURE__ */ notOffered('AgentRegistry', WRITE_ADDRESSES);
export type AgentRegistry = typeof AgentRegistry;
/** Not offered: write new MCPToolset({ type, url }) with the address of the server. */
export const AgentRegistrySingleMCPToolset = /* @__PURE__ */ notOffered('AgentRegistrySingleMCPToolset', CONNECT);
export type AgentRegistrySingleMCPToolset = typeof AgentRegistrySingleMCPToolset;
/** Not offered: write new MCPToolset({ type, url }) with the address of the server. */
export const GCP_MCP_SERVER_DESTINATION_ID = /* @__PURE__ */ notOffered('GCP_MCP_SERVER_DESTINATION_ID', CONNECT);
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export const ProtocolType = /* @__PURE__ */ notOffered('ProtocolType', WRITE_ADDRESSES);
export type ProtocolType = typeof ProtocolType;
/** Not offered: write SqliteMemoryService of `@eventloom/memory/sqlite`, or a MemoryDriver over the memory bank. */
export const VertexAiMemoryBankService = /* @__PURE__ */ notOffered(
  'VertexAiMemoryBankService',
  'write SqliteMemoryService of @eventloom/memory/sqlite, or a MemoryDriver over the memory bank',
);
export type VertexAiMemoryBankService = typeof VertexAiMemoryBankService;
/** Not offered: write DatabaseSessionService, or a SessionDriver over the service. */
export const VertexAiSessionService = /* @__PURE__ */ notOffered(
  'VertexAiSessionService',
  'write DatabaseSessionService, or a SessionDriver over the service',
);
export type VertexAiSessionService = typeof VertexAiSessionService;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export const cleanName = /* @__PURE__ */ notOffered('cleanName', WRITE_ADDRESSES);
/** Not offered: write instrumentation: openTelemetry() of `@eventloom/otel` in the options of the Runner. */
export const getGcpExporters = /* @__PURE__ */ notOffered('getGcpExporters', INSTRUMENT);
/** Not offered: write instrumentation: openTelemetry() of `@eventloom/otel` in the options of the Runner. */
export const getGcpResource = /* @__PURE__ */ notOffered('getGcpResource', INSTRUMENT);
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export const isGoogleApi = /* @__PURE__ */ notOffered('isGoogleApi', WRITE_ADDRESSES);
/** Not offered: write instrumentation: openTelemetry() of `@eventloom/otel` in the options of the Runner. */
export const maybeSetOtelProviders = /* @__PURE__ */ notOffered('maybeSetOtelProviders', INSTRUMENT);

// Protocols
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export const OpenApiSpecParser = /* @__PURE__ */ notOffered('OpenApiSpecParser', HAS_API_TOOLS);
export type OpenApiSpecParser = typeof OpenApiSpecParser;
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export const OperationParser = /* @__PURE__ */ notOffered('OperationParser', HAS_API_TOOLS);
export type OperationParser = typeof OperationParser;
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export const ToolAuthHandler = /* @__PURE__ */ notOffered('ToolAuthHandler', HAS_API_TOOLS);
export type ToolAuthHandler = typeof ToolAuthHandler;

// Skills
/** Not offered: load the skills before, for example with loadAllSkillsInBucket of `@eventloom/skills`. */
export const GCPSkillRegistry = /* @__PURE__ */ notOffered(
  'GCPSkillRegistry',
  'load the skills before, for example with loadAllSkillsInBucket of @eventloom/skills',
);
export type GCPSkillRegistry = typeof GCPSkillRegistry;
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const ListSkillsTool = /* @__PURE__ */ notOffered('ListSkillsTool', HAS_SKILL_TOOLS);
export type ListSkillsTool = typeof ListSkillsTool;
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const LoadSkillResourceTool = /* @__PURE__ */ notOffered('LoadSkillResourceTool', HAS_SKILL_TOOLS);
export type LoadSkillResourceTool = typeof LoadSkillResourceTool;
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const LoadSkillTool = /* @__PURE__ */ notOffered('LoadSkillTool', HAS_SKILL_TOOLS);
export type LoadSkillTool = typeof LoadSkillTool;
/** Not offered: write codeExecutor in the agent, which runs the code that its model writes. */
export const RunSkillInlineScriptErrorCode = /* @__PURE__ */ notOffered(
  'RunSkillInlineScriptErrorCode',
  'write codeExecutor in the agent, which runs the code that its model writes',
);
export type RunSkillInlineScriptErrorCode = typeof RunSkillInlineScriptErrorCode;
/** Not offered: write new SkillToolset(skills, { codeExecutor, allowInlineScripts: true }); it has the tool for it. */
export const RunSkillInlineScriptTool = /* @__PURE__ */ notOffered(
  'RunSkillInlineScriptTool',
  'write new SkillToolset(skills, { codeExecutor, allowInlineScripts: true }); it has the tool for it',
);
export type RunSkillInlineScriptTool = typeof RunSkillInlineScriptTool;
/** Not offered: write new SkillToolset(skills) with skills of loadSkillFromDir; it has the tools for them. */
export const RunSkillScriptTool = /* @__PURE__ */ notOffered('RunSkillScriptTool', HAS_SKILL_TOOLS);
export type RunSkillScriptTool = typeof RunSkillScriptTool;
/** Not offered: write new SkillToolset(skills, { registry }); it has the tool for it. */
export const SearchSkillsTool = /* @__PURE__ */ notOffered(
  'SearchSkillsTool',
  'write new SkillToolset(skills, { registry }); it has the tool for it',
);
export type SearchSkillsTool = typeof SearchSkillsTool;
/** Not offered: unpack the archive, and write loadSkillFromFiles of `@eventloom/skills`. */
export const loadSkillFromZipBuffer = /* @__PURE__ */ notOffered(
  'loadSkillFromZipBuffer',
  'unpack the archive, and write loadSkillFromFiles of @eventloom/skills',
);
