import { ConfigurationError } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { requireArgument } from '../check-arguments.ts';
import { describeNodeOrKind, isBaseNode, START, type BaseNode } from './base-node.ts';
import { buildNode, isNodeLike, type NodeLike } from './build-node.ts';
import type { RouteValue } from './node-context.ts';

/** The route of a `Workflow` of programs that were written for `@google/adk` that is taken when no other one matches. */
export const DEFAULT_ROUTE = '__DEFAULT__';

/** Nodes by the route that leads to them. Several nodes of one route run at the same time. */
export type RoutingMap = Record<string | number, NodeLike | readonly NodeLike[]>;

/** A part of a chain: a node, several nodes that run at the same time, or routes. */
export type ChainElement = NodeLike | readonly NodeLike[] | Readonly<RoutingMap>;

/** An edge, or a chain of nodes such as `['START', first, second]`. */
export type EdgeItem = Edge | readonly ChainElement[];

/** A directed edge. Without a route it is always followed. */
export class Edge {
  readonly fromNode: BaseNode;
  readonly toNode: BaseNode;
  readonly route: RouteValue | readonly RouteValue[] | null;

  /** @throws ConfigurationError for a value that is not a node */
  constructor(fromNode: BaseNode, toNode: BaseNode, route: RouteValue | readonly RouteValue[] | null = null) {
    for (const each of [fromNode, toNode])
      requireArgument(isBaseNode(each), 'Edge', 'two nodes', each, 'new Edge(START, node(work))');
    this.fromNode = fromNode;
    this.toNode = toNode;
    this.route = route;
  }

  get '~eventloom.adk-edge'(): true {
    return true;
  }
}

/** The nodes and edges of a workflow. */
export class Graph {
  readonly nodes: readonly BaseNode[];
  readonly edges: readonly Edge[];
  #terminalNodeNames: ReadonlySet<string> = new Set();

  /** @throws ConfigurationError for a value that is not a list of edges */
  constructor(edges: readonly Edge[]) {
    const isList = Array.isArray(edges) && edges.every(isRecord);
    requireArgument(isList, 'Graph', 'a list of edges', edges, 'new Graph([new Edge(START, first)])');
    this.edges = edges;
    this.nodes = [...new Set(edges.flatMap(({ fromNode, toNode }) => [fromNode, toNode]))];
  }

  /** Names of the nodes without an edge to another one. Filled by `validate`. */
  get terminalNodeNames(): ReadonlySet<string> {
    return this.#terminalNodeNames;
  }

  /** Returns the names of the nodes that follow a node with these routes. */
  getNextPendingNodes(nodeName: string, routes: RouteValue | readonly RouteValue[] | null | undefined): string[] {
    const taken = new Set(toList(routes).map(String));
    const next: string[] = [];
    let isRouted = false;
    let fallback: string | undefined;
    for (const { fromNode, toNode, route } of this.edges) {
      if (fromNode.name !== nodeName) continue;
      if (route === DEFAULT_ROUTE) fallback = toNode.name;
      else if (route === null) next.push(toNode.name);
      else if (toList(route).some((each) => taken.has(String(each)))) {
        next.push(toNode.name);
        isRouted = true;
      }
    }
    if (!isRouted && fallback !== undefined) next.push(fallback);
    return next;
  }

  /** Checks the graph. @throws ConfigurationError for a graph that cannot run */
  validate(): void {
    checkNames(this.nodes);
    checkReach(this.nodes, this.edges);
    checkRoutes(this.edges);
    checkCycles(this.nodes, this.edges);
    const inner = new Set(this.edges.map(({ fromNode }) => fromNode.name));
    this.#terminalNodeNames = new Set(this.nodes.map(({ name }) => name).filter((name) => !inner.has(name)));
  }
}

/** Makes the graph of a workflow from its edges. @throws ConfigurationError for an invalid edge, and for a graph that cannot run */
export function createGraph(owner: string, items: readonly EdgeItem[]): Graph {
  const built = new Map<NodeLike, BaseNode>();
  const build = (value: NodeLike): BaseNode => {
    const node = built.get(value) ?? buildNode(value);
    built.set(value, node);
    return node;
  };
  try {
    const graph = new Graph(items.flatMap((item) => edgesOf(item, build)));
    graph.validate();
    return graph;
  } catch (error) {
    if (!ConfigurationError.isInstance(error)) throw error;
    throw new ConfigurationError(`${owner}: ${error.message}`, { cause: error });
  }
}

type Build = (value: NodeLike) => BaseNode;

function edgesOf(item: EdgeItem, build: Build): Edge[] {
  if (isEdge(item)) return [new Edge(build(item.fromNode), build(item.toNode), item.route)];
  if (!Array.isArray(item))
    throw new ConfigurationError(
      `edges: expected a chain, got ${describeNodeOrKind(item)}; write edges: [['START', first, second]]`,
    );
  // `isEdge` and `isArray` leave only chains.
  const chain = item as readonly ChainElement[];
  return chain.slice(1).flatMap((to, at) => edgesBetween(chain[at] as ChainElement, to, build));
}

