import { type BaseAgent, type BaseTool, ConfigurationError } from '@eventloom/core';
import {
  checkOptions,
  describeKind,
  isBaseAgent,
  isBaseTool,
  type OptionRules,
  SCHEMA_RULE,
  wrongOption,
} from '@eventloom/core/internal';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import type { NodeContext } from './node-context.ts';
import { checkRetry, MAX_TIMER_MS, type NodeRetryOptions } from './retry.ts';

/** Options of a node. */
export interface NodeOptions {
  /** Schema of the input. The node gets the parsed value. A mismatch fails the node without a retry. Default: no check. */
  readonly inputSchema?: SchemaLike;
  /**
   * Schema of the output. The following nodes get the parsed value. A mismatch fails the node, and `retry` applies to
   * it. Default: no check.
   */
  readonly outputSchema?: SchemaLike;
  /** Names of the channels that the node's function may write. Default: none. */
  readonly writes?: readonly string[];
  /** Retries of a failed attempt. Default: none; the first failure fails the graph. */
  readonly retry?: NodeRetryOptions;
  /**
   * Maximum duration of one attempt in milliseconds, by the platform's clock. Time in which the node waits to commit
   * does not count. Default: no limit.
   */
  readonly timeoutMs?: number;
}

/**
 * The function of a node. It must return JSON, which becomes the input of the following nodes; its own input is frozen, because other nodes
 * may share it. The function runs again from its beginning after an interruption or a question to a person, so side effects before that may
 * happen twice.
 */
export type NodeFunction<Input = never, Output = unknown, Context = NodeContext> = (
  input: Input,
  context: Context,
) => Output | Promise<Output>;

/**
 * The work of a node: a function, an agent or a tool. An agent gets the input as a message (text or JSON), a tool as its arguments.
 */
export type NodeWork = NodeFunction<never, unknown, never> | BaseAgent | BaseTool;

/** A node, to be added to a graph or run by another node. Create it with `node`. */
export interface GraphNode<Input = unknown, Output = unknown, Name extends string = string> {
  readonly name: Name;
  readonly work: NodeWork;
  /** True if the node waits for all nodes that have an edge to it. */
  readonly isJoin: boolean;
  readonly inputSchema: ValueSchema | undefined;
  readonly outputSchema: ValueSchema | undefined;
  readonly writes: readonly string[];
  readonly retry: NodeRetryOptions | undefined;
  readonly timeoutMs: number | undefined;
  /** Carries the types of input and output; never set. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
}

const NAME = /^[\p{ID_Start}_$][\p{ID_Continue}$-]*$/u;
const OPTIONS: OptionRules<NodeOptions> = {
  inputSchema: SCHEMA_RULE,
  outputSchema: SCHEMA_RULE,
  writes: { is: 'list', write: "['draft']" },
  retry: { is: 'object', write: '{ maxAttempts: 3 }' },
  timeoutMs: 'number',
};

/**
 * Creates a node of a graph as a value: a name and its work, which is a function, an agent or a tool. Most nodes need
 * no such value, because `addNode(name, work)` creates them. Use `node` to run a node from the function of another one
 * (`context.runNode`), or to add the same node to several graphs.
 *
 * A node that another node runs may write only the channels that the other may write, too. TypeScript checks it if the function's context
 * has the type `NodeContext<State, Updates>`.
 * @throws ConfigurationError for an invalid name, work or option; the message names the node
 *
 * @example
 * const shorten = node('shorten', (text: string) => text.slice(0, 100));
 * const graph = new StateGraph({ name: 'teaser' })
 *   .addNode('write', async (text: string, context) => `${await context.runNode(shorten, text)}…`)
 *   .addEdge(START, 'write')
 *   .addEdge('write', END)
 *   .compile();
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

/** Creates a node. @throws ConfigurationError for an invalid name, work or option */
export function createNode(name: string, work: NodeWork, options: NodeOptions = {}, isJoin = false): GraphNode {
  const owner = `node ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || !NAME.test(name) || name === 'user' || name.startsWith('__')) {
    throw new ConfigurationError(
      `${owner}: expected a name of letters, digits, _, $ and -, not beginning with a digit or __, other than "user"; write addNode('draft', …)`,
    );
  }
  if (typeof work !== 'function' && !isBaseAgent(work) && !isBaseTool(work))
    throw new ConfigurationError(
      `${owner}: work: expected a function, an agent or a tool, got ${describeKind(work)}; write addNode(${JSON.stringify(name)}, (input, context) => …)`,
    );
  checkOptions(owner, OPTIONS, options);
  const { inputSchema, outputSchema, writes = [], retry, timeoutMs } = options;
  if (retry !== undefined) checkRetry(owner, retry);
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS))
    throw new ConfigurationError(
      `${owner}: timeoutMs: expected a number above 0 and at most ${MAX_TIMER_MS}, got ${describeKind(timeoutMs)}; write timeoutMs: 30_000`,
    );
  if (!Array.isArray(writes) || writes.some((name) => typeof name !== 'string'))
    throw wrongOption(owner, 'writes', 'a list of channel names', writes, "['draft']");
  if (writes.length > 0 && typeof work !== 'function')
    throw new ConfigurationError(
      `${owner}: writes: only function nodes can write channels; remove it, and add a function node after this one`,
    );
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

/**
 * Checks that a value can be run as a node.
 * @throws ConfigurationError if `runNode` cannot run the value; the message begins with `owner`
 */
export function checkRunnable(owner: string, value: unknown): asserts value is GraphNode | BaseAgent | BaseTool {
  if (isGraphNode(value) || isBaseAgent(value) || isBaseTool(value)) return;
  const work = typeof value === 'function' ? 'work' : '(input) => …';
  throw new ConfigurationError(
    `${owner}: runNode: expected a node, an agent or a tool, got ${describeKind(value)}; write runNode(node('name', ${work}), input)`,
  );
}

/** Returns true for a node that `node` created. */
export function isGraphNode(value: unknown): value is GraphNode {
  return typeof value === 'object' && value !== null && 'work' in value && 'isJoin' in value;
}
