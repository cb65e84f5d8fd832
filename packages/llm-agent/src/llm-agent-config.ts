import type {
  BaseAgentConfig,
  BaseCodeExecutor,
  BaseLlm,
  BasePlanner,
  BaseTool,
  BaseToolset,
  CallbackContext,
  GenerateContentConfig,
  LlmRequest,
  LlmResponse,
  ReadonlyContext,
  ToolContext,
} from '@eventloom/core';
import type { MaybePromise } from '@eventloom/core';
import { BASE_AGENT_OPTIONS, type OptionRules, SCHEMA_RULE, TIMEOUT } from '@eventloom/core/internal';
import type { SchemaLike } from '@eventloom/tools';
import type { LlmAgent } from './llm-agent.ts';

type OneOrMore<T> = T | readonly T[];

/**
 * A function in place of an instruction text, called before each model request. It returns the instruction, which is sent as it is:
 * placeholders such as `{key}` are not filled in. Read state with `context.state.get`.
 */
export type InstructionProvider = (context: ReadonlyContext) => MaybePromise<string>;

/**
 * A function for `beforeModelCallback`, called before each model call. It may change `request` in place. Returning a response uses it in
 * place of the model's, which is not called, as a cache does. Returning undefined calls the model.
 *
 * @example
 * const addDate: SingleBeforeModelCallback = ({ request }) => {
 *   request.config.systemInstruction = `${request.config.systemInstruction ?? ''}\nToday is ${new Date().toDateString()}.`;
 * };
 */
export type SingleBeforeModelCallback = (params: {
  context: CallbackContext;
  request: LlmRequest;
}) => MaybePromise<LlmResponse | undefined | void>;
/**
 * A function for `afterModelCallback`, called with each response of the model, chunks (`response.partial`) included. Returning a response
 * replaces the model's. Returning undefined keeps it.
 */
export type SingleAfterModelCallback = (params: {
  context: CallbackContext;
  response: LlmResponse;
}) => MaybePromise<LlmResponse | undefined | void>;
/**
 * A function for `onModelErrorCallback`, called after a model call failed, when the retries of the model are used up. Returning a response
 * continues the run with it. Returning undefined lets the run fail with the error.
 */
export type SingleModelErrorCallback = (params: {
  context: CallbackContext;
  request: LlmRequest;
  error: Error;
}) => MaybePromise<LlmResponse | undefined | void>;
/**
 * A function for `beforeToolCallback`, called before each tool call. It may change `args` in place. Returning an object makes it the
 * response of the call, and the tool does not run. Returning undefined runs the tool.
 *
 * @example
 * const readOnly: SingleBeforeToolCallback = ({ tool }) =>
 *   tool.name.startsWith('delete_') ? { error: 'deleting is not allowed here' } : undefined;
 */
export type SingleBeforeToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: ToolContext;
}) => MaybePromise<Record<string, unknown> | undefined | void>;
/**
 * A function for `afterToolCallback`, called after each tool call. `response` is the value that the tool returned,
 * unchanged: 42 and not `{ result: 42 }`; the function may change it in place. Returning an object sends that one
 * instead; media of the tool's result are then left out. Returning undefined changes nothing.
 *
 * @example
 * const hidePrices: SingleAfterToolCallback = ({ response }) => ({ ...response, price: 'on request' });
 */
export type SingleAfterToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: ToolContext;
  response: Record<string, unknown>;
}) => MaybePromise<Record<string, unknown> | undefined | void>;
/**
 * A function for `onToolErrorCallback`, called after a tool threw `error`. Returning an object makes it the response that the model gets.
 * Returning undefined gives the model `{ error: message }`. The run continues in both cases.
 */
export type SingleToolErrorCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: ToolContext;
  error: Error;
}) => MaybePromise<Record<string, unknown> | undefined | void>;

/** One or several callbacks that run before each model call, in order, until one returns a value. */
export type BeforeModelCallback = OneOrMore<SingleBeforeModelCallback>;
/** One or several callbacks that run after each response of a model, in order, until one returns a value. */
export type AfterModelCallback = OneOrMore<SingleAfterModelCallback>;
/** One or several callbacks for failed model calls, run in order until one returns a value. */
export type OnModelErrorCallback = OneOrMore<SingleModelErrorCallback>;
/** One or several callbacks that run before each tool call, in order, until one returns a value. */
export type BeforeToolCallback = OneOrMore<SingleBeforeToolCallback>;
/** One or several callbacks that run after each tool call, in order, until one returns a value. */
export type AfterToolCallback = OneOrMore<SingleAfterToolCallback>;
/** One or several callbacks for tools that threw, run in order until one returns a value. */
export type OnToolErrorCallback = OneOrMore<SingleToolErrorCallback>;

