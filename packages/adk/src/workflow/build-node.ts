import { type AuthConfig, type BaseAgent, ConfigurationError, createEvent, type Event } from '@eventloom/core';
import { checkOptions, isBaseAgent, isBaseTool, type OptionRules, wrongOption } from '@eventloom/core/internal';
import { NodeInterruptedError } from '../errors.ts';
import { AgentNode } from './agent-node.ts';
import { BaseNode, type BaseNodeConfig, describeNodeOrKind, isBaseNode, NODE_OPTIONS, START } from './base-node.ts';
import { FunctionNode, type FunctionNodeHandler } from './function-node.ts';
import type { AdkNodeContext, RunnableNode } from './node-context.ts';
import { prepareRetryConfig } from './retry.ts';
import { ToolNode } from './tool-node.ts';

/** Anything that an edge connects. */
export type NodeLike = RunnableNode | 'START';

/** Options of `node`, for programs that were written for `@google/adk`. They replace those of the value. */
export interface AdkNodeOptions extends Partial<Omit<BaseNodeConfig, 'waitForOutput'>> {
  /**
   * The credential that a function needs. If the user gave none, the node asks for it and waits. Refused for other
   * nodes than those of functions.
   */
  authConfig?: AuthConfig | undefined;
  /** True runs the node once for each item of its input, which is a list, and makes a list of the outputs. Default false. */
  parallelWorker?: boolean | undefined;
  /** Maximum number of runs of a parallel worker at the same time. Default 8. */
  maxParallelWorkers?: number | undefined;
}

const { waitForOutput: _, ...OWN_OPTIONS } = NODE_OPTIONS;
const OPTIONS: OptionRules<AdkNodeOptions> = {
  ...OWN_OPTIONS,
  authConfig: 'object',
  parallelWorker: 'flag',
  // `ParallelWorker` checks it.
  maxParallelWorkers: 'any',
};

/** A node that waits for all nodes with an edge to it. Its output is an object of their outputs by node name. */
export class JoinNode extends BaseNode {
  /** @throws ConfigurationError for an invalid option, and for one that does not exist */
  constructor(config: BaseNodeConfig) {
    checkOptions('JoinNode', NODE_OPTIONS, config, {}, "new JoinNode({ name: 'join' })");
    super(config);
  }

  override get requiresAllPredecessors(): boolean {
    return true;
  }

  protected override async *runImpl(_context: AdkNodeContext, input: unknown): AsyncGenerator<Event, void, void> {
    yield createEvent({ output: input });
  }
}

/** Options of a parallel worker. */
export interface ParallelWorkerConfig {
  /** Maximum number of runs at the same time. Default 8. */
  maxParallelWorkers?: number | undefined;
}

/** A node that runs another one once for each item of its input. Its output is the list of the outputs, in the order of the items. */
export class ParallelWorker extends BaseNode {
  readonly inner: BaseNode;
  readonly maxParallelWorkers: number | undefined;

  /** @throws ConfigurationError for a number below 1 */
  constructor(inner: NodeLike, config: ParallelWorkerConfig = {}) {
    const node = buildNode(inner);
    checkOptions(`ParallelWorker "${node.name}"`, { maxParallelWorkers: 'number' }, config);
    const { maxParallelWorkers } = config;
    super({ name: node.name, rerunOnResume: true });
    if (maxParallelWorkers !== undefined && !(maxParallelWorkers >= 1))
      throw wrongOption(
        `ParallelWorker "${this.name}"`,
        'maxParallelWorkers',
        'an integer of at least 1',
        maxParallelWorkers,
        '4',
      );
    this.inner = node;
    this.maxParallelWorkers = maxParallelWorkers;
  }

  override get calledAgents(): readonly BaseAgent[] {
    return [this.inner];
  }

  protected override async *runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    const items: readonly unknown[] = Array.isArray(input) ? input : [input];
    const outputs: unknown[] = [];
    let next = 0;
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      while (next < items.length && failures.length === 0) {
        const at = next++;
        try {
          const { output } = await context.runNode(this.inner, items[at], { useSubBranch: true, runId: `${at}` });
          outputs[at] = output;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.maxParallelWorkers ?? 8, items.length) }, work));
    // If one run failed and another one waits, the error wins.
    if (failures.length > 0) throw failures.find((error) => !NodeInterruptedError.isInstance(error)) ?? failures[0];
    yield outputs;
  }
}

/** Base of nodes with an own `runNodeImpl`. */
export abstract class WorkflowNode<TInput = unknown, TOutput = unknown> extends BaseNode<TInput, TOutput> {
  /** Does the work of the node, as `runImpl` of `BaseNode` does. */
  protected abstract runNodeImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void>;

  protected override runImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void> {
    return this.runNodeImpl(context, input);
  }
}

