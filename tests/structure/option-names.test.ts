import { openai } from '@ai-sdk/openai';
import {
  A2AAgentExecutor,
  App,
  BackgroundTool,
  JoinNode,
  LlamaIndexRetrieval,
  LlmSummarizer,
  ParallelWorker,
  RequestInput,
  TokenBasedContextCompactor,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
  toA2a,
  RoutedAgent,
  RoutedLlm,
  SecurityPlugin,
  Workflow,
} from '@eventloom/adk';
import { GeminiEmbedder } from '@eventloom/gemini';
import { AiSdkLlm, aiSdkModels } from '@eventloom/ai-sdk';
import { openTelemetry, OtlpExporter } from '@eventloom/otel';
import { studioFiles } from '@eventloom/studio/node';
import { dev, SpanStore } from '@eventloom/dev';
import { a2a, RemoteA2AAgent } from '@eventloom/a2a';
import { DriverArtifactService, InMemoryArtifactService } from '@eventloom/artifacts';
import { DurableObjectArtifactService } from '@eventloom/artifacts/durable-object';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import { GcsArtifactService } from '@eventloom/artifacts/gcs';
import { R2ArtifactService } from '@eventloom/artifacts/r2';
import { EventloomClient } from '@eventloom/client';
import { AgentChat } from '@eventloom/client/chat';
import { AgentCall, LiveCall } from '@eventloom/client/live';
import { createCloudflareServer } from '@eventloom/cloudflare';
import { BaseTool, toError } from '@eventloom/core';
import { EncryptedCredentialService } from '@eventloom/credentials';
import { SqliteCredentialService } from '@eventloom/credentials/sqlite';
import { channel, node, StateGraph } from '@eventloom/graph';
import { LiveRequestQueue } from '@eventloom/live';
import { MCPToolset, StreamableHTTPConnectionParams } from '@eventloom/mcp';
import { StdioConnectionParams } from '@eventloom/mcp/node';
import { LoadMemoryTool, PreloadMemoryTool } from '@eventloom/tools';
import { ComputerUseToolset, loadWebPage, PlaywrightComputer, VertexAiSearchTool } from '@eventloom/tools/built-in';
import { DriverMemoryService } from '@eventloom/memory';
import { SqliteMemoryService } from '@eventloom/memory/sqlite';
import { OpenAPIToolset } from '@eventloom/openapi';
import { SkillToolset } from '@eventloom/skills';
import {
  ContextFilterPlugin,
  DebugLoggingPlugin,
  LoggingPlugin,
  ReflectAndRetryModelPlugin,
  ReflectAndRetryToolPlugin,
  SaveFilesAsArtifactsPlugin,
  ToolCallIntegrityPlugin,
} from '@eventloom/plugins';
import { FallbackModel, SandboxCodeExecutor } from '@eventloom/llm-agent';
import { openLocalSandbox, UnsafeLocalCodeExecutor } from '@eventloom/llm-agent/node';
import { QuickJsCodeExecutor } from '@eventloom/quickjs';
import { QuickJsThreadCodeExecutor, QuickJsThreads } from '@eventloom/quickjs/node';
import { createServer } from '@eventloom/server';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { serve } from '@eventloom/server/node';
import { PostgresRunRelay } from '@eventloom/server/postgres';
import { DriverSessionService, InMemorySessionService } from '@eventloom/sessions';
import { DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { fixedPlatform, ScriptedLiveModel, ScriptedModel, testContext } from '@eventloom/testing';
import {
  AgentTool,
  BuiltInPlanner,
  FunctionTool,
  Gemini,
  geminiModels,
  InMemoryRunner,
  LlmAgent,
  LlmEventSummarizer,
  LongRunningFunctionTool,
  LoopAgent,
  ParallelAgent,
  Runner,
  SequentialAgent,
} from 'eventloom';
import { describe, expect, test } from 'vitest';
import { optionsTakers } from './option-names.ts';
import { publicApi } from './public-api.ts';
import { isTestFile, readPackages } from './repository.ts';

// Every public constructor and function with options refuses a misspelt option, and names the correct one.

class OwnTool extends BaseTool {
  runAsync(): Promise<unknown> {
    return Promise.resolve(undefined);
  }
}

const agent = new LlmAgent({ name: 'helper' });
const sessionService = new InMemorySessionService();
const server = createServer({ runners: [] });
const named = { name: 'helper' };
const launching = { launch: () => Promise.reject(new TypeError('no browser')) };
const summing = new LlmSummarizer({ llm: new ScriptedModel([]) });
const runner = new Runner({ appName: 'app', agent, sessionService });

/** A misspelt option, the option that was meant, and a function that passes it. */
type Case = readonly [misspelt: string, meant: string, make: (options: never) => unknown];

const CASES: Readonly<Record<string, Case>> = {
  AgentCall: ['conect', 'connect', (options) => new AgentCall(undefined as never, options as never)],
  AgentChat: ['onEvnt', 'onEvent', (options) => new AgentChat(undefined as never, options)],
  a2a: ['agent', 'agents', (options: object) => a2a({ agents: { app: agent }, ...options })],
  RemoteA2AAgent: [
    'agent_card',
    'agentCard',
    (options: object) => new RemoteA2AAgent({ name: 'far', agentCard: 'https://far.example', ...options }),
  ],
  dev: ['uis', 'ui', (options) => dev(options)],
  SpanStore: ['maxByte', 'maxBytes', (options) => new SpanStore(options)],
  OtlpExporter: [
    'header',
    'headers',
    (options: object) => new OtlpExporter({ url: 'http://localhost:4318/v1/traces', ...options }),
  ],
  openTelemetry: ['captureContents', 'captureContent', (options) => openTelemetry(options)],
  studioFiles: ['folders', 'folder', (options) => studioFiles(options)],
  AiSdkLlm: ['retrys', 'retry', (options) => new AiSdkLlm(openai('gpt-5'), options)],
  aiSdkModels: ['seperator', 'separator', (options) => aiSdkModels({}, options)],
  AgentTool: ['streaminner', 'streamInner', (options: object) => new AgentTool({ agent, ...options })],
  App: ['rootAgents', 'rootAgent', (options: object) => new App({ name: 'app', rootAgent: agent, ...options })],
  BaseTool: ['descripton', 'description', (options: object) => new OwnTool({ name: 'f', description: '', ...options })],
  BuiltInPlanner: ['thinking_config', 'thinkingConfig', (options) => new BuiltInPlanner(options)],
  channel: ['reducers', 'reducer', (options: object) => channel({}, options)],
  BackgroundTool: [
    'script_path',
    'scriptPath',
    (options: object) =>
      new BackgroundTool({ name: 'a', description: 'A.', scriptPath: import.meta.filename, ...options }),
  ],
  LlmSummarizer: [
    'prompts',
    'prompt',
    (options: object) => new LlmSummarizer({ llm: new ScriptedModel([]), ...options }),
  ],
  TokenBasedContextCompactor: [
    'tokenTreshold',
    'tokenThreshold',
    (options: object) =>
      new TokenBasedContextCompactor({ tokenThreshold: 1, eventRetentionSize: 1, summarizer: summing, ...options }),
  ],
  TruncatingContextCompactor: [
    'treshold',
    'threshold',
    (options: object) => new TruncatingContextCompactor({ threshold: 1, ...options }),
  ],
  TrajectoryThoughtPruningCompactor: [
    'eventRetention',
    'eventRetentionSize',
    (options: object) => new TrajectoryThoughtPruningCompactor({ eventRetentionSize: 1, ...options }),
  ],
  ParallelWorker: ['maxParallelWorker', 'maxParallelWorkers', (options) => new ParallelWorker(agent, options)],
  RequestInput: ['messages', 'message', (options) => new RequestInput(options)],
  LlamaIndexRetrieval: [
    'retreiver',
    'retriever',
    (options: object) =>
      new LlamaIndexRetrieval({ name: 'a', description: 'A.', retriever: { retrieve: async () => [] }, ...options }),
  ],
  GeminiEmbedder: ['api_key', 'apiKey', (options: object) => new GeminiEmbedder({ apiKey: 'k', ...options })],
  ContextFilterPlugin: ['remove_amount', 'removeAmount', (options) => new ContextFilterPlugin(options)],
  EventloomClient: ['baseURL', 'baseUrl', (options) => new EventloomClient(options)],
  LiveCall: [
    'modalty',
    'modality',
    (options: object) => new LiveCall({ appName: 'a', userId: 'u', sessionId: 's', ...options }),
  ],
  Workflow: ['edge', 'edges', (options: object) => new Workflow({ name: 'w', edges: [], ...options })],
  createServer: ['runner', 'runners', (options) => createServer(options)],
  'createServer: limits': ['maxRun', 'maxRuns', (limits) => createServer({ runners: [], limits })],
  'createServer: webhooks': ['origin', 'origins', (webhooks) => createServer({ runners: [], webhooks })],
  createCloudflareServer: ['appName', 'appNames', reportOfWorker],
  DriverArtifactService: ['plattform', 'platform', (options) => new DriverArtifactService(undefined as never, options)],
  DriverSessionService: ['plattform', 'platform', (options) => new DriverSessionService(undefined as never, options)],
  DurableObjectArtifactService: ['storages', 'storage', (options) => new DurableObjectArtifactService(options)],
  DurableObjectSessionService: ['max_row_bytes', 'maxRowBytes', (options) => new DurableObjectSessionService(options)],
  EncryptedCredentialService: ['key', 'keys', (options) => new EncryptedCredentialService(options)],
  FileArtifactService: ['root_dir', 'rootDir', (options) => new FileArtifactService(options)],
  FallbackModel: ['model', 'models', (options) => new FallbackModel(options)],
  fixedPlatform: ['Now', 'now', (options) => fixedPlatform(options)],
  FunctionTool: ['parameter', 'parameters', (options: object) => new FunctionTool({ ...toolOf(), ...options })],
  Gemini: ['api_key', 'apiKey', (options: object) => new Gemini({ model: 'gemini-x', ...options })],
  'Gemini: retry': ['attempt', 'attempts', (retry) => new Gemini({ model: 'gemini-x', apiKey: 'k', retry })],
  geminiModels: ['key', 'apiKey', (options) => geminiModels(options)],
  InMemoryArtifactService: ['plattform', 'platform', (options) => new InMemoryArtifactService(options)],
  InMemoryRunner: [
    'auto_create_session',
    'autoCreateSession',
    (options: object) => new InMemoryRunner({ agent, ...options }),
  ],
  InMemorySessionService: ['plattform', 'platform', (options) => new InMemorySessionService(options)],
  jwtAuthenticate: ['issueer', 'issuer', (options) => jwtAuthenticate(options)],
  LiveRequestQueue: ['max_chars', 'maxChars', (options) => new LiveRequestQueue(options)],
  LlmAgent: ['agents', 'subAgents', (options: object) => new LlmAgent({ ...named, ...options })],
  LlmEventSummarizer: ['template', 'promptTemplate', (options) => new LlmEventSummarizer(options)],
  LoadMemoryTool: ['limits', 'limit', (options) => new LoadMemoryTool(options)],
  ComputerUseToolset: [
    'excludedPredefinedFunction',
    'excludedPredefinedFunctions',
    (options: object) => new ComputerUseToolset({ computer: new PlaywrightComputer(launching), ...options }),
  ],
  PlaywrightComputer: [
    'screenSizes',
    'screenSize',
    (options: object) => new PlaywrightComputer({ ...launching, ...options }),
  ],
  LoggingPlugin: ['logs', 'log', (options) => new LoggingPlugin(options)],
  loadWebPage: ['timeout', 'timeoutMs', (options) => loadWebPage('https://a.example/', options)],
  LongRunningFunctionTool: [
    'excute',
    'execute',
    (options) => new LongRunningFunctionTool({ ...toolOf(), ...(options as object) }),
  ],
  LoopAgent: [
    'max_iterations',
    'maxIterations',
    (options: object) => new LoopAgent({ ...named, subAgents: [new LlmAgent({ name: 'step' })], ...options }),
  ],
  node: ['retrys', 'retry', (options: object) => node('n', () => ({}), options)],
  OpenAPIToolset: ['spec_str', 'specStr', (options) => new OpenAPIToolset(options)],
  ParallelAgent: [
    'maxConcurency',
    'maxConcurrency',
    (options: object) => new ParallelAgent({ ...named, subAgents: [], ...options }),
  ],
  PostgresRunRelay: ['pools', 'pool', (options) => new PostgresRunRelay(options)],
  PostgresSessionService: ['pools', 'pool', (options) => new PostgresSessionService(options)],
  DebugLoggingPlugin: ['output_path', 'outputPath', (options) => new DebugLoggingPlugin(options)],
  ReflectAndRetryModelPlugin: ['max_retries', 'maxRetries', (options) => new ReflectAndRetryModelPlugin(options)],
  ReflectAndRetryToolPlugin: ['max_retries', 'maxRetries', (options) => new ReflectAndRetryToolPlugin(options)],
  SaveFilesAsArtifactsPlugin: [
    'attach_file_reference',
    'attachFileReference',
    (options) => new SaveFilesAsArtifactsPlugin(options),
  ],
  ToolCallIntegrityPlugin: [
    'secret_key',
    'secretKey',
    (options: object) => new ToolCallIntegrityPlugin({ secretKey: 'x'.repeat(32), ...options }),
  ],
  SkillToolset: ['skils', 'skills', (options: object) => new SkillToolset({ skills: [], ...options })],
  MCPToolset: [
    'toolNamePrefx',
    'toolNamePrefix',
    (options: object) =>
      new MCPToolset({ connectionParams: new StreamableHTTPConnectionParams({ url: 'http://a.b' }), ...options }),
  ],
  StdioConnectionParams: [
    'serverParam',
    'serverParams',
    (options: object) => new StdioConnectionParams({ serverParams: { command: 'x' }, ...options }),
  ],
  StreamableHTTPConnectionParams: [
    'callTimeout',
    'callTimeoutMs',
    (options: object) => new StreamableHTTPConnectionParams({ url: 'http://a.b', ...options }),
  ],
  PreloadMemoryTool: ['maxCharacter', 'maxCharacters', (options) => new PreloadMemoryTool(options)],
  QuickJsCodeExecutor: ['timeout', 'timeoutMs', (options) => new QuickJsCodeExecutor(options)],
  SandboxCodeExecutor: [
    'timeout',
    'timeoutMs',
    (options: object) => new SandboxCodeExecutor({ open: () => openLocalSandbox(), ...options }),
  ],
  UnsafeLocalCodeExecutor: ['timeout', 'timeoutMs', (options) => new UnsafeLocalCodeExecutor(options)],
  QuickJsThreads: ['maxThread', 'maxThreads', (options) => new QuickJsThreads(options)],
  openLocalSandbox: ['command', 'commands', async (options) => (await openLocalSandbox(options)).close()],
  QuickJsThreadCodeExecutor: ['timeout', 'timeoutMs', (options) => new QuickJsThreadCodeExecutor(options)],
  GcsArtifactService: [
    'buckets',
    'bucket',
    (options: object) => new GcsArtifactService({ bucket: 'files', ...options }),
  ],
  R2ArtifactService: ['buckets', 'bucket', (options) => new R2ArtifactService(options)],
  A2AAgentExecutor: [
    'runers',
    'runner',
    (options: object) => new A2AAgentExecutor({ runner: () => Promise.reject(new Error('not called')), ...options }),
  ],
  toA2a: ['hosts', 'host', (options: object) => toA2a(agent, options)],
  JoinNode: ['timeouts', 'timeout', (options: object) => new JoinNode({ ...named, ...options })],
  SecurityPlugin: ['policy_engine', 'policyEngine', (options: object) => new SecurityPlugin(options)],
  RoutedAgent: [
    'routers',
    'router',
    (options: object) => new RoutedAgent({ ...named, ...routesTo(new LlmAgent({ name: 'one' })), ...options }),
  ],
  RoutedLlm: [
    'routers',
    'router',
    (options: object) => new RoutedLlm({ models: {}, router: () => undefined, ...options }),
  ],
  Runner: ['session_service', 'sessionService', (options) => new Runner(options)],
  'Runner: eventsCompaction': ['interval', 'compactionInterval', compacting],
  'Runner: runConfig': [
    'maxLlmCall',
    'maxLlmCalls',
    (runConfig) => new Runner({ appName: 'a', agent, sessionService, runConfig }),
  ],
  'Runner: sessionCache': ['maxSession', 'maxSessions', caching],
  'Runner.runAsync': ['message', 'newMessage', (params) => runner.run(params)],
  'Runner.rewindAsync': ['userID', 'userId', (params) => runner.rewindAsync(params)],
  'Runner.runLive': ['queue', 'liveRequestQueue', (params: object) => runner.runLive({ ...live(), ...params }).next()],
  ScriptedLiveModel: ['models', 'model', (options) => new ScriptedLiveModel([], options)],
  ScriptedModel: ['models', 'model', (options) => new ScriptedModel([], options)],
  SequentialAgent: [
    'subagent',
    'subAgents',
    (options: object) => new SequentialAgent({ ...named, subAgents: [], ...options }),
  ],
  serve: ['ports', 'port', (options) => serve(server, options)],
  SqliteCredentialService: ['filename', 'path', (options) => new SqliteCredentialService(options)],
  SqliteMemoryService: ['filename', 'path', (options) => new SqliteMemoryService(options)],
  SqliteSessionService: ['filename', 'path', (options) => new SqliteSessionService(options)],
  StateGraph: ['channel', 'channels', (options: object) => new StateGraph({ name: 'g', ...options })],
  VertexAiSearchTool: [
    'dataStoreIds',
    'dataStoreId',
    (options: object) => new VertexAiSearchTool({ dataStoreId: 'd', ...options }),
  ],
  testContext: ['states', 'state', (options) => testContext(options)],
};

function routesTo(one: LlmAgent) {
  return { agents: { one }, router: () => 'one' };
}

function toolOf() {
  return { name: 'f', description: '', execute: () => 1 };
}

function live() {
  return { userId: 'u', sessionId: 's', liveRequestQueue: new LiveRequestQueue() };
}

function compacting(config: object): Runner {
  const summarizer = new LlmEventSummarizer({ model: new ScriptedModel([]) });
  return new Runner({ appName: 'a', agent, sessionService, eventsCompaction: { summarizer, ...config } });
}

function caching(sessionCache: object): Runner {
  return new Runner({ appName: 'a', agent, sessionService, sessionCache });
}

/** Returns the error that a Worker reports at the first request, when it checks its options. */
async function reportOfWorker(options: object): Promise<never> {
  let reported: unknown;
  const onError = (error: unknown): void => void (reported = error);
  const { handler } = createCloudflareServer({ appNames: [], runners: () => [], onError, ...options });
  await handler.fetch(new Request('http://localhost/list-apps'), {} as never);
  throw toError(reported);
}

describe('a misspelt option is refused with the correct name', () => {
  test.each(Object.keys(CASES))('%s', async (name) => {
    const [misspelt, meant, make] = CASES[name] ?? expect.unreachable();
    const making = async (): Promise<unknown> => make({ [misspelt]: 1 } as never);
    await expect(making()).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(new RegExp(`has no option "${misspelt}"; did you mean "${meant}"`)),
    });
  });
});

