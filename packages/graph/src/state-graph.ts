import { type BaseAgent, type BaseTool, ConfigurationError } from '@eventloom/core';
import { describeKind, isRecord, isBaseAgent, isBaseTool } from '@eventloom/core/internal';
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
import { type DEFAULT_ROUTE, END, quoted, START } from './names.ts';
import type { NodeContext } from './node-context.ts';

/** The options of a function node, with the channels that it writes and the schemas as type parameters. */
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
/** The type of a new node's name: a literal that no other node has. Any string in a graph of `AnyNodes`. */
type NewName<Name extends string, N> = string extends keyof N
  ? Name
  : string extends Name
    ? 'a literal; where names are made up as the program runs, `new StateGraph<Channels, AnyNodes>`'
    : Name extends keyof N
      ? 'a name that no other node has'
      : Name;
/** The text of the compiler about wrong options of a node. */
type WrongOptions =
  'options of a node: inputSchema and outputSchema of its types, retry, timeoutMs; of a function also writes: [names of channels]';
/** The result type of a router. */
type RouteOf<R extends string> = NoInfer<typeof DEFAULT_ROUTE extends R ? string : R>;

/** The node names of a graph that is built in a loop: `new StateGraph<Channels, AnyNodes>(…)`. Only `compile` checks these names. */
export type AnyNodes = Record<string, unknown>;
type Targets<T> = T | readonly T[];

/** The edges from one node, while the graph is built. */
interface OpenWay {
  readonly targets: string[];
  routes: Map<string, readonly string[]> | undefined;
  router: Router | undefined;
}

/**
 * Builds a graph agent: add the nodes, then the edges between them, then call `compile`, which checks the graph and returns the agent. The
 * TypeScript compiler checks the names of nodes, the types of their outputs, and the channels.
 *
 * @example
 * const graph = new StateGraph({ name: 'shout' })
 *   .addNode('upper', (text: string) => text.toUpperCase())
 *   .addEdge(START, 'upper')
 *   .addEdge('upper', END)
 *   .compile();
 */
export class StateGraph<
  C extends Channels = Record<never, never>,
  N extends Record<string, unknown> = Record<never, never>,