/** An entry of an agent's `tools`: one tool, or a toolset that lists its tools at run time. */
export type ToolUnion = BaseTool | BaseToolset;

/**
 * Options of an `LlmAgent`. Only `name` is required.
 *
 * @example
 * const config: LlmAgentConfig = { name: 'writer', instruction: 'Write about {topic}.', outputKey: 'draft' };
 */
export interface LlmAgentConfig extends BaseAgentConfig {
  /**
   * A model object, or a model name that the runner's `models` resolves. Default: the model of the nearest ancestor that has one. The run
   * fails with a ConfigurationError if no ancestor has a model.
   */
  readonly model?: string | BaseLlm;
  /**
   * The system instruction of the agent. In a string, `{key}` is replaced by the session state's value under that key; the result of a
   * function is used unchanged. Default: empty.
   */
  readonly instruction?: string | InstructionProvider;
  /**
   * An instruction for every agent of the tree, read from the root agent only. Placeholders are filled as in
   * `instruction`. Default: empty.
   */
  readonly globalInstruction?: string | InstructionProvider;
  /** Instruction text that is sent unchanged: braces in it are not placeholders. Default: empty. */
  readonly staticInstruction?: string;
  /** The tools and toolsets that the model may call. Two tools cannot have the same name. Default: none. */
  readonly tools?: readonly ToolUnion[];
  /** Runs the code in the model's replies. If absent, code in a reply is treated as text. */
  readonly codeExecutor?: BaseCodeExecutor;
  /** Makes the model plan before it acts. If absent, the agent adds no planning instruction. */
  readonly planner?: BasePlanner;
  /**
   * Generation options that are sent with each model request, such as `temperature`. Set tools, the system instruction and the response
   * schema through `tools`, `instruction` and `outputSchema` instead; here they are refused.
   */
  readonly generateContentConfig?: GenerateContentConfig;
  /**
   * Maximum time in milliseconds for which the model may send nothing: before its reply, and between two chunks of a
   * streamed one; at most 24 days. Then the call fails with a ModelError whose `errorCode` is `DEADLINE_EXCEEDED`, and
   * its signal fires. Retries of the model count. Live connections are not limited. Default: no limit.
   */
  readonly modelTimeoutMs?: number | undefined;
  /** The history that the model sees: `'none'` for the current turn only, `'default'` for the whole conversation. Default `'default'`. */
  readonly includeContents?: 'default' | 'none';
  /**
   * Schema of the arguments when the agent is called through an `AgentTool`, of any kind that `ToolOptions.parameters` accepts. Not
   * used in a conversation.
   */
  readonly inputSchema?: SchemaLike;
  /**
   * The way in which the agent works. `task`: it works, over several messages if it has to ask, until its model calls
   * the tool `finish_task` with the result; `outputSchema` is then the schema of that result. `single_turn`: it answers
   * once, and sees the current turn only. The result is in `output` of the agent's last event, and the user's next
   * message goes to the agent above it. Default: a conversation.
   */
  readonly mode?: 'task' | 'single_turn';
  /**
   * Schema of the final answer, which must be JSON, of any kind that `ToolOptions.parameters` accepts. For an answer
   * that does not match the model gets the reason and answers again, up to three times; then the run fails with an
   * OutputSchemaError.
   */
  readonly outputSchema?: SchemaLike;
  /**
   * The state key under which the final answer is stored: its text, or the parsed value if there is an `outputSchema`.
   * Without one, the text beside the call of a long-running tool is stored too, until the final answer replaces it.
   * Default: not stored.
   */
  readonly outputKey?: string;
  /**
   * True if the model and the tools cannot transfer the conversation to the parent or another ancestor. The user's next
   * message then goes to another agent, not to this one or its sub-agents. A root with this option gets every message,
   * also after a transfer. Default false.
   */
  readonly disallowTransferToParent?: boolean;
  /** True if the model cannot transfer the conversation to a sibling, and tools cannot transfer it elsewhere in the tree. Default false. */
  readonly disallowTransferToPeers?: boolean;
  /** Runs before each model call. A response that it returns replaces the call. */
  readonly beforeModelCallback?: BeforeModelCallback;
  /** Runs after each response of the model, chunks included. A response that it returns replaces the model's. */
  readonly afterModelCallback?: AfterModelCallback;
  /** Runs after a failed model call. A response that it returns is used instead of the failure. */
  readonly onModelErrorCallback?: OnModelErrorCallback;
  /** Runs before each tool call. An object that it returns replaces the call. */
  readonly beforeToolCallback?: BeforeToolCallback;
  /** Runs after each tool call. An object that it returns replaces the tool's response. */
  readonly afterToolCallback?: AfterToolCallback;
  /** Runs after a tool threw. An object that it returns is the response to the model. */
  readonly onToolErrorCallback?: OnToolErrorCallback;
}