function edgesBetween(from: ChainElement, to: ChainElement, build: Build): Edge[] {
  if (!isRoutingMap(to)) return connect(from, toNodes(to), null, build);
  if (isRoutingMap(from)) throw new ConfigurationError('edges: routes cannot follow routes; write two chains');
  const routes = Object.entries(to);
  if (routes.length === 0) throw new ConfigurationError('edges: routes are empty; write { route: node }');
  return routes.flatMap(([route, target]) => connect(from, toNodes(target), toRoute(route), build));
}

function connect(from: ChainElement, to: readonly NodeLike[], route: RouteValue | null, build: Build): Edge[] {
  const begins = isRoutingMap(from) ? Object.values(from).flatMap(toNodes) : toNodes(from);
  return begins.flatMap((begin) => to.map((end) => new Edge(build(begin), build(end), route)));
}

function toNodes(element: NodeLike | readonly NodeLike[]): readonly NodeLike[] {
  const nodes = Array.isArray(element) ? (element as readonly NodeLike[]) : [element as NodeLike];
  for (const each of nodes)
    if (!isNodeLike(each))
      throw new ConfigurationError(
        `edges: expected a node, an agent, a tool, a function or 'START', got ${describeNodeOrKind(each)}; write edges: [['START', first, second]]`,
      );
  return nodes;
}

/** Converts a key of an object to a route: keys are strings, so numbers and booleans are parsed. */
function toRoute(key: string): RouteValue {
  if (/^-?\d{1,15}$/.test(key)) return Number(key);
  return key === 'true' ? true : key === 'false' ? false : key;
}

function isRoutingMap(element: ChainElement): element is RoutingMap {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return false;
  const prototype: unknown = Object.getPrototypeOf(element);
  return prototype === Object.prototype || prototype === null;
}

function isEdge(value: unknown): value is Edge {
  return typeof value === 'object' && value !== null && '~eventloom.adk-edge' in value;
}

function checkNames(nodes: readonly BaseNode[]): void {
  const seen = new Set<string>();
  for (const { name } of nodes) {
    if (seen.has(name))
      throw new ConfigurationError(
        `two nodes have the name "${name}"; use one node object in all edges, or give one of them another name`,
      );
    seen.add(name);
  }
}

function checkReach(nodes: readonly BaseNode[], edges: readonly Edge[]): void {
  if (edges.length === 0)
    throw new ConfigurationError("no edge leads from START to a node; write edges: [['START', first]]");
  const reached = new Set([START.name]);
  for (const name of reached)
    for (const { fromNode, toNode } of edges) if (fromNode.name === name) reached.add(toNode.name);
  const lost = nodes.find(({ name }) => !reached.has(name));
  if (lost)
    throw new ConfigurationError(
      `no edge leads from START to the node "${lost.name}"; write ['START', ${lost.name}], or an edge from another node`,
    );
  for (const { fromNode, toNode, route } of edges) {
    if (toNode.name === START.name)
      throw new ConfigurationError(`an edge leads from "${fromNode.name}" to START, where no edge can lead; remove it`);
    if (fromNode.name === START.name && route !== null)
      throw new ConfigurationError(
        `the edge from START to "${toNode.name}" has a route, and START sets none; write the route behind a node that sets one`,
      );
  }
}

function checkRoutes(edges: readonly Edge[]): void {
  const seen = new Set<string>();
  const fallbacks = new Set<string>();
  for (const { fromNode, toNode, route } of edges) {
    const place = `from "${fromNode.name}" to "${toNode.name}"`;
    if (Array.isArray(route) && route.includes(DEFAULT_ROUTE))
      throw new ConfigurationError(`the edge ${place} has DEFAULT_ROUTE among others; write an edge of its own`);
    for (const each of route === null ? [null] : toList(route).map(String)) {
      const key = JSON.stringify([fromNode.name, toNode.name, each]);
      if (seen.has(key)) throw new ConfigurationError(`there are two equal edges ${place}; remove one of them`);
      seen.add(key);
    }
    if (route !== DEFAULT_ROUTE) continue;
    if (fallbacks.has(fromNode.name))
      throw new ConfigurationError(
        `the node "${fromNode.name}" has two edges with DEFAULT_ROUTE; give one of them another route`,
      );
    fallbacks.add(fromNode.name);
  }
}

/** Refuses a cycle of edges that are always followed. */
function checkCycles(nodes: readonly BaseNode[], edges: readonly Edge[]): void {
  const incoming = new Map(nodes.map(({ name }) => [name, 0]));
  const always = edges.filter(({ route }) => route === null);
  for (const { toNode } of always) incoming.set(toNode.name, (incoming.get(toNode.name) ?? 0) + 1);
  const free = [...incoming].filter(([, count]) => count === 0).map(([name]) => name);
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    incoming.delete(name);
    for (const { fromNode, toNode } of always) {
      if (fromNode.name !== name) continue;
      const left = (incoming.get(toNode.name) ?? 0) - 1;
      incoming.set(toNode.name, left);
      if (left === 0) free.push(toNode.name);
    }
  }
  const [stuck] = incoming.keys();
  if (stuck !== undefined)
    throw new ConfigurationError(`the node "${stuck}" is in a cycle without a route; give one of its edges a route`);
}

function toList<T>(value: T | readonly T[] | null | undefined): readonly T[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? value : [value as T];
}
