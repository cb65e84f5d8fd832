import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  AgentTool,
  type AgentToolConfig,
  type AppOptions,
  type AuthConfig,
  type AuthCredential,
  BaseAgent,
  type BaseAgentConfig,
  BaseCodeExecutor,
  type BasePolicyEngine,
  BaseTool,
  BuiltInCodeExecutor,
  type CodeExecutionResult,
  type Context,
  type CreateEventParams,
  type Event,
  ExampleTool,
  type ExecuteCodeParams,
  FileArtifactService,
  FunctionTool,
  type GeminiParams,
  GlobalInstructionPlugin,
  type InvocationContext,
  JoinNode,
  LlmAgent,
  type LlmResponse,
  LoggingPlugin,
  LongRunningFunctionTool,
  type LoopAgentConfig,
  type MemoryEntry,
  type PolicyCheckResult,
  PolicyOutcome,
  type RequireConfirmation,
  type RetryConfig,
  type RunAsyncToolRequest,
  type RunConfig,
  type SingleBeforeModelCallback,
  type StreamableHTTPConnectionParams,
  type ToolCallPolicyContext,
  type UserInputRequest,
  type WorkflowConfig,
  BaseNode,
  createEvent,
  node,
  type NodeContext,
  type NodeResult,
  type ParallelWorkerConfig,
  type RequestInputParams,
  type RoutingMap,
  type RunNodeOptions,
} from './index.ts';

test('an agent class names the type of its options', () => {
  interface TonedConfig extends BaseAgentConfig {
    readonly tone: string;
  }
  class Toned extends BaseAgent<TonedConfig> {
    readonly tone: string;

    constructor(config: TonedConfig) {
      super(config);
      this.tone = config.tone;
    }

    protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
  }
  expectTypeOf<BaseAgent<TonedConfig>>().toEqualTypeOf<BaseAgent>();
  expectTypeOf<Toned>().toExtend<BaseAgent>();
  void ((toned: Toned) => toned.clone({ tone: 'dry' }));
});

test('callbacks read the options of a request by the names of @google/genai', () => {
  const callback: SingleBeforeModelCallback = ({ request }) => {
    for (const tool of request.config.tools ?? [])
      tool.functionDeclarations?.forEach((declaration) => console.log(declaration.name, declaration.parameters));
    console.log(request.config.safetySettings?.[0]?.category, request.config.thinkingConfig?.thinkingBudget);
    console.log(request.config.toolConfig?.functionCallingConfig?.mode);
  };
  void (() => new LlmAgent({ name: 'a', beforeModelCallback: [callback] }));
  void (() => new LlmAgent({ name: 'a', beforeModelCallback: ({ request }) => void request.config.tools?.[0]?.['x'] }));
});

test('the rule of a confirmation is named by the schema of the parameters', () => {
  const parameters = z.object({ amount: z.number() });
  const isLarge: RequireConfirmation<typeof parameters> = ({ amount }) => amount > 100;
  const execute = ({ amount }: { amount: number }): number => amount;
  void (() =>
    new FunctionTool({ name: 'pay', description: 'Pays.', parameters, execute, requireConfirmation: isLarge }));
});

test('a program calls tools with the context of a callback or a tool', () => {
  const callTool = (tool: BaseTool, context: Context): unknown => tool.runAsync({ args: {}, toolContext: context });
  const parameters = z.object({ subject: z.string() });
  const run = async ({ subject }: { subject: string }, toolContext?: Context): Promise<unknown> => {
    if (!toolContext) return undefined;
    const agent = new LlmAgent({ name: 'writer' });
    const write = await new AgentTool({ agent }).runAsync({ args: { request: subject }, toolContext });
    const options = { name: 'note', description: 'Notes it.', parameters, execute: run };
    await new FunctionTool(options).runAsync({ args: {}, toolContext });
    await new LongRunningFunctionTool(options).runAsync({ args: {}, toolContext });
    return write;
  };
  void (() => new LlmAgent({ name: 'a', beforeAgentCallback: (context) => void callTool(new Own(), context) }));
  class Own extends BaseTool {
    constructor() {
      super({ name: 'own', description: 'Does it.' });
    }

    override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
      return toolContext.emit(args);
    }
  }
  class Noting extends FunctionTool<typeof parameters> {
    override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
      return await super.runAsync(request);
    }
  }
  class Passing extends FunctionTool {
    override runAsync(request: { args: Record<string, unknown>; toolContext: Context }): unknown {
      return super.runAsync(request);
    }
  }
  // @ts-expect-error: a class of a tool has runAsync.
  class Empty extends BaseTool {}
  void (() => new LlmAgent({ name: 'a', tools: [new Own(), new AgentTool({ agent: new LlmAgent({ name: 'b' }) })] }));
  expectTypeOf([callTool, run, Own, Noting, Passing, Empty]).toBeArray();
  expectTypeOf<FunctionTool>().toExtend<BaseTool>();
});

