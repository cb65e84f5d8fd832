import type { SeededRandom } from '../nemesis/seeded-random.ts';

/** A tool of a generated agent. Tools that ask or wait do so until their answer comes. */
export type ToolPlan =
  | { readonly kind: 'work'; readonly name: string; readonly idempotent: boolean }
  /** Works for so long, and with `isDeaf` also after the abort of its run. */
  | { readonly kind: 'slow'; readonly name: string; readonly ms: number; readonly isDeaf: boolean }
  | { readonly kind: 'fail'; readonly name: string }
  /** A long-running tool; with `hasStatus` it responds with a status at once. */
  | { readonly kind: 'wait'; readonly name: string; readonly hasStatus: boolean }
  /** Needs an approval. */
  | { readonly kind: 'pay'; readonly name: string }
  /** Asks for an approval by itself. */
  | { readonly kind: 'confirm'; readonly name: string }
  /** Asks for one or two inputs. */
  | { readonly kind: 'input'; readonly name: string; readonly inputs: number }
  | { readonly kind: 'escalate'; readonly name: string }
  | { readonly kind: 'endInvocation'; readonly name: string }
  | { readonly kind: 'agent'; readonly name: string; readonly agent: AgentPlan; readonly streamInner: boolean };

/** A model's reply with calls of these tools; a transfer names its agent. */
export type ReplyPlan = readonly { readonly tool: string; readonly transferTo?: string }[];

export interface NodePlan {
  readonly name: string;
  readonly timeoutMs: number | undefined;
  readonly attempts: number;
  readonly work:
    | { readonly kind: 'agent'; readonly agent: AgentPlan }
    | { readonly kind: 'tool'; readonly tool: ToolPlan }
    | { readonly kind: 'ask' }
    | { readonly kind: 'fail'; readonly ms: number; readonly isOnce: boolean }
    /** A function that runs agents, at once or one after the other, and may ask and take its time. */
    | {
        readonly kind: 'function';
        readonly agents: readonly AgentPlan[];
        readonly isTogether: boolean;
        readonly asks: boolean;
        readonly ms: number;
        readonly catchesErrors: boolean;
      };
}

/** A tree of agents as plain data, from which each process of a play builds the same agents. */
export type AgentPlan =
  | {
      readonly kind: 'llm';
      readonly name: string;
      readonly tools: readonly ToolPlan[];
      readonly replies: readonly ReplyPlan[];
      readonly subAgents: readonly AgentPlan[];
      /** The time until the model replies. */
      readonly ms: number;
      /** The number of the reply at which the model fails, once. */
      readonly failsAt: number | undefined;
    }
  | { readonly kind: 'sequential' | 'loop'; readonly name: string; readonly subAgents: readonly AgentPlan[] }
  | {
      readonly kind: 'parallel';
      readonly name: string;
      readonly subAgents: readonly AgentPlan[];
      readonly maxConcurrency: number | undefined;
    }
  | { readonly kind: 'speaks' | 'asks' | 'ends'; readonly name: string }
  /** Fails after some events and some time. */
  | {
      readonly kind: 'fails';
      readonly name: string;
      readonly events: number;
      readonly ms: number;
      readonly isOnce: boolean;
    }
  | {
      readonly kind: 'graph';
      readonly name: string;
      readonly nodes: readonly NodePlan[];
      readonly isLine: boolean;
      readonly maxConcurrency: number | undefined;
    };