/** A node that runs another node under its own name and options. */
export class RenamedNode extends BaseNode {
  readonly inner: BaseNode;

  constructor(inner: BaseNode, options: AdkNodeOptions) {
    super({
      name: options.name ?? inner.name,
      description: options.description ?? inner.description,
      rerunOnResume: options.rerunOnResume ?? inner.rerunOnResume,
      waitForOutput: inner.waitForOutput,
      retryConfig: options.retryConfig ?? inner.retryConfig,
      timeout: options.timeout ?? inner.timeout,
      inputSchema: options.inputSchema ?? inner.inputSchema,
      outputSchema: options.outputSchema ?? inner.outputSchema,
      stateSchema: options.stateSchema ?? inner.stateSchema,
      isolationScope: options.isolationScope ?? inner.isolationScope,
    });
    this.inner = inner;
  }

  override get calledAgents(): readonly BaseAgent[] {
    return [this.inner];
  }

  override get requiresAllPredecessors(): boolean {
    return this.inner.requiresAllPredecessors;
  }

  override get endsWithOutput(): boolean {
    return this.inner.endsWithOutput;
  }

  override get continuesCalls(): boolean {
    return this.inner.continuesCalls;
  }

  protected override runImpl(context: AdkNodeContext, input: unknown): AsyncGenerator<unknown, void, void> {
    return this.inner.run(context, input);
  }

  /** Names this node as the author of the events of the inner one. Those of an agent keep the name of the agent. */
  protected override async toEvent(context: AdkNodeContext, item: unknown): Promise<Event | null | undefined> {
    const event = await super.toEvent(context, item);
    if (event?.author !== this.inner.name || this.inner instanceof AgentNode) return event;
    return context.invocationContext.progress.isCommitted(event) ? event : { ...event, author: this.name };
  }
}

/**
 * Returns true for the list of agents that a field of a node holds. A class of the program may have a field of that
 * name for something else.
 */
function isAgentList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isBaseAgent);
}

/** Returns true for a value that an edge can connect. */
export function isNodeLike(value: unknown): value is NodeLike {
  return value === 'START' || typeof value === 'function' || isBaseAgent(value) || isBaseTool(value);
}

/** Makes a node of a value. @throws ConfigurationError for a value of another kind, and for an invalid option */
export function buildNode(value: NodeLike, options: AdkNodeOptions = {}): BaseNode {
  const { parallelWorker, maxParallelWorkers, ...own } = options;
  if (maxParallelWorkers !== undefined && !parallelWorker)
    throw new ConfigurationError('node: maxParallelWorkers needs parallelWorker; write parallelWorker: true');
  if (value === 'START') return START;
  const built = buildOne(value, own);
  return parallelWorker ? new ParallelWorker(built, { maxParallelWorkers }) : built;
}

function buildOne(value: RunnableNode, options: AdkNodeOptions): BaseNode {
  const isChanged = Object.values(options).some((each) => each !== undefined);
  if (value instanceof FunctionNode && value.constructor === FunctionNode)
    return isChanged ? value.copy(options) : value;
  if (options.authConfig && typeof value !== 'function')
    throw new ConfigurationError(
      `node: authConfig: only the node of a function asks for a credential, and "${value.name}" would run without it; write node(async (context, input) => …, { name, authConfig }) before it`,
    );
  if (isBaseNode(value)) {
    for (const field of ['subAgents', 'calledAgents'] as const)
      if (!isAgentList(value[field]))
        throw new ConfigurationError(
          `node "${value.name}": ${field}: expected a list of agents, as BaseNode has it; give the field of your class another name`,
        );
    return isChanged ? new RenamedNode(value, options) : value;
  }
  if (isBaseAgent(value)) return new AgentNode(value, options);
  if (isBaseTool(value)) return new ToolNode(value, options);
  if (typeof value !== 'function')
    throw new ConfigurationError(
      `node: expected a node, an agent, a tool or a function, got ${describeNodeOrKind(value)}; write node((input) => …, { name: 'work' })`,
    );
  const name = options.name ?? value.name;
  if (name === '') throw new ConfigurationError("node: the function has no name; write node(work, { name: 'work' })");
  // The types of the function are those that its author gave the node.
  return new FunctionNode(name, value as FunctionNodeHandler, options);
}

/**
 * Makes a node of a function, an agent, a tool or another node, for programs that were written for `@google/adk`.
 *
 * @example
 * const trim = node((_context: NodeContext, text: string) => text.trim(), { name: 'trim' });
 */
export function node(nodeLike: NodeLike, options: AdkNodeOptions = {}): BaseNode {
  checkOptions('node', OPTIONS, options);
  if (options.retryConfig) prepareRetryConfig(options.retryConfig);
  return buildNode(nodeLike, options);
}
