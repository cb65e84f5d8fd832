import { type BaseAgent, type BaseTool, ConfigurationError, isBaseAgent, isBaseTool } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { type InferSchema, type SchemaLike, ValueSchema } from '@eventloom/tools';
import type { ChannelUpdates, Channels, ChannelValues } from './channel.ts';
import { checkGraph } from './check-graph.ts';
import { GraphAgent } from './graph-agent.ts';
import { checkCompileOptions, checkGraphOptions, type CompileOptions, type StateGraphConfig } from './graph-options.ts';
import {
  createNode,
  type GraphNode,
  isGraphNode,
  type NodeFunction,
  type NodeOptions,
  type NodeWork,
  passOn,
} from './graph-node.ts';
import { type GraphPlan, type Router, type RouterContext, sourcesOf, type Way } from './graph-plan.ts';
import { type DEFAULT_ROUTE, END, START } from './names.ts';
import type { NodeContext } from './node-context.ts';

/** The options of a node with a function, typed by what the function gets to see. */
type FunctionNodeOptions<C, W extends keyof C, InS, OutS> = Omit<
  NodeOptions,
  'writes' | 'inputSchema' | 'outputSchema'
> & {
  readonly writes?: readonly W[];
  readonly inputSchema?: InS;
  readonly outputSchema?: OutS;
};
type Given<S, Else> = S extends SchemaLike ? InferSchema<S> : Else;
type Names<N> = keyof N & string;
/** The name that a node is added with: a literal that no other node has, in a graph whose names the compiler knows. */
type NewName<Name extends string, N> = string extends keyof N
  ? Name
  : string extends Name
    ? 'a literal; where names are made up as the program runs, `new StateGraph<Channels, AnyNodes>`'
    : Name extends keyof N
      ? 'a name that no other node has'
      : Name;
/** The result type of a router. */
type RouteOf<R extends string> = NoInfer<typeof DEFAULT_ROUTE extends R ? string : R>;

/** The nodes of a graph that is built in a loop: `new StateGraph<Channels, AnyNodes>(…)`. Their names are checked by `compile` alone. */
export type AnyNodes = Record<string, unknown>;
type Targets<T> = T | readonly T[];

/** A way under construction. */
interface OpenWay {
  readonly targets: string[];
  routes: Map<string, readonly string[]> | undefined;
  router: Router | undefined;
}

/**
 * Builds a graph: nodes first, then the edges between them, then `compile`, which checks the whole and gives an agent. The compiler knows
 * the names of the nodes, what they give, and the channels.
 */
export class StateGraph<
  C extends Channels = Record<never, never>,
  N extends Record<string, unknown> = Record<never, never>,
