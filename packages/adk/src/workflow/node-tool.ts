import {
  BaseAgent,
  ConfigurationError,
  type Event,
  type FunctionDeclaration,
  type InvocationContext,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import { isLlmAgent } from '@eventloom/llm-agent';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import { requireArgument } from '../check-arguments.ts';
import { OpenCallTool } from '../open-call-tool.ts';
import { type BaseNode, isBaseNode } from './base-node.ts';
import { beginNodeRun, isWorkflow, runNodeAsInvocation } from './workflow.ts';
import { WorkflowRun } from './workflow-run.ts';

const REQUEST: SchemaLike = {
  type: 'object',
  properties: { request: { type: 'string' } },
  required: ['request'],
};

/**
 * A tool that runs a node. The arguments are the input of the node, whose `inputSchema` describes them; a schema of another value than an
 * object gets the argument `request`. The output of the node is the result.
 *
 * @example
 * const discount = node((_context: NodeContext, { tier }: { tier: string }) => (tier === 'gold' ? 20 : 5), {
 *   name: 'discount',
 *   inputSchema: z.object({ tier: z.string() }),
 * });
 * const agent = new LlmAgent({ name: 'shop', model: 'gemini-flash-latest', tools: [new NodeTool(discount)] });
 */
export class NodeTool extends OpenCallTool {
  readonly node: BaseNode;
  readonly #parameters: ValueSchema;
  readonly #takesObject: boolean;

  /** @throws ConfigurationError for a node without an `inputSchema` */
  constructor(node: BaseNode, name?: string, description?: string) {
    requireArgument(isBaseNode(node), 'NodeTool', 'a node', node, 'new NodeTool(node(work, { inputSchema }))');
    const { inputSchema } = node;
    if (!inputSchema)
      throw new ConfigurationError(
        `NodeTool: the node "${node.name}" has no inputSchema; write inputSchema: z.object({ … }) in its options`,
      );
    super({
      name: name ?? node.name,
      description: description || node.description || `Executes the node: ${node.name}`,
    });
    const parameters = new ValueSchema(inputSchema, `NodeTool "${this.name}": inputSchema`);
    this.node = node;
    this.#takesObject = parameters.json['type'] === 'object';
    this.#parameters = this.#takesObject ? parameters : new ValueSchema(REQUEST, 'NodeTool');
  }

  /** True: in a resumed run the node continues where it was. */
  override get resumesCalls(): boolean {
    return true;
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description, parametersJsonSchema: this.#parameters.json };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const { invocationContext, functionCallId } = toolContext;
    let output: unknown;
    const input = this.#takesObject ? args : args['request'];
    const agent = new NodeCall(this.name, this.node, input, (value) => (output = value));
    const events = invocationContext.runSubInvocation({
      agent,
      userContent: { role: 'user', parts: [{ text: JSON.stringify(input ?? null) }] },
      callId: functionCallId,
      caller: toolContext,
      streaming: true,
      onPause: () => toolContext.pause(),
    });
    for await (const event of events) {
      if (!invocationContext.isResumable && event.longRunningToolIds?.length)
        throw new ConfigurationError(
          `node "${this.node.name}" asks a person, and this run cannot wait: write resumable: true in the options of the runner`,
        );
      // The context of a callback, which a program may give, shows no events.
      if (event.content ?? event.errorCode ?? event.output) await toolContext.emitEvent?.(event);
    }
    if (toolContext.isPaused) return undefined;
    return output === undefined ? { result: null } : output;
  }
}

/** Returns true if an agent of a tree, or one that an agent of the tree calls, is a workflow or has a node as a tool. */
export function runsNodes(root: BaseAgent): boolean {
  const seen = new Set([root]);
  for (const agent of seen) {
    if (isWorkflow(agent) || (isLlmAgent(agent) && agent.tools.some((tool) => tool instanceof NodeTool))) return true;
    for (const other of [...agent.subAgents, ...agent.calledAgents]) seen.add(other);
  }
  return false;
}

/** Runs a node for one call of its tool. */
class NodeCall extends BaseAgent {
  readonly #node: BaseNode;
  readonly #input: unknown;
  readonly #onOutput: (output: unknown) => void;

  /** @param toolName names the branch of the events */
  constructor(toolName: string, node: BaseNode, input: unknown, onOutput: (output: unknown) => void) {
    super({ name: toolName });
    this.#node = node;
    this.#input = input;
    this.#onOutput = onOutput;
  }

  override get isObserved(): boolean {
    return false;
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* beginNodeRun(context);
    yield* runNodeAsInvocation(this.#node, new WorkflowRun(context), this.#input, this.#onOutput);
  }
}
