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
import { BASE_AGENT_OPTIONS, type OptionNames } from '@eventloom/core/internal';
import type { SchemaLike } from '@eventloom/tools';
import type { LlmAgent } from './llm-agent.ts';

type OneOrMore<T> = T | readonly T[];

/** Gives an instruction when it is needed. Its text is taken as it is: nothing is filled in. */
export type InstructionProvider = (context: ReadonlyContext) => MaybePromise<string>;

/** Before a model call, whose request it may change. A response it returns is used instead of the model's. */
export type SingleBeforeModelCallback = (params: {
  context: CallbackContext;
  request: LlmRequest;
}) => MaybePromise<LlmResponse | undefined | void>;
/** After each response of the model, chunks included. A response it returns replaces it. */
export type SingleAfterModelCallback = (params: {
  context: CallbackContext;
  response: LlmResponse;
}) => MaybePromise<LlmResponse | undefined | void>;
/** A model call failed. A response it returns is used as the answer. */
export type SingleModelErrorCallback = (params: {
  context: CallbackContext;
  request: LlmRequest;
  error: Error;
}) => MaybePromise<LlmResponse | undefined | void>;
/** Before a tool runs, whose arguments it may change. What it returns is used instead of the tool's answer. */
export type SingleBeforeToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: ToolContext;
}) => MaybePromise<Record<string, unknown> | undefined | void>;
/** After a tool ran. What it returns replaces the answer. */
export type SingleAfterToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: ToolContext;
  response: Record<string, unknown>;
}) => MaybePromise<Record<string, unknown> | undefined | void>;
/** A tool threw. What it returns is the answer. */
export type SingleToolErrorCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: ToolContext;
  error: Error;
}) => MaybePromise<Record<string, unknown> | undefined | void>;

/** One or several callbacks that run before each model call. The first value that is not undefined counts. */
export type BeforeModelCallback = OneOrMore<SingleBeforeModelCallback>;
/** One or several callbacks that run after each response of a model. The first value that is not undefined counts. */
export type AfterModelCallback = OneOrMore<SingleAfterModelCallback>;
/** One or several callbacks for model calls that failed. The first value that is not undefined counts. */
export type OnModelErrorCallback = OneOrMore<SingleModelErrorCallback>;
/** One or several callbacks that run before each tool call. The first value that is not undefined counts. */
export type BeforeToolCallback = OneOrMore<SingleBeforeToolCallback>;
/** One or several callbacks that run after each tool call. The first value that is not undefined counts. */
export type AfterToolCallback = OneOrMore<SingleAfterToolCallback>;
/** One or several callbacks for tools that threw. The first value that is not undefined counts. */
export type OnToolErrorCallback = OneOrMore<SingleToolErrorCallback>;

/** Something that gives an agent tools. */
export type ToolUnion = BaseTool | BaseToolset;

/** Config of an LLM agent. */
export interface LlmAgentConfig extends BaseAgentConfig {
  /**
   * A model object, or the name of one that the runner's `models` knows. Default: that of the nearest LLM agent above which has
   * one; a run of an agent that finds none fails.
   */
  readonly model?: string | BaseLlm;
  /**
   * The instruction of the agent. In a string, `{key}` is replaced by the value in state; the result of a function is
   * used unchanged.
   */
  readonly instruction?: string | InstructionProvider;
  /** For every agent of the tree. Only the root's counts. */
  readonly globalInstruction?: string | InstructionProvider;
  /** Instruction text in which nothing is filled in. */
  readonly staticInstruction?: string;
  readonly tools?: readonly ToolUnion[];
  /** Runs the code in the model's replies. Absent: code in a reply is text like any other. */
  readonly codeExecutor?: BaseCodeExecutor;
  /** Has the model plan before it acts. */
  readonly planner?: BasePlanner;
  /**
   * Options of the model's generation. Tools, the system instruction and the response schema have options of their own.
   */
  readonly generateContentConfig?: GenerateContentConfig;
  /** `none`: the model sees only the current turn. Default `default`: everything said so far. */
  readonly includeContents?: 'default' | 'none';
  /** Schema of the arguments when the agent is called through an AgentTool. It is not used in a conversation. */
  readonly inputSchema?: SchemaLike;
  /**
   * Schema of the answer, which must be JSON. An answer that does not match is returned to the model with the problems.
   */
  readonly outputSchema?: SchemaLike;
  /** The state key that gets the final answer: its text, or its value when there is an `outputSchema`. */
  readonly outputKey?: string;
  /**
   * The model and tools cannot hand the conversation back to the parent or one above it, and the user's next message does not go to this agent or one
   * below it. Default false.
   */
  readonly disallowTransferToParent?: boolean;
  /** The model cannot hand the conversation to a sibling, nor tools to one elsewhere in the tree. Default false. */
  readonly disallowTransferToPeers?: boolean;
  readonly beforeModelCallback?: BeforeModelCallback;
  readonly afterModelCallback?: AfterModelCallback;
  readonly onModelErrorCallback?: OnModelErrorCallback;
  readonly beforeToolCallback?: BeforeToolCallback;
  readonly afterToolCallback?: AfterToolCallback;
  readonly onToolErrorCallback?: OnToolErrorCallback;
}

export const LLM_AGENT_OPTIONS: OptionNames<LlmAgentConfig> = {
  ...BASE_AGENT_OPTIONS,
  model: true,
  instruction: true,
  globalInstruction: true,
  staticInstruction: true,
  tools: true,
  codeExecutor: true,
  planner: true,
  generateContentConfig: true,
  includeContents: true,
  inputSchema: true,
  outputSchema: true,
  outputKey: true,
  disallowTransferToParent: true,
  disallowTransferToPeers: true,
  beforeModelCallback: true,
  afterModelCallback: true,
  onModelErrorCallback: true,
  beforeToolCallback: true,
  afterToolCallback: true,
  onToolErrorCallback: true,
};

const IN_GENERATE_CONFIG = 'write it in generateContentConfig, as in generateContentConfig: { temperature: 0 }';

/** Hints for option names that other libraries have. */
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
  apiKey: 'write model: new Gemini({ model, apiKey }), or give the runner models: geminiModels({ apiKey })',
  outputType: 'did you mean "outputSchema"?',
  responseSchema: 'did you mean "outputSchema"?',
  memory: 'write memoryService in the options of the runner, and tools: [LOAD_MEMORY]',
  maxIterations: 'write runConfig: { maxLlmCalls: … } in the parameters of runAsync',
  maxSteps: 'write runConfig: { maxLlmCalls: … } in the parameters of runAsync',
};

/** True for LLM agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && '~eventloom.llm-agent' in value;
}