const VALUES = [':memory:', true, 5, () => 1, ['a'], { a: 1 }, null];
const DRIVEN = {
  DriverArtifactService: [DriverArtifactService, 'save', 'new MyArtifactDriver()'],
  DriverMemoryService: [DriverMemoryService, 'rememberedEvents', 'new MyMemoryDriver()'],
  DriverSessionService: [DriverSessionService, 'createSession', 'new MySessionDriver()'],
} as const;

test.each(Object.entries(DRIVEN))('%s refuses a value that is not a driver', (name, [service, method, example]) => {
  class Driver {}
  const values: readonly (readonly [unknown, string])[] = [
    [undefined, 'nothing'],
    [Driver, 'the class Driver'],
    [{ driver: new Driver() }, `an object without ${method}`],
  ];
  for (const [value, got] of values)
    expect(() => new service(value as never)).toThrow(
      `${name}: expected a driver, got ${got}; write new ${name}(${example})`,
    );
});

/** Maximum number of kinds of values that an option accepts; all others must be refused. */
const MAX_KINDS = 3;
/**
 * Options with another check: parameters of single calls, which are data of requests and refused with
 * InvalidRequestError, and the client of browsers, whose size is limited.
 */
const CHECKED_OTHERWISE = /^(Runner\.|AgentC(hat|all)$|EventloomClient$|LiveCall$)/;
/**
 * Options without a check, or whose fault is not reported to the caller: the default of a channel is a value of its
 * schema, the payload of a request is any JSON value, a long-running tool is always one, a request id is not an option
 * of a runner, and an error about `onError` cannot be reported to it.
 */
