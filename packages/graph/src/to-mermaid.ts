import { isBaseAgent, isBaseTool } from '@eventloom/core';
import type { GraphHistory } from './graph-history.ts';
import type { GraphNode } from './graph-node.ts';
import type { GraphPlan } from './graph-plan.ts';
import { DEFAULT_ROUTE, END, START } from './names.ts';

/** One edge of a graph. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** The route that leads along it; absent where it always goes on. */
  readonly route?: string;
}

/** All edges of a graph, in the order in which its nodes were connected. */
export function edgesOf({ ways }: GraphPlan): GraphEdge[] {
  return [...ways].flatMap(([from, { targets, routes }]) => [
    ...targets.map((to) => ({ from, to })),
    ...[...(routes ?? [])].flatMap(([route, to]) => to.map((target) => ({ from, to: target, route }))),
  ]);
}

/** A Mermaid flow chart of a graph. @param history marks the way that this run took, and where it is */
export function toMermaid(plan: GraphPlan, history?: GraphHistory): string {
  const ids = new Map([START, ...plan.nodes.keys(), END].map((name, index) => [name, `n${index}`]));
  const idOf = (name: string): string => ids.get(name) ?? name;
  const edges = edgesOf(plan);
  const lines = [
    'flowchart TD',
    `  ${idOf(START)}([start])`,
    ...[...plan.nodes.values()].map((node) => `  ${idOf(node.name)}${shapeOf(node)}`),
    `  ${idOf(END)}([end])`,
    ...edges.map(
      ({ from, to, route }) =>
        `  ${idOf(from)} ${route === undefined ? '-->' : `-- ${labelOf(route)} -->`} ${idOf(to)}`,
    ),
  ];
  if (history) lines.push(...marks(history, edges, idOf));
  return `${lines.join('\n')}\n`;
}

function shapeOf({ name, work, isJoin }: GraphNode): string {
  const label = `"${name}"`;
  if (isJoin) return `{{${label}}}`;
  if (isBaseAgent(work)) return `[[${label}]]`;
  return isBaseTool(work) ? `[/${label}/]` : `[${label}]`;
}

function labelOf(route: string): string {
  return `"${(route === DEFAULT_ROUTE ? 'otherwise' : route).replaceAll('"', '#quot;')}"`;
}

function* marks(
  { entry, steps }: GraphHistory,
  edges: readonly GraphEdge[],
  idOf: (name: string) => string,
): Generator<string> {
  const nodes = steps.flatMap((step) => step.nodes);
  const taken = new Set([
    ...entry.map((to) => `${START}>${to}`),
    ...nodes.flatMap(({ node, next }) => next.map((to) => `${node}>${to}`)),
  ]);
  const done = new Set([
    START,
    ...nodes.map(({ node }) => node),
    ...(nodes.some(({ next }) => next.includes(END)) ? [END] : []),
  ]);
  const open = new Set(steps.at(-1)?.open.map(({ node }) => node));
  yield '  classDef done stroke-width:3px';
  yield '  classDef open stroke-width:3px,stroke-dasharray:5 5';
  yield `  class ${[...done]
    .filter((name) => !open.has(name))
    .map(idOf)
    .join(',')} done`;
  if (open.size > 0) yield `  class ${[...open].map(idOf).join(',')} open`;
  const links = edges.flatMap(({ from, to }, index) => (taken.has(`${from}>${to}`) ? [index] : []));
  if (links.length > 0) yield `  linkStyle ${links.join(',')} stroke-width:3px`;
}