> {
  readonly #config: StateGraphConfig<C>;
  readonly #nodes = new Map<string, GraphNode>();
  readonly #ways = new Map<string, OpenWay>();

  /** @throws ConfigurationError for an invalid channel, and for an option name that this version does not know */
  constructor(config: StateGraphConfig<C>) {
    checkGraphOptions(config);
    this.#config = config;
  }

  /**
   * Adds a node: a name with a function, an agent (an LLM agent or another graph, for example) or a tool; or a node
   * that `node` created, which already has a name.
   * @throws ConfigurationError for a name that another node has, an invalid name, and invalid options; the message names the node
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
  /** Matches nothing: the compiler's message for wrong options is about the last signature. */
  addNode<Name extends string>(
    name: NewName<Name, N>,
    work: BaseAgent | BaseTool | NodeFunction,
    options: WrongOptions,
  ): never;
  addNode(first: string | GraphNode, second?: unknown, third?: unknown): unknown {
    if (isBaseAgent(first) || isBaseTool(first))
      this.#fail(`addNode: a node needs a name as the first argument; write addNode('${first.name}', …)`);
    // The overloads guarantee that these arguments belong together.
    if (!isGraphNode(first)) return this.#add(createNode(first, second as NodeWork, third as NodeOptions | undefined));
    if (second !== undefined)
      this.#fail(`"${first.name}" is a node already and takes no options in addNode; give the options to \`node\``);
    return this.#add(first);
  }

  /**
   * Adds a node that waits for all nodes that have an edge to it. Its input is an object of their outputs by node name;
   * the graph's input, if an edge leads from `START`, is under `[START]`. When nothing else is left to run, the join
   * stops waiting for nodes that no route led to.
   * @param work computes the output; without it the output is the input
   * @throws ConfigurationError as `addNode` does
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

  /**
   * Adds an edge: when the node `from` is done, the node `to` runs with its output. A list of targets runs them concurrently.
   * @throws ConfigurationError for an edge that exists already
   */
  addEdge(from: Names<N> | typeof START, to: Targets<Names<N> | typeof END>): this {
    const way = this.#wayOf(from);
    for (const target of this.#targets(from, to)) {
      this.#checkEnds(from, target);
      if (way.targets.includes(target))
        this.#fail(`an edge from "${from}" to "${target}" exists already; remove one of them`);
      way.targets.push(target);
    }
    return this;
  }

  /**
   * Adds routes that a router chooses. The router gets the node's output and returns the name of one route, or a list
   * of names. It is called once, when the node is done, and its result is stored. An unknown route fails the node,
   * unless there is a `DEFAULT_ROUTE`.
   * @param routes the target, or list of targets, of each route by its name
   * @throws ConfigurationError if the node already has routes, and for an empty set of routes
   */
  addConditionalEdges<From extends Names<N> | typeof START, const R extends string>(
    from: From,
    router: (
      output: From extends keyof N ? N[From] : unknown,
      context: RouterContext<ChannelValues<C>>,
    ) => RouteOf<R> | readonly RouteOf<R>[] | Promise<RouteOf<R> | readonly RouteOf<R>[]>,
    routes: Readonly<Record<R, Targets<Names<N> | typeof END>>>,
  ): this {
    if (typeof router !== 'function')
      this.#fail(
        `router of "${from}": expected a function, got ${describeKind(router)}; write addConditionalEdges('${from}', (output) => 'again', { again: 'draft' })`,
      );
    return this.#addRoutes(from, routes, router as Router);
  }

  /**
   * Adds routes like `addConditionalEdges` does, but the node's function chooses the route: `context.route = 'again'`.
   * A function that sets no route, and a node without a function, take the `DEFAULT_ROUTE`.
   * @throws ConfigurationError as `addConditionalEdges` does
   */
  addRoutes(from: Names<N>, routes: Readonly<Record<string, Targets<Names<N> | typeof END>>>): this {
    return this.#addRoutes(from, routes, undefined);
  }

  /**
   * Checks the graph and returns it as an agent. Later changes of the builder do not affect the agent.
   * @throws ConfigurationError for nodes that cannot be reached from START or cannot reach END, edges to or from
   * unknown nodes, cycles without a route that leaves them, joins with fewer than two sources, and two nodes that write
   * a channel without a reducer; the message names the node
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
    if (this.#nodes.has(node.name)) this.#fail(`two nodes have the name "${node.name}"; give one of them another name`);
    this.#nodes.set(node.name, node);
    return this;
  }

  #addRoutes(from: string, routes: Readonly<Record<string, Targets<string>>>, router: Router | undefined): this {
    if (from === START && !router) this.#fail('START has no function that sets a route; use addConditionalEdges');
    const way = this.#wayOf(from);
    if (way.routes) this.#fail(`${quoted(from)} has routes already; write all routes in one call`);
    if (!isRecord(routes))
      this.#fail(
        `routes of ${quoted(from)}: expected an object of route names and targets, got ${describeKind(routes)}; write { again: 'draft' }`,
      );
    const entries = Object.entries(routes).map(([route, to]): [string, readonly string[]] => [
      route,
      this.#targets(from, to),
    ]);
    if (entries.length === 0)
      this.#fail(`routes of ${quoted(from)}: expected at least one route, got none; write { again: 'draft' }`);
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
      this.#fail(
        `target of an edge from ${quoted(from)}: expected the name of a node or a list of names, got ${Array.isArray(to) && to.length === 0 ? 'an empty list' : describeKind(targets.find((target) => typeof target !== 'string'))}; write addEdge(${quoted(from, "'")}, 'draft')`,
      );
    const twice = targets.find((target, index) => targets.indexOf(target) !== index);
    if (twice !== undefined) this.#fail(`${quoted(from)} leads to ${quoted(twice)} twice; remove one of them`);
    return targets;
  }

  #checkEnds(from: string, to: string): void {
    if (from === END) this.#fail(`an edge cannot start at END, but the one to ${quoted(to)} does; remove it`);
    if (to === START)
      this.#fail(`an edge cannot lead to START, but the one from ${quoted(from)} does; lead it to the first node`);
  }

  #fail(fault: string): never {
    throw new ConfigurationError(`graph "${this.#config.name}": ${fault}`);
  }
}
