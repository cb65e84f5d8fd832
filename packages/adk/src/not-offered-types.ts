import type { NotOffered } from './not-offered.ts';

// The types of @google/adk that Eventloom does not have. A program that imports one loads; the compiler shows the advice where it is used.

/** Not offered: write SandboxCodeExecutor of `@eventloom/llm-agent` with a CodeSandbox over the service. */
export type AgentEngineSandboxCodeExecutorOptions =
  NotOffered<'write SandboxCodeExecutor of @eventloom/llm-agent with a CodeSandbox over the service'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type AgentInfo =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type AgentSkillMetadata =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export type ApiParameter =
  NotOffered<'write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation'>;
/** Not offered: write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation. */
export type AuthPreparationResult =
  NotOffered<'write new OpenAPIToolset({ specDict }), whose getTools gives a tool for each operation'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type Binding =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type ConnectionUriFilter =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type ConnectionUriResult =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type Endpoint =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write a FunctionTool that runs the command. */
export type ExecutionResult = NotOffered<'write a FunctionTool that runs the command'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type GcpAuthProviderScheme =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: load the skills before, for example with loadAllSkillsInBucket of `@eventloom/skills`. */
export type GCPSkillRegistryOptions =
  NotOffered<'load the skills before, for example with loadAllSkillsInBucket of @eventloom/skills'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type Interface =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: the runner creates the contexts of a run. */
export type InvocationContextParams = NotOffered<'the runner creates the contexts of a run'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type ListAgentsResponse =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type ListBindingsResponse =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type ListEndpointsResponse =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type ListMcpServersResponse =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: write a FunctionTool that runs the command. */
export type LocalEnvironmentOptions = NotOffered<'write a FunctionTool that runs the command'>;
/** Not offered: write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server. */
export type McpServer =
  NotOffered<'write the addresses of the agents and servers into the program: new MCPToolset({ type, url }) for a server'>;
/** Not offered: the workflow creates the contexts of its nodes. */
export type NodeContextOptions = NotOffered<'the workflow creates the contexts of its nodes'>;
/** Not offered: write instrumentation: openTelemetry() of `@eventloom/otel` in the options of the Runner. */
export type OtelExportersConfig =
  NotOffered<'write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner'>;
/** Not offered: write instrumentation: openTelemetry() of `@eventloom/otel` in the options of the Runner. */
export type OTelHooks =
  NotOffered<'write instrumentation: openTelemetry() of @eventloom/otel in the options of the Runner'>;
/** Not offered: write context.runNode(node, input, options). */
export type ScheduleDynamicNode = NotOffered<'write context.runNode(node, input, options)'>;
/** Not offered: write context.runNode(node, input, options). */
export type ScheduleDynamicNodeOptions = NotOffered<'write context.runNode(node, input, options)'>;
/** Not offered: write DatabaseSessionService, or a SessionDriver over the service. */
export type VertexAiCreateSessionRequest =
  NotOffered<'write DatabaseSessionService, or a SessionDriver over the service'>;
/** Not offered: write SqliteMemoryService of `@eventloom/memory/sqlite`, or a MemoryDriver over the memory bank. */
export type VertexAiMemoryBankServiceOptions =
  NotOffered<'write SqliteMemoryService of @eventloom/memory/sqlite, or a MemoryDriver over the memory bank'>;
/** Not offered: write DatabaseSessionService, or a SessionDriver over the service. */
export type VertexAiSessionServiceOptions =
  NotOffered<'write DatabaseSessionService, or a SessionDriver over the service'>;
