import type { AnyChannel } from './channel.ts';
import type { GraphNode } from './graph-node.ts';

/** Says by which routes it goes on from a node. */
export type Router = (
  output: never,
  context: RouterContext,
) => string | readonly string[] | Promise<string | readonly string[]>;

/** The context of a router. */
export interface RouterContext<State = Readonly<Record<string, unknown>>> {
  /** The channels, with what the node wrote. */
  readonly state: State;
  /** The step that the node was run in, from 1; 0 for the router at `START`. */
  readonly step: number;
}

/** The edges that leave one node. */
export interface Way {
  /** Always. */
  readonly targets: readonly string[];
  /** By the name of the route, when the node has routes. */
  readonly routes: ReadonlyMap<string, readonly string[]> | undefined;
  /** Absent where the node itself names its route. */
  readonly router: Router | undefined;
}

/** A graph that was checked. Never changed. */
export interface GraphPlan {
  readonly name: string;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** By the node, `START` included. */
  readonly ways: ReadonlyMap<string, Way>;
  /** By the node: those that have an edge to it, in the order in which they were connected. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
  readonly channels: ReadonlyMap<string, AnyChannel>;
  readonly maxSteps: number;
  readonly maxConcurrency: number;
}

/** All that a way may lead to, each once, in order. */
export function targetsOf(way: Way | undefined): string[] {
  return [...new Set([...(way?.targets ?? []), ...[...(way?.routes?.values() ?? [])].flat()])];
}

/** By the node, the nodes that have an edge to it. */
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

/** Goes along the edges of a graph. */
export function targetsIn({ ways }: Pick<GraphPlan, 'ways'>): (name: string) => readonly string[] {
  return (name) => targetsOf(ways.get(name));
}

/**
 * Returns the nodes that can be reached from a node; it contains the node itself only if it is on a cycle. @param
 * neighbours returns the nodes that follow a node
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
