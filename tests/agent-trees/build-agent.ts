import {
  BaseAgent,
  BaseLlm,
  type BaseTool,
  type Content,
  type Event,
  EventloomError,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
  type Part,
  requestInput,
  type ToolContext,
} from '@eventloom/core';
import { type AnyNodes, END, type NodeContext, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import type { AgentPlan, NodePlan, ToolPlan } from './agent-plan.ts';
import type { World } from './world.ts';

type PlanOf<Kind extends AgentPlan['kind']> = Extract<AgentPlan, { readonly kind: Kind }>;
type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

/** Builds the agents of a plan. */
export function buildAgent(plan: AgentPlan, world: World): BaseAgent {
  const { name } = plan;
  switch (plan.kind) {
    case 'llm':
      return new LlmAgent({
        name,
        model: new PlannedModel(plan, world),
        tools: plan.tools.map((tool) => buildTool(tool, world)),
        subAgents: buildAll(plan.subAgents, world),
      });
    case 'sequential':
      return new SequentialAgent({ name, subAgents: buildAll(plan.subAgents, world) });
    case 'loop':
      return new LoopAgent({ name, subAgents: buildAll(plan.subAgents, world), maxIterations: 2 });
    case 'parallel':
      return new ParallelAgent({
        name,
        subAgents: buildAll(plan.subAgents, world),
        ...(plan.maxConcurrency !== undefined && { maxConcurrency: plan.maxConcurrency }),
      });
    case 'speaks':
      return new ScriptedAgent(name, async function* (context) {
        yield textEvent(context, `${name} speaks`);
      });
    case 'ends':
      return new ScriptedAgent(name, async function* (context) {
        yield textEvent(context, `${name} ends`);
        context.endInvocation = true;
      });
    case 'asks':
      return new ScriptedAgent(name, async function* (context) {
        const answer = yield* requestInput(context, { message: 'Which?' });
        if (answer === undefined) return;
        world.see(answer);
        yield textEvent(context, `${name} has its answer`);
      });
    case 'fails':
      return new ScriptedAgent(name, async function* (context) {
        for (let count = 0; count < plan.events; count++) yield textEvent(context, `${name} ${count}`);
        await world.sleep(plan.ms, context.abortSignal);
        if (world.fails(name, plan.isOnce)) throw new TypeError(`${name} is broken`);
      });
    case 'graph':
      return buildGraph(plan, world);
  }
}

const buildAll = (plans: readonly AgentPlan[], world: World): BaseAgent[] =>
  plans.map((plan) => buildAgent(plan, world));

class ScriptedAgent extends BaseAgent {
  readonly #script: Script;

  constructor(name: string, script: Script) {
    super({ name });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

const textEvent = (context: InvocationContext, text: string): Event =>
  context.createEvent({ content: { role: 'model', parts: [{ text }] } });

/**
 * Selects its reply by the history, so it behaves the same in every process. After the last planned reply it speaks,
 * and begins again, at most three times.
 */
class PlannedModel extends BaseLlm {
  readonly #plan: PlanOf<'llm'>;
  readonly #world: World;

  constructor(plan: PlanOf<'llm'>, world: World) {
    super({ model: 'planned' });
    this.#plan = plan;
    this.#world = world;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const { name, replies, ms, failsAt } = this.#plan;
    this.#world.see(contents);
    await this.#world.sleep(ms);
    const round = replies.length + 1;
    const replied = contents.filter((content) => this.#isReply(content)).length;
    const step = replied < 3 * round ? replied % round : replies.length;
    if (step === failsAt && this.#world.fails(name, true)) throw new TypeError(`the model of ${name} is broken`);
    const calls = replies[step]?.map(({ tool, transferTo }): Part => {
      const args = transferTo === undefined ? { request: 'work' } : { agent_name: transferTo };
      return { functionCall: { name: tool, args } };
    });
    yield { content: { role: 'model', parts: calls ?? [{ text: `${name} is done` }] }, finishReason: 'STOP' };
  }

  #isReply({ role, parts = [] }: Content): boolean {
    return (
      role === 'model' && parts.some(({ functionCall, text }) => functionCall ?? text === `${this.#plan.name} is done`)
    );
  }
}

function buildTool(plan: ToolPlan, world: World): BaseTool {
  const { name } = plan;
  const act = ({ invocationContext, functionCallId }: ToolContext): void =>
    world.act({ tool: name, branch: invocationContext.branch ?? '', callId: functionCallId });
  const tool = (execute: (context: ToolContext) => unknown, options: object = {}): FunctionTool =>
    new FunctionTool({ name, description: '', execute: (_, context) => execute(context), ...options });
  switch (plan.kind) {
    case 'work':
      return tool(
        (context) => {
          act(context);
          return { worked: true };
        },
        { idempotent: plan.idempotent },
      );
    case 'slow':
      return tool(async (context) => {
        await world.sleep(plan.ms, plan.isDeaf ? undefined : context.abortSignal);
        act(context);
        return { worked: true };
      });
    case 'fail':
      return tool(() => {
        throw new TypeError(`${name} is broken`);
      });
    case 'wait':
      return new LongRunningFunctionTool({
        name,
        description: '',
        execute: (_, context) => {
          act(context);
          return plan.hasStatus ? { status: 'pending' } : undefined;
        },
      });
    case 'pay':
      return tool(
        (context) => {
          act(context);
          return { paid: true };
        },
        { requireConfirmation: true },
      );
    case 'confirm':
      return tool((context) => {
        const { toolConfirmation } = context;
        if (!toolConfirmation) {
          context.requestConfirmation({ hint: 'Sure?' });
          return { asked: true };
        }
        act(context);
        return { confirmed: toolConfirmation.confirmed };
      });
    case 'input':
      return tool((context) => {
        const keys = Array.from({ length: plan.inputs }, (_, index) => String(index));
        const inputs = keys.map((key) => context.getInput(key));
        const missing = keys.filter((_, index) => inputs[index] === undefined);
        for (const key of missing) context.requestInput({ key, message: 'Which?' });
        if (missing.length > 0) return undefined;
        world.see(inputs);
        act(context);
        return { inputs };
      });
    case 'escalate':
      return tool((context) => {
        context.actions.escalate = true;
        return { escalated: true };
      });
    case 'endInvocation':
      return tool((context) => {
        context.invocationContext.endInvocation = true;
        return { ended: true };
      });
    case 'agent':
      return new AgentTool({ agent: buildAgent(plan.agent, world), streamInner: plan.streamInner });
  }
}

function buildGraph({ name, nodes, isLine, maxConcurrency }: PlanOf<'graph'>, world: World): BaseAgent {
  const graph = new StateGraph<Record<string, never>, AnyNodes>({ name });
  for (const plan of nodes) {
    const options = {
      ...(plan.timeoutMs !== undefined && { timeoutMs: plan.timeoutMs }),
      retry: { maxAttempts: plan.attempts, initialDelayMs: 50 },
    };
    if (plan.work.kind === 'agent') graph.addNode(plan.name, buildAgent(plan.work.agent, world), options);
    else graph.addNode(plan.name, buildFunction(plan.name, plan.work, world), options);
  }
  for (const [index, each] of nodes.entries()) {
    if (!isLine || index === 0) graph.addEdge(START, each.name);
    graph.addEdge(each.name, (isLine && nodes[index + 1]?.name) || END);
  }
  return graph.compile(maxConcurrency === undefined ? {} : { maxConcurrency });
}

function buildFunction(name: string, work: Exclude<NodePlan['work'], { readonly kind: 'agent' }>, world: World) {
  switch (work.kind) {
    case 'tool': {
      const tool = buildTool(work.tool, world);
      return async (_: unknown, context: NodeContext) => (await context.runNode(tool, {})) ?? null;
    }
    case 'ask':
      return (_: unknown, context: NodeContext) => ask(context, world);
    case 'fail':
      return async (_: unknown, { abortSignal }: NodeContext) => {
        await world.sleep(work.ms, abortSignal);
        if (world.fails(name, work.isOnce)) throw new TypeError(`${name} is broken`);
        return 'well';
      };
    case 'function': {
      const agents = buildAll(work.agents, world);
      return async (_: unknown, context: NodeContext) => {
        const parts = [
          ...agents.map((agent) => () => {
            const running = context.runNode(agent, 'work');
            return work.catchesErrors ? running.catch(ignoreFailure) : running;
          }),
          ...(work.asks ? [() => ask(context, world)] : []),
          () => world.sleep(work.ms, context.abortSignal),
        ];
        if (work.isTogether) await Promise.all(parts.map((part) => part()));
        else for (const part of parts) await part();
        return 'worked';
      };
    }
  }
}

async function ask(context: NodeContext, world: World): Promise<string> {
  const answer = await context.requestInput({ message: 'Which?' });
  world.see(answer);
  return 'answered';
}

/** Ignores an error, but not the one that stops a function until its answer comes. */
function ignoreFailure(error: unknown): void {
  if (EventloomError.isInstance(error) && error.code === 'NODE_INTERRUPT') throw error;
}