/** Generates a tree of at most about 12 agents. */
export function generateAgent(random: SeededRandom): AgentPlan {
  let names = 0;
  let budget = random.between(4, 12);
  const chance = (share: number): boolean => random.next() < share;
  const name = (kind: string): string => `${kind}${++names}`;
  const several = <T>(make: () => T): T[] => Array.from({ length: random.between(1, 3) }, make);

  const agent = (depth: number): AgentPlan => {
    if (--budget <= 0 || depth <= 0) return leaf();
    const kind = random.next();
    const subAgents = (): AgentPlan[] => several(() => agent(depth - 1));
    if (kind < 0.42) return llm(depth);
    if (kind < 0.52) return { kind: 'sequential', name: name('sequential'), subAgents: subAgents() };
    if (kind < 0.7)
      return {
        kind: 'parallel',
        name: name('parallel'),
        subAgents: subAgents(),
        maxConcurrency: chance(0.15) ? 1 : undefined,
      };
    if (kind < 0.75) return { kind: 'loop', name: name('loop'), subAgents: subAgents() };
    if (kind < 0.93) return graph(depth);
    return leaf();
  };
  const leaf = (): AgentPlan => {
    const kind = random.next();
    if (kind < 0.55) return llm(0);
    if (kind < 0.72)
      return {
        kind: 'fails',
        name: name('fails'),
        events: random.between(0, 11),
        ms: random.pick([0, 0, 100, 400, 1500]),
        isOnce: chance(0.4),
      };
    if (kind < 0.76) return { kind: 'ends', name: name('ends') };
    if (kind < 0.88) return { kind: 'speaks', name: name('speaks') };
    return { kind: 'asks', name: name('asks') };
  };
  const llm = (depth: number): AgentPlan => {
    const own = name('llm');
    const tools = several(() => tool(depth));
    const replies: ReplyPlan[] = Array.from({ length: random.between(1, 2) }, () =>
      several(() => ({ tool: random.pick(tools).name })),
    );
    const subAgents = depth > 0 && budget > 0 && chance(0.12) ? [agent(depth - 1)] : [];
    for (const each of subAgents) replies.push([{ tool: 'transfer_to_agent', transferTo: each.name }]);
    const ms = random.pick([0, 0, 0, 50, 200, 700]);
    return {
      kind: 'llm',
      name: own,
      tools,
      replies,
      subAgents,
      ms,
      failsAt: chance(0.05) ? random.between(0, 2) : undefined,
    };
  };
  const tool = (depth: number): ToolPlan => {
    if (depth <= 0 || budget <= 0 || chance(0.55)) return leafTool();
    const inner = agent(depth - 1);
    return { kind: 'agent', name: inner.name, agent: inner, streamInner: chance(0.35) };
  };
  const leafTool = (): ToolPlan => {
    const kind = random.next();
    if (kind < 0.2) return { kind: 'work', name: name('work'), idempotent: chance(0.3) };
    if (kind < 0.36)
      return { kind: 'slow', name: name('slow'), ms: random.pick([100, 300, 900, 3000]), isDeaf: chance(0.4) };
    if (kind < 0.41) return { kind: 'fail', name: name('fail') };
    if (kind < 0.6) return { kind: 'wait', name: name('wait'), hasStatus: chance(0.3) };
    if (kind < 0.76) return { kind: 'pay', name: name('pay') };
    if (kind < 0.83) return { kind: 'confirm', name: name('confirm') };
    if (kind < 0.94) return { kind: 'input', name: name('input'), inputs: random.between(1, 2) };
    if (kind < 0.97) return { kind: 'endInvocation', name: name('endInvocation') };
    return { kind: 'escalate', name: name('escalate') };
  };
  const graph = (depth: number): AgentPlan => {
    const nodes = several((): NodePlan => {
      const own = name('node');
      return {
        name: own,
        timeoutMs: chance(0.4) ? random.pick([200, 500, 1000, 2500]) : undefined,
        attempts: chance(0.4) ? random.between(2, 3) : 1,
        work: work(depth),
      };
    });
    return {
      kind: 'graph',
      name: name('graph'),
      nodes,
      isLine: chance(0.5),
      maxConcurrency: chance(0.2) ? 1 : undefined,
    };
  };
  const work = (depth: number): NodePlan['work'] => {
    const kind = random.next();
    if (kind < 0.4) return { kind: 'agent', agent: agent(depth - 1) };
    if (kind < 0.52) return { kind: 'tool', tool: leafTool() };
    if (kind < 0.62) return { kind: 'ask' };
    if (kind < 0.7) return { kind: 'fail', ms: random.pick([0, 100, 600]), isOnce: chance(0.5) };
    return {
      kind: 'function',
      agents: several(() => agent(depth - 1)),
      isTogether: chance(0.6),
      asks: chance(0.25),
      ms: random.pick([0, 0, 400, 3000]),
      catchesErrors: chance(0.4),
    };
  };
  return agent(4);
}