/** Code of a model, for error messages. */
export const MODEL_EXAMPLE = "'gemini-flash-latest', or new Gemini({ model, apiKey })";

export const LLM_AGENT_OPTIONS: OptionRules<LlmAgentConfig> = {
  ...BASE_AGENT_OPTIONS,
  mode: { is: 'text', oneOf: ['task', 'single_turn'] },
  model: { is: 'text or object', wanted: 'the name of a model or a model object', write: MODEL_EXAMPLE },
  instruction: { is: 'text or function', write: "'Answer in one sentence.'" },
  globalInstruction: { is: 'text or function', write: "'Answer in English.'" },
  staticInstruction: 'text',
  tools: { is: 'list', wanted: 'a list of tools', write: '[searchTool]' },
  codeExecutor: { is: 'object', wanted: 'a code executor', write: 'new BuiltInCodeExecutor()' },
  planner: { is: 'object', wanted: 'a planner', write: 'new PlanReActPlanner()' },
  generateContentConfig: { is: 'object', write: '{ temperature: 0 }' },
  modelTimeoutMs: TIMEOUT,
  includeContents: { is: 'text', oneOf: ['default', 'none'] },
  inputSchema: SCHEMA_RULE,
  outputSchema: SCHEMA_RULE,
  outputKey: { is: 'text', write: "'draft'" },
  disallowTransferToParent: 'flag',
  disallowTransferToPeers: 'flag',
  beforeModelCallback: 'function or list',
  afterModelCallback: 'function or list',
  onModelErrorCallback: 'function or list',
  beforeToolCallback: 'function or list',
  afterToolCallback: 'function or list',
  onToolErrorCallback: 'function or list',
};

const IN_GENERATE_CONFIG = 'write it in generateContentConfig, as in generateContentConfig: { temperature: 0 }';

/** Hints for option names of other libraries, shown in the error for an unknown option. */
export const LLM_AGENT_HINTS: Readonly<Record<string, string>> = {
  temperature: IN_GENERATE_CONFIG,
  topP: IN_GENERATE_CONFIG,
  topK: IN_GENERATE_CONFIG,
  maxOutputTokens: IN_GENERATE_CONFIG,
  maxTokens: 'write generateContentConfig: { maxOutputTokens: … }',
  stopSequences: IN_GENERATE_CONFIG,
  safetySettings: IN_GENERATE_CONFIG,
  thinkingConfig: 'write planner: new BuiltInPlanner({ thinkingConfig })',
  generationConfig: 'did you mean "generateContentConfig"?',
  modelConfig: 'did you mean "generateContentConfig"?',
  system: 'did you mean "instruction"?',
  systemPrompt: 'did you mean "instruction"?',
  systemInstruction: 'did you mean "instruction"?',
  prompt: 'did you mean "instruction"?',
  functions: 'did you mean "tools"?',
  handoffs: 'did you mean "subAgents"?',
  children: 'did you mean "subAgents"?',
  llm: 'did you mean "model"?',
  apiKey: 'write model: new Gemini({ model, apiKey }), or write models: geminiModels({ apiKey })',
  outputType: 'did you mean "outputSchema"?',
  responseSchema: 'did you mean "outputSchema"?',
  memory: 'write memoryService in the options of the runner, and tools: [LOAD_MEMORY]',
  maxIterations: 'write runConfig: { maxLlmCalls: … } in the parameters of runAsync',
  maxSteps: 'write runConfig: { maxLlmCalls: … } in the parameters of runAsync',
};

/** Returns true for an LLM agent. Unlike `instanceof`, it also recognises agents of another loaded copy of this package. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && '~eventloom.llm-agent' in value;
}
