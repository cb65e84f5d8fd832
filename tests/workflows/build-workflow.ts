import {
  BaseAgent,
  BaseLlm,
  createEvent,
  type EdgeItem,
  type Event,
  FunctionTool,
  type InvocationContext,
  JoinNode,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LongRunningFunctionTool,
  LoopAgent,
  node,
  type NodeContext,
  type NodeLike,
  ParallelAgent,
  RequestInput,
  RoutedAgent,
  SequentialAgent,
  Workflow,
} from '@eventloom/adk';
import type { AgentPlan, LlmPlan, NodePlan, WorkflowPlan } from './workflow-plan.ts';

/** A play of a workflow: whether it pauses, and where it notes what its nodes, models and tools do. */
export interface Play {
  /** False for a play in which questions have their answers at once, approvals are not needed, and results are not late. */
  readonly pauses: boolean;
  readonly note: (step: string) => void;
}

/** The result of a long-running tool. */
export const LATE_RESULT = { came: 'late' };

/** Builds the agent of a plan that the runner runs. */
export function buildWorkflow({ steps, maxConcurrency, runBy }: WorkflowPlan, play: Play): BaseAgent {
  const edges: EdgeItem[] = [];
  let last: NodeLike = 'START';
  for (const step of steps) {
    if (step.kind === 'node') {
      const built = buildNode(step.node, play);
      edges.push([last, built]);
      last = built;
    } else if (step.kind === 'fan') {
      const join = new JoinNode({ name: step.name });
      for (const line of step.lines) edges.push([last, ...buildAll(line, play), join]);
      last = join;
    } else {
      const body = buildAll(step.body, play);
      const [first = 'START'] = body;
      const again = roundCounter(step.name, step.times, play);
      const out = noteTaker(`${step.name}_out`, play);
      edges.push([last, ...body, again], [again, { again: first, out }]);
      last = out;
    }
  }
  edges.push([last, noteTaker('end', play)]);
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
  const workflow = new Workflow({
    name: 'flow',
    edges,
    maxConcurrency,
    ...(runBy === 'runner' ? {} : { description: 'Does the work.', inputSchema }),
  });
  if (runBy === 'runner') return workflow;
  const caller = new LlmAgent({ name: 'caller', model: new CallerModel(play), tools: [workflow] });
  return runBy === 'agent'
    ? caller
    : new Workflow({ name: 'outer', edges: [['START', caller, noteTaker('outer_end', play)]] });
}

const buildAll = (plans: readonly NodePlan[], play: Play): NodeLike[] => plans.map((plan) => buildNode(plan, play));

function buildNode(plan: NodePlan, play: Play): NodeLike {
  switch (plan.kind) {
    case 'function':
      return noteTaker(plan.name, play);
    case 'question':
      return question(plan, play);
    case 'agent':
      return buildAgent(plan.agent, play);
    case 'workflow':
      return new Workflow({ name: plan.name, edges: [['START', ...buildAll(plan.nodes, play)]] });
    case 'runNode': {
      const { name, times } = plan;
      const nodes = plan.nodes.map((each) => buildNode(each, play));
      const run = async (context: NodeContext, input: unknown): Promise<string> => {
        let value = input;
        for (let round = 0; round < times; round++)
          for (const each of nodes) if (each !== 'START') ({ output: value } = await context.runNode(each, value));
        play.note(`${name} got ${digest(value)}`);
        return `${name}:${digest(value)}`;
      };
      return node(run, { name, rerunOnResume: true });
    }
    case 'workers': {
      const { name, items, atOnce } = plan;
      const list = node(
        (_context: NodeContext, input: unknown) => Array.from({ length: items }, (_, at) => `${at}:${digest(input)}`),
        { name: `${name}_list` },
      );
      const worker = node(buildNode(plan.node, play), { parallelWorker: true, maxParallelWorkers: atOnce });
      return new Workflow({ name, edges: [['START', list, worker]] });
    }
  }
}

/** A node that notes its input. Its output depends on it. */
function noteTaker(name: string, { note }: Play) {
  return node(
    (_context: NodeContext, input: unknown) => {
      note(`${name} got ${digest(input)}`);
      return `${name}:${digest(input)}`;
    },
    { name },
  );
}

/** The last node of a loop: leads back until it ran so many times. */
function roundCounter(name: string, times: number, { note }: Play) {
  return node(
    (context: NodeContext, input: unknown) => {
      const round = Number(context.state.get(name) ?? 0) + 1;
      note(`${name} got ${digest(input)} in round ${round}`);
      context.state.set(name, round);
      return createEvent({ output: `${name}:${digest(input)}`, route: round < times ? 'again' : 'out' });
    },
    { name },
  );
}