> {
  readonly #config: StateGraphConfig<C>;
  readonly #nodes = new Map<string, GraphNode>();
  readonly #ways = new Map<string, OpenWay>();

  /** @throws ConfigurationError for an option this version does not have */
  constructor(config: StateGraphConfig<C>) {
    checkGraphOptions(config);
    this.#config = config;
  }

  /**
   * Adds a node by a name of its own: a function, an agent (an LLM agent, another graph), or a tool. What `node` made has its name.
   * @throws ConfigurationError, naming the node, for a name that is taken and for what cannot work
   */
  addNode<
    Name extends string,
    W extends keyof C = never,
    const InS = undefined,
    const OutS = undefined,
    In = Given<InS, unknown>,
    Out = unknown,
  >(
    name: NewName<Name, N>,
    work: NodeFunction<In, Out, NodeContext<ChannelValues<C>, ChannelUpdates<C, W>>>,
    options?: FunctionNodeOptions<C, W, InS, OutS>,
  ): StateGraph<C, N & Record<Name, Given<OutS, Awaited<Out>>>>;
  addNode<Name extends string, const OutS = undefined>(
    name: NewName<Name, N>,
    work: BaseAgent | BaseTool,
    options?: Omit<NodeOptions, 'writes' | 'outputSchema'> & { readonly outputSchema?: OutS },
  ): StateGraph<C, N & Record<Name, Given<OutS, unknown>>>;
  addNode<Name extends string, Input, Output>(
    node: GraphNode<Input, Output, Name> & { readonly name: NewName<Name, N> },
  ): StateGraph<C, N & Record<Name, Output>>;
  addNode(first: string | GraphNode, second?: unknown, third?: unknown): unknown {
    if (isBaseAgent(first) || isBaseTool(first))
      this.#fail(`a node has a name of its own: addNode('${first.name}', …)`);
    // The overloads say what goes with what.
    if (!isGraphNode(first)) return this.#add(createNode(first, second as NodeWork, third as NodeOptions | undefined));
    if (second !== undefined) this.#fail(`"${first.name}" is a node already; give its options to \`node\``);
    return this.#add(first);
  }

  /**
   * Adds a node that waits for all nodes that have an edge to it, and is given what they gave by their names. Those that no route led to are
   * not waited for any longer when nothing else is left to run. What comes from `START` is there as `[START]`. Without a function it gives
   * what it is given.
   * @throws ConfigurationError as `addNode`
   */
  addJoin<
    Name extends string,
    W extends keyof C = never,
    const OutS = undefined,
    Out = Readonly<Record<string, unknown>>,
  >(
    name: NewName<Name, N>,
    work?: NodeFunction<Readonly<Record<string, unknown>>, Out, NodeContext<ChannelValues<C>, ChannelUpdates<C, W>>>,
    options?: FunctionNodeOptions<C, W, undefined, OutS>,
  ): StateGraph<C, N & Record<Name, Given<OutS, Awaited<Out>>>> {
    const node = createNode(name, (work ?? passOn) as NodeWork, options as NodeOptions | undefined, true);
    return this.#add(node) as unknown as StateGraph<C, N & Record<Name, Given<OutS, Awaited<Out>>>>;
  }

  /** Goes on from one node with another, or with several at once. @throws ConfigurationError for an edge that is there already */
  addEdge(from: Names<N> | typeof START, to: Targets<Names<N> | typeof END>): this {
    const way = this.#wayOf(from);
    for (const target of this.#targets(from, to)) {
      this.#checkEnds(from, target);
      if (way.targets.includes(target)) this.#fail(`there is an edge from "${from}" to "${target}" already`);
      way.targets.push(target);
    }
    return this;
  }

  /**
   * Continues after a node with the routes that a router returns, one or several. The router is called once, when the
   * node has finished, and its result is stored. An unknown route is a failure of the node, unless there is a
   * `DEFAULT_ROUTE`.
   * @throws ConfigurationError if the node has routes already, and for an empty set of routes
   */
  addConditionalEdges<From extends Names<N> | typeof START, const R extends string>(
    from: From,
    router: (
      output: From extends keyof N ? N[From] : unknown,
      context: RouterContext<ChannelValues<C>>,
    ) => RouteOf<R> | readonly RouteOf<R>[] | Promise<RouteOf<R> | readonly RouteOf<R>[]>,
    routes: Readonly<Record<R, Targets<Names<N> | typeof END>>>,
  ): this {
    if (typeof router !== 'function') this.#fail(`the router of "${from}" must be a function`);
    return this.#addRoutes(from, routes, router as Router);
  }

  /**
   * Adds routes like `addConditionalEdges`, chosen by the node's function: `context.route = 'again'`. A function that
   * sets no route, and a node without a function, take the `DEFAULT_ROUTE`.
   */
  addRoutes(from: Names<N>, routes: Readonly<Record<string, Targets<Names<N> | typeof END>>>): this {
    return this.#addRoutes(from, routes, undefined);
  }

  /**
   * The graph as an agent. The builder may go on to be used: what is compiled does not change.
   * @throws ConfigurationError that names the node, for nodes that cannot be reached or have no way to END, edges to or from nodes that do not
   * exist, cycles that no route leads out of, joins of less than two nodes, and two nodes that write a channel without a reducer
   */
  compile(options: CompileOptions = {}): GraphAgent {
    const { channels = {}, inputSchema, outputSchema, ...agentConfig } = this.#config;
    const { name } = agentConfig;
    checkCompileOptions(name, options);
    const { maxSteps = 100, maxConcurrency, nodeLifecycleEvents = false } = options;
    const ways = new Map(
      [...this.#ways].map(([from, way]): [string, Way] => [from, { ...way, targets: [...way.targets] }]),
    );
    const plan: GraphPlan = {
      name,
      nodes: new Map(this.#nodes),
      ways,
      sources: sourcesOf(ways),
      channels: new Map(Object.entries(channels)),
      maxSteps,
      maxConcurrency: maxConcurrency ?? Infinity,
    };
    checkGraph(plan);
    const schema = (given: SchemaLike | undefined, what: string): ValueSchema | undefined =>
      given && new ValueSchema(given, `graph "${name}": ${what}`);
    const checks = { input: schema(inputSchema, 'inputSchema'), output: schema(outputSchema, 'outputSchema') };
    return new GraphAgent({ ...agentConfig, plan, inputSchema, checks, nodeLifecycleEvents });
  }

  #add(node: GraphNode): this {
    if (this.#nodes.has(node.name)) this.#fail(`two nodes have the name "${node.name}"; names are unique`);
    this.#nodes.set(node.name, node);
    return this;
  }

  #addRoutes(from: string, routes: Readonly<Record<string, Targets<string>>>, router: Router | undefined): this {
    if (from === START && !router) this.#fail('START has no function that sets a route; use addConditionalEdges');
    const way = this.#wayOf(from);
    if (way.routes) this.#fail(`"${from}" has routes already`);
    if (!isRecord(routes))
      this.#fail(`the routes of "${from}" must be an object: by the name of a route, where it leads`);
    const entries = Object.entries(routes).map(([route, to]): [string, readonly string[]] => [
      route,
      this.#targets(from, to),
    ]);
    if (entries.length === 0) this.#fail(`"${from}" has no routes`);
    for (const [, targets] of entries) for (const target of targets) this.#checkEnds(from, target);
    way.routes = new Map(entries);
    way.router = router;
    return this;
  }

  #wayOf(from: string): OpenWay {
    let way = this.#ways.get(from);
    if (!way) this.#ways.set(from, (way = { targets: [], routes: undefined, router: undefined }));
    return way;
  }

  #targets(from: string, to: Targets<string>): readonly string[] {
    const targets: readonly string[] = Array.isArray(to) ? [...to] : [to];
    if (targets.length === 0 || targets.some((target) => typeof target !== 'string'))
      this.#fail(`what "${from}" leads to must be the name of a node, or a list of names`);
    const twice = targets.find((target, index) => targets.indexOf(target) !== index);
    if (twice !== undefined) this.#fail(`"${from}" leads to "${twice}" twice`);
    return targets;
  }

  #checkEnds(from: string, to: string): void {
    if (from === END) this.#fail(`no edge leads on from END, to "${to}" neither`);
    if (to === START) this.#fail(`no edge leads back to START, from "${from}" neither`);
  }

  #fail(fault: string): never {
    throw new ConfigurationError(`graph "${this.#config.name}": ${fault}`);
  }
}