const OTHERS = new Set([
  'channel.default',
  'LongRunningFunctionTool.isLongRunning',
  'Runner: runConfig.requestId',
  'createCloudflareServer.onError',
  // Any JSON value, which the event of the question checks.
  'RequestInput.payload',
]);

describe('a value of another kind than an option takes is refused with what to write', () => {
  test.each(Object.keys(CASES).filter((name) => !CHECKED_OTHERWISE.test(name)))('%s', async (name) => {
    const [, , make] = CASES[name] ?? expect.unreachable();
    const messageOf = async (options: object): Promise<string> => {
      try {
        await make(options as never);
        return '';
      } catch (error) {
        return toError(error).message;
      }
    };
    const [, list = ''] = /it has (.*)$/.exec(await messageOf({ qqqqqqqqqqqq: 1 })) ?? [];
    const options = list.split(', ');
    expect(options.length).toBeGreaterThan(0);
    const accepted: string[] = [];
    for (const option of options.filter((each) => !OTHERS.has(`${name}.${each}`))) {
      const messages = await Promise.all(VALUES.map((value) => messageOf({ [option]: value })));
      const refusal = new RegExp(`${option}.*expected .+, got .+; write .+`);
      const others = messages.filter((message) => !refusal.test(message));
      if (others.length > MAX_KINDS) accepted.push(`${option}: ${JSON.stringify(others)}`);
    }
    expect(accepted).toEqual([]);
  });
});

