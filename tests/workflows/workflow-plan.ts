import type { SeededRandom } from '../nemesis/seeded-random.ts';

export type LlmPlan = {
  readonly kind: 'llm';
  readonly name: string;
  readonly mode: 'default' | 'task' | 'single_turn';
  /** True for an agent with `includeContents: 'default'`. */
  readonly seesConversation: boolean;
  /** Number of calls of the agent's tool in its only reply with calls. */
  readonly calls: number;
  /** A call pauses for an approval, or for a result that comes later. */
  readonly pausesFor: 'approval' | 'result';
  /** A sub-agent with a mode, which gets a task before the agent calls its tool. */
  readonly helper: LlmPlan | undefined;
};

export type AgentPlan =
  | LlmPlan
  /** An agent without a model, which yields an output. */
  | { readonly kind: 'speaker'; readonly name: string }
  | {
      readonly kind: 'sequential' | 'parallel' | 'routed';
      readonly name: string;
      readonly agents: readonly AgentPlan[];
    }
  | { readonly kind: 'loop'; readonly name: string; readonly times: number; readonly agents: readonly AgentPlan[] };

export type NodePlan =
  | { readonly kind: 'function'; readonly name: string }
  /** Asks for its output. With `runsAgain` it runs again after the answer; otherwise the answer is its output. */
  | { readonly kind: 'question'; readonly name: string; readonly runsAgain: boolean }
  | { readonly kind: 'agent'; readonly agent: AgentPlan }
  | { readonly kind: 'workflow'; readonly name: string; readonly nodes: readonly NodePlan[] }
  /** Runs the nodes so many times with `context.runNode`, each with the output of the one before. */
  | { readonly kind: 'runNode'; readonly name: string; readonly nodes: readonly NodePlan[]; readonly times: number }
  /** Makes a list of so many items, and runs the node for each of them. */
  | {
      readonly kind: 'workers';
      readonly name: string;
      readonly node: NodePlan;
      readonly items: number;
      readonly atOnce: number;
    };

/** A part of the outermost workflow. Each begins where the one before ends. */
export type StepPlan =
  | { readonly kind: 'node'; readonly node: NodePlan }
  | { readonly kind: 'fan'; readonly name: string; readonly lines: readonly (readonly NodePlan[])[] }
  | { readonly kind: 'loop'; readonly name: string; readonly times: number; readonly body: readonly NodePlan[] };

/** A workflow as plain data, from which it is built with and without pauses. */
export interface WorkflowPlan {
  readonly steps: readonly StepPlan[];
  readonly maxConcurrency: number | undefined;
  /** The runner runs the workflow, an agent that calls it as a tool, or a workflow with such an agent in a node. */
  readonly runBy: 'runner' | 'agent' | 'agent in a node';
}

/** The maximum number of runs of one node or agent in a play. */
const MOST_RUNS = 6;

/** Generates a workflow of at most about 15 nodes and agents. */
export function generateWorkflow(random: SeededRandom): WorkflowPlan {
  let names = 0;
  let budget = random.between(5, 15);
  let runs = 1;
  const chance = (share: number): boolean => random.next() < share;
  const name = (kind: string): string => `${kind}${++names}`;
  const several = <T>(most: number, make: () => T): T[] => Array.from({ length: random.between(1, most) }, make);
  /** Makes something that runs several times within what is made now. */
  const repeated = <T>(most: number, make: (times: number) => T): T => {
    const times = random.between(1, Math.max(1, Math.min(most, Math.floor(MOST_RUNS / runs))));
    runs *= times;
    const made = make(times);
    runs /= times;
    return made;
  };

  const llm = (takesHelper = true): LlmPlan => {
    budget--;
    const own = name('llm');
    const helper = takesHelper && chance(0.15) ? llm(false) : undefined;
    return {
      kind: 'llm',
      name: own,
      mode: random.pick(['default', 'default', 'single_turn', 'task']),
      seesConversation: chance(0.25),
      calls: random.between(0, 2),
      pausesFor: chance(0.7) ? 'approval' : 'result',
      helper: helper && { ...helper, mode: random.pick(['single_turn', 'task']) },
    };
  };
  const agent = (depth: number): AgentPlan => {
    if (chance(0.1)) return { kind: 'speaker', name: name('speaker') };
    if (depth <= 0 || budget <= 0 || chance(0.4)) return llm();
    const kind = random.pick(['sequential', 'sequential', 'parallel', 'loop', 'routed'] as const);
    const agents = (): AgentPlan[] => several(3, () => agent(depth - 1));
    if (kind !== 'loop') return { kind, name: name(kind), agents: agents() };
    return repeated(2, (times) => ({ kind, name: name(kind), times, agents: agents() }));
  };
  const simple = (): NodePlan => {
    budget--;
    if (chance(0.4)) return { kind: 'function', name: name('function') };
    return { kind: 'question', name: name('question'), runsAgain: chance(0.4) };
  };
  const node = (depth: number): NodePlan => {
    const kind = random.next();
    if (kind < 0.5) return { kind: 'agent', agent: agent(2) };
    if (kind < 0.75 || depth <= 0 || budget <= 0) return simple();
    const nodes = (): NodePlan[] => several(3, () => node(depth - 1));
    if (kind < 0.84) return { kind: 'workflow', name: name('workflow'), nodes: nodes() };
    if (kind < 0.92) return repeated(2, (times) => ({ kind: 'runNode', name: name('runNode'), nodes: nodes(), times }));
    return repeated(3, (items) => {
      const own = name('workers');
      return { kind: 'workers', name: own, node: node(depth - 1), items, atOnce: random.between(1, 3) };
    });
  };
  const step = (): StepPlan => {
    const kind = random.next();
    const line = (): NodePlan[] => several(2, () => node(1));
    if (kind < 0.3)
      return { kind: 'fan', name: name('join'), lines: [line(), line(), ...(chance(0.3) ? [line()] : [])] };
    if (kind < 0.5) return repeated(3, (times) => ({ kind: 'loop', name: name('again'), times, body: line() }));
    return { kind: 'node', node: node(2) };
  };
  const steps = several(4, step);
  return {
    steps,
    maxConcurrency: chance(0.2) ? 1 : undefined,
    runBy: random.pick(['runner', 'runner', 'runner', 'agent', 'agent in a node']),
  };
}
