import type { AnyChannel } from './channel.ts';
import type { GraphNode } from './graph-node.ts';

/** Chooses the routes after a node: returns the name of one route, or a list of names. */
export type Router = (
  output: never,
  context: RouterContext,
) => string | readonly string[] | Promise<string | readonly string[]>;

/** The context of a router. */
export interface RouterContext<State = Readonly<Record<string, unknown>>> {
  /** Channel values, with the writes of the node. */
  readonly state: State;
  /** Number of the step in which the node ran, from 1; 0 for the router at `START`. */
  readonly step: number;
}

/** The outgoing edges of one node: unconditional targets, and targets by route. */
export interface Way {
  /** Targets of the unconditional edges. */
  readonly targets: readonly string[];
  /** Targets by the name of the route; undefined if the node has no routes. */
  readonly routes: ReadonlyMap<string, readonly string[]> | undefined;
  /** Chooses the routes; undefined if the node's function sets the route. */
  readonly router: Router | undefined;
}

/** A compiled graph, immutable. */
export interface GraphPlan {
  readonly name: string;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** Outgoing edges by node name, `START` included. */
  readonly ways: ReadonlyMap<string, Way>;
  /** Names of the nodes that have an edge to each node, in the order in which the edges were added. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
  readonly channels: ReadonlyMap<string, AnyChannel>;
  readonly maxSteps: number;
  readonly maxConcurrency: number;
}

/** Returns all targets of a node's edges and routes, each once, in order. */
export function targetsOf(way: Way | undefined): string[] {
  return [...new Set([...(way?.targets ?? []), ...[...(way?.routes?.values() ?? [])].flat()])];
}

/** Returns for each node the names of the nodes that have an edge to it. */
export function sourcesOf(ways: ReadonlyMap<string, Way>): Map<string, string[]> {
  const sources = new Map<string, string[]>();
  for (const [source, way] of ways) {
    for (const target of targetsOf(way)) {
      const others = sources.get(target);
      if (others) others.push(source);
      else sources.set(target, [source]);
    }
  }
  return sources;
}

/** Returns a function that gives the targets of a node in this graph. */
export function targetsIn({ ways }: Pick<GraphPlan, 'ways'>): (name: string) => readonly string[] {
  return (name) => targetsOf(ways.get(name));
}

/**
 * Returns the nodes that can be reached from a node. The result contains the node itself only if the node is on a cycle.
 * @param neighbours returns the nodes that follow a node
 */
export function reachableFrom(neighbours: (name: string) => readonly string[], name: string): Set<string> {
  const reached = new Set<string>();
  const open = [...neighbours(name)];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    for (const neighbour of neighbours(next)) open.push(neighbour);
  }
  return reached;
}
