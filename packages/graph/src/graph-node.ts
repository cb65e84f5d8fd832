import { type BaseAgent, type BaseTool, ConfigurationError, isBaseAgent, isBaseTool } from '@eventloom/core';
import type { OptionNames } from '@eventloom/core/internal';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import { checkOptions } from './check-options.ts';
import type { NodeContext } from './node-context.ts';
import { checkRetry, MAX_TIMER_MS, type RetryConfig } from './retry.ts';

/** Options of every kind of node. */
export interface NodeOptions {
  /** Schema of the input. The node gets the value that the schema returns. */
  readonly inputSchema?: SchemaLike;
  /**
   * Schema of the output. The following nodes get the value that the schema returns. An output that the schema refuses
   * is a failure of the node, and is retried as such.
   */
  readonly outputSchema?: SchemaLike;
  /** The channels that the node may write. */
  readonly writes?: readonly string[];
  /** Default: a failure is the failure of the graph. */
  readonly retry?: RetryConfig;
  /**
   * Maximum duration of one attempt in milliseconds, by the platform's clock; waiting to commit does not count.
   * Default: no limit.
   */
  readonly timeoutMs?: number;
}

/**
 * The function behind a node: what it returns is JSON, and the input of the nodes that its edges lead to. Its own input is shared with
 * others and frozen. Until it is done the channels are as the step found them. A function that is cut off, or asks a person, is run
 * again from its beginning.
 */
export type NodeFunction<Input = never, Output = unknown, Context = NodeContext> = (
  input: Input,
  context: Context,
) => Output | Promise<Output>;

/**
 * The work of a node: a function, an agent or a tool. An agent gets the input as text or JSON, a tool as its arguments.
 */
export type NodeWork = NodeFunction<never, unknown, never> | BaseAgent | BaseTool;

/** A node: to be added to a graph, or run by another node. */
export interface GraphNode<Input = unknown, Output = unknown, Name extends string = string> {
  readonly name: Name;
  readonly work: NodeWork;
  /** True for a node that waits for all nodes before it. */
  readonly isJoin: boolean;
  readonly inputSchema: ValueSchema | undefined;
  readonly outputSchema: ValueSchema | undefined;
  readonly writes: readonly string[];
  readonly retry: RetryConfig | undefined;
  readonly timeoutMs: number | undefined;
  /** For the compiler alone. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
}

const NAME = /^[\p{ID_Start}_$][\p{ID_Continue}$-]*$/u;
const OPTIONS: OptionNames<NodeOptions> = {
  inputSchema: true,
  outputSchema: true,
  writes: true,
  retry: true,
  timeoutMs: true,
};

/**
 * A node outside of a graph: for `context.runNode`, or for `addNode` of several graphs. One that another node runs may write the channels
 * that this one may write; say which by the type of its context, `NodeContext<State, Updates>`.
 * @throws ConfigurationError, naming the node, for what cannot work
 */
export function node<
  Input = unknown,
  Output = unknown,
  State = Readonly<Record<string, unknown>>,
  Updates = Readonly<Record<string, never>>,
  Name extends string = string,
>(
  name: Name,
  work: NodeFunction<Input, Output, NodeContext<State, Updates>>,
  options?: NodeOptions,
): GraphNode<Input, Awaited<Output>, Name>;
export function node<Name extends string>(
  name: Name,
  work: BaseAgent | BaseTool,
  options?: NodeOptions,
): GraphNode<unknown, unknown, Name>;
export function node(name: string, work: NodeWork, options?: NodeOptions): GraphNode {
  return createNode(name, work, options);
}

/** @throws ConfigurationError */
export function createNode(name: string, work: NodeWork, options: NodeOptions = {}, isJoin = false): GraphNode {
  const owner = `node ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || !NAME.test(name) || name === 'user' || name.startsWith('__')) {
    throw new ConfigurationError(
      `${owner}: a name is letters, digits, _, $ and -, does not start with a digit or __, and is not "user"`,
    );
  }
  if (typeof work !== 'function' && !isBaseAgent(work) && !isBaseTool(work))
    throw new ConfigurationError(`${owner}: must be a function, an agent or a tool`);
  checkOptions(owner, options, OPTIONS);
  const { inputSchema, outputSchema, writes = [], retry, timeoutMs } = options;
  if (retry !== undefined) checkRetry(owner, retry);
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS))
    throw new ConfigurationError(`${owner}: timeoutMs must be more than 0 and at most ${MAX_TIMER_MS}`);
  if (!Array.isArray(writes) || writes.some((name) => typeof name !== 'string'))
    throw new ConfigurationError(`${owner}: writes must be a list of names of channels`);
  if (writes.length > 0 && typeof work !== 'function')
    throw new ConfigurationError(`${owner}: only functions write channels; put one behind it`);
  return {
    name,
    work,
    isJoin,
    inputSchema: inputSchema && new ValueSchema(inputSchema, `${owner}: inputSchema`),
    outputSchema: outputSchema && new ValueSchema(outputSchema, `${owner}: outputSchema`),
    writes: [...writes],
    retry,
    timeoutMs,
  };
}

/** The function of a join without one: returns its input. */
export function passOn(input: unknown): unknown {
  return input;
}

/** @throws ConfigurationError, naming who runs it, for what `runNode` cannot run */
export function checkRunnable(owner: string, value: unknown): asserts value is GraphNode | BaseAgent | BaseTool {
  if (isGraphNode(value) || isBaseAgent(value) || isBaseTool(value)) return;
  const hint = typeof value === 'function' ? "; make it a node of its own: node('name', work)" : '';
  throw new ConfigurationError(`${owner}: runNode runs nodes, agents and tools${hint}`);
}

/** True for what `node` made. */
export function isGraphNode(value: unknown): value is GraphNode {
  return typeof value === 'object' && value !== null && 'work' in value && 'isJoin' in value;
}