/** A node that asks for its output. The message of its question is the answer. */
function question({ name, runsAgain }: Extract<NodePlan, { kind: 'question' }>, { pauses }: Play) {
  const ask = ({ resumeInputs }: NodeContext, input: unknown): unknown => {
    const message = `${name} after ${digest(input)}`;
    if (!pauses) return message;
    if (!runsAgain) return new RequestInput({ message });
    return resumeInputs[message] ?? new RequestInput({ interruptId: message, message });
  };
  return node(ask, { name, rerunOnResume: runsAgain });
}

function buildAgent(plan: AgentPlan, play: Play): BaseAgent {
  const { name } = plan;
  if (plan.kind === 'llm') return buildLlmAgent(plan, play);
  if (plan.kind === 'speaker') return new Speaker({ name });
  const subAgents = plan.agents.map((agent) => buildAgent(agent, play));
  switch (plan.kind) {
    case 'sequential':
      return new SequentialAgent({ name, subAgents });
    case 'parallel':
      return new ParallelAgent({ name, subAgents });
    case 'loop':
      return new LoopAgent({ name, subAgents, maxIterations: plan.times });
    case 'routed':
      return new RoutedAgent({ name, agents: subAgents, router: () => subAgents[0]?.name });
  }
}

class Speaker extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { name } = this;
    yield context.createEvent({ output: `${name} spoke`, content: { role: 'model', parts: [{ text: name }] } });
  }
}

function buildLlmAgent(plan: LlmPlan, play: Play): LlmAgent {
  const { name, mode, seesConversation, helper, calls, pausesFor } = plan;
  const parameters = { type: 'object', properties: { number: { type: 'number' } } };
  const options = { name: toolOf(plan), description: 'Works.', parameters };
  const tool =
    pausesFor === 'approval'
      ? new FunctionTool({
          ...options,
          requireConfirmation: play.pauses,
          execute: ({ number }: { number?: number }) => {
            play.note(`${name} runs ${number}`);
            return { ran: number };
          },
        })
      : play.pauses
        ? new LongRunningFunctionTool({ ...options, execute: () => undefined })
        : new FunctionTool({ ...options, execute: () => LATE_RESULT });
  return new LlmAgent({
    name,
    model: new PlannedModel(plan, play),
    tools: calls > 0 ? [tool] : [],
    subAgents: helper ? [buildLlmAgent(helper, play)] : [],
    ...(mode !== 'default' && { mode }),
    ...(seesConversation && { includeContents: 'default' }),
  });
}

const toolOf = ({ name }: LlmPlan): string => `use_${name}`;

/**
 * Hands a task to the helper, if there is one, then calls the tool of the agent, and then answers. Selects its reply by
 * the newest content that is not of another agent, because agents side by side may speak in between.
 */
class PlannedModel extends BaseLlm {
  readonly #plan: LlmPlan;
  readonly #play: Play;

  constructor(plan: LlmPlan, play: Play) {
    super({ model: 'planned' });
    this.#plan = plan;
    this.#play = play;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const { name, mode, helper, calls } = this.#plan;
    const tool = toolOf(this.#plan);
    const newest = contents.findLast(({ parts }) => parts?.[0]?.text !== 'For context:');
    const responses = newest?.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
    const own = responses.filter((response) => response.name === tool || response.name === helper?.name);
    if (own.length > 0) this.#play.note(`${name} reads ${JSON.stringify(own.map(({ response }) => response))}`);
    const [called] = own.map((response) => response.name);
    if (helper && called === undefined) return yield* reply([[helper.name, { request: 'Help.' }]]);
    if (calls > 0 && called !== tool)
      return yield* reply(Array.from({ length: calls }, (_, number) => [tool, { number }]));
    if (mode === 'task') return yield* reply([['finish_task', { result: `${name} is done` }]]);
    yield { content: { role: 'model', parts: [{ text: `${name} is done` }] } };
  }
}

/** Calls the workflow, and answers with its result. */
class CallerModel extends BaseLlm {
  readonly #play: Play;

  constructor(play: Play) {
    super({ model: 'caller' });
    this.#play = play;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const [result] = contents.at(-1)?.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
    if (!result) return yield* reply([['flow', { text: 'Go' }]]);
    this.#play.note(`caller reads ${digest(result.response)}`);
    yield { content: { role: 'model', parts: [{ text: `caller read ${digest(result.response)}` }] } };
  }
}

async function* reply(calls: [name: string, args: Record<string, unknown>][]): AsyncGenerator<LlmResponse, void, void> {
  yield { content: { role: 'model', parts: calls.map(([name, args]) => ({ functionCall: { name, args } })) } };
}

/** A short text that is another one for another value. */
function digest(value: unknown): string {
  let hash = 7;
  for (const char of JSON.stringify(value ?? null)) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
  return hash.toString(36);
}