/**
 * Names of classes and functions with options that they do not check: bases of classes with more options, classes whose
 * base checks their options, checks of options, the parameters of a single call, classes that only Eventloom
 * constructs, nodes of the ADK whose options `node` and `Workflow` check, the options of errors, and code of browsers,
 * whose size is limited.
 */
const EXEMPT =
  /^(BaseAgent|BaseCodeExecutor|BaseLlm|BaseToolset|MCPConnectionParams|ApigeeLlm|FilesRetrieval|ActiveStreamingTool|CallbackContext|MCPTool|toolResult|openMicrophone|useAgent|ClientRun|ToolContext|EventsCompactor|check\w+|create\w*Event|createServerOn|RestApiTool|BaseNode|FunctionNode|ToolNode|WorkflowNode|createRestApiTool|loadAgentFromConfig|prepareRetryConfig|runInQuickJs|studio|serializeEvent|\w+Error)$/;

test('every public class and function with options is in the table', () => {
  const packages = readPackages();
  const sections = publicApi(packages).split('\n\n');
  const shown = sections.filter((section) => !/^\S+\/(internal|conformance)\n/.test(section));
  const names = new Set(shown.join('\n').match(/(?<=^ {2}value )\w+/gm));
  const files = packages.flatMap(({ files: all }) => all).filter(({ path }) => !isTestFile(path));
  const takers = files.flatMap(optionsTakers).map(({ name }) => name);
  expect(takers.length).toBeGreaterThan(30);
  expect(takers.filter((name) => names.has(name) && !EXEMPT.test(name) && !CASES[name])).toEqual([]);
});

test('the check finds constructors and a function that take options', () => {
  const text = [
    'export class Door extends House {',
    '  readonly #a = 1;',
    '  constructor(driver: Driver, options: DoorOptions = {}) {',
    '  }',
    '}',
    'export class Window {',
    '  constructor({ width = 1 }: WindowOptions = {}) {',
    '  }',
    '}',
    'export async function open(door: Door, config: OpenConfig): Promise<void> {',
    '}',
  ].join('\n');
  expect(optionsTakers({ path: 'door.ts', text })).toEqual([
    { name: 'Door', type: 'DoorOptions' },
    { name: 'Window', type: 'WindowOptions' },
    { name: 'open', type: 'OpenConfig' },
  ]);
});