test('classes of the program extend services, plugins and executors', () => {
  class Files extends FileArtifactService {
    constructor() {
      super('files');
    }
  }
  class Log extends LoggingPlugin {
    override async onEventCallback(params: {
      invocationContext: InvocationContext;
      event: Event;
    }): Promise<Event | undefined> {
      return super.onEventCallback(params);
    }
  }
  class Stateful extends BaseCodeExecutor {
    constructor() {
      super();
      this.stateful = true;
      this.errorRetryAttempts = 3;
    }

    override executeCode(): Promise<CodeExecutionResult> {
      return Promise.resolve({ stdout: '', stderr: '' });
    }
  }
  expectTypeOf<Files>().toHaveProperty('saveArtifact');
  void [Files, Log, Stateful];
});

test('an event has its citations', () => {
  expectTypeOf<Event['citationMetadata']>().extract<object>().toHaveProperty('citations');
});

test('the fields of options can be assigned', () => {
  const fill = (options: {
    run: RunConfig;
    loop: LoopAgentConfig;
    base: BaseAgentConfig;
    app: AppOptions;
    gemini: GeminiParams;
    event: CreateEventParams;
    retry: RetryConfig;
    server: StreamableHTTPConnectionParams;
    workflow: WorkflowConfig;
    tool: AgentToolConfig;
    memory: MemoryEntry;
  }): void => {
    options.run.maxLlmCalls = 1;
    options.loop.maxIterations = 2;
    options.base.description = 'Helps.';
    options.app.plugins = [];
    options.gemini.apiKey = 'key';
    options.event.author = 'helper';
    options.retry.maxAttempts = 2;
    options.server.url = 'https://mcp.example.com';
    options.workflow.maxConcurrency = 2;
    options.tool.skipSummarization = true;
    options.memory.author = 'helper';
  };
  expectTypeOf(fill).toBeFunction();
});

test('the options and results of nodes can be assigned step by step', () => {
  const question: RequestInputParams = { message: 'Which city?' };
  question.interruptId = 'city';
  const run: RunNodeOptions = {};
  run.runId = 'first';
  const worker: ParallelWorkerConfig = {};
  worker.maxParallelWorkers = 3;
  const routes: RoutingMap = {};
  routes['yes'] = node(() => 'yes', { name: 'yes' });
  const result: NodeResult = { output: 1, interruptIds: [] };
  result.output = 2;
  expectTypeOf(result.interruptIds).toEqualTypeOf<string[]>();
});

test('a class of a node makes events of its values, at once or later', () => {
  class AtOnce extends BaseNode {
    protected override async *runImpl(): AsyncGenerator<unknown, void, void> {}
    protected override toEvent(_context: NodeContext, item: unknown): Event | null {
      return item === null ? null : createEvent({ output: item });
    }
  }
  class Later extends BaseNode {
    protected override async *runImpl(): AsyncGenerator<unknown, void, void> {}
    protected override async toEvent(context: NodeContext, item: unknown): Promise<Event | null | undefined> {
      return await super.toEvent(context, item);
    }
  }
  expectTypeOf<AtOnce | Later>().toExtend<BaseNode>();
});

test('classes of the program override hooks, tools and executors of this package with results of their own', () => {
  class Flushing extends LoggingPlugin {
    override async afterRunCallback(params: { invocationContext: InvocationContext }): Promise<void> {
      await super.afterRunCallback(params);
    }
  }
  class Kind extends GlobalInstructionPlugin {
    override async beforeModelCallback(
      params: Parameters<GlobalInstructionPlugin['beforeModelCallback']>[0],
    ): Promise<LlmResponse | undefined> {
      if (params.llmRequest.contents.length > 100)
        return { content: { role: 'model', parts: [{ text: 'Too long.' }] } };
      return super.beforeModelCallback(params);
    }
  }
  class Examples extends ExampleTool {
    override async runAsync(_request: RunAsyncToolRequest): Promise<unknown> {
      return {};
    }
  }
  class Executor extends BuiltInCodeExecutor {
    override async executeCode({ codeExecutionInput }: ExecuteCodeParams): Promise<CodeExecutionResult> {
      return { stdout: codeExecutionInput.code, stderr: '', outputFiles: [] };
    }
  }
  class Join extends JoinNode {
    protected override async *runImpl(context: NodeContext, input: unknown): AsyncGenerator<Event, void, void> {
      yield* super.runImpl(context, input);
    }
  }
  class Engine implements BasePolicyEngine {
    readonly #table: Record<string, string> = { rm: 'DENY' };

    async evaluate({ tool }: ToolCallPolicyContext): Promise<PolicyCheckResult> {
      return { outcome: this.#table[tool.name] ?? PolicyOutcome.ALLOW };
    }
  }
  expectTypeOf([Flushing, Kind, Examples, Executor, Join, Engine]).toBeArray();
});

test('a program reads credentials, requests for them and the options of a voice', () => {
  const link = (request: UserInputRequest): string | undefined =>
    request.authConfig?.exchangedAuthCredential?.oauth2?.authUri;
  const flow = ({ authScheme }: AuthConfig): string | undefined =>
    authScheme.type === 'oauth2' ? authScheme['flows'].authorizationCode?.authorizationUrl : authScheme['name'];
  const email = (credential: AuthCredential): string | undefined =>
    credential.serviceAccount?.serviceAccountCredential?.clientEmail ?? credential.http?.credentials.token;
  const voice = (config: RunConfig): string | undefined =>
    config.speechConfig?.voiceConfig?.prebuiltVoiceConfig?.voiceName;
  expectTypeOf([link, flow, email, voice]).toBeArray();
});
