import { isBaseAgent, isBaseTool } from '@eventloom/core/internal';
import type { GraphNode } from './graph-node.ts';
import type { GraphPlan } from './graph-plan.ts';
import { isGraphAgent } from './is-graph-agent.ts';
import { DEFAULT_ROUTE, END, START } from './names.ts';

/** One edge of a graph. */
interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** The name of the route; absent for an unconditional edge. */
  readonly route?: string;
}

/** Returns all edges of a graph, in the order in which they were added. */
export function edgesOf({ ways }: GraphPlan): GraphEdge[] {
  return [...ways].flatMap(([from, { targets, routes }]) => [
    ...targets.map((to) => ({ from, to })),
    ...[...(routes ?? [])].flatMap(([route, to]) => to.map((target) => ({ from, to: target, route }))),
  ]);
}

/** A graph as a flow chart shows it. */
interface ChartGraph {
  /** `kind`: `function`, `tool`, `agent`, `graph` or `join`. `graph`: the graph that the node runs, drawn in it. */
  readonly nodes: readonly { readonly name: string; readonly kind: string; readonly graph?: ChartGraph }[];
  readonly edges: readonly GraphEdge[];
}

/** A run of a graph as a flow chart marks it. */
interface ChartRun {
  /** Names of the first nodes. */
  readonly entry: readonly string[];
  /** The completed nodes of each step with those that follow, and the nodes that run or wait. `graph`: the run of the graph in the node. */
  readonly steps: readonly {
    readonly nodes: readonly ChartedNode[];
    readonly open: readonly Pick<ChartedNode, 'node' | 'graph'>[];
  }[];
}

interface ChartedNode {
  readonly node: string;
  readonly next: readonly string[];
  readonly graph?: ChartRun | undefined;
}

/** Returns a graph with its sub-graphs as a flow chart shows it. */
export function chartGraphOf(plan: GraphPlan): ChartGraph {
  const nodes = [...plan.nodes.values()].map((node) => {
    const { name, work } = node;
    const inner = isBaseAgent(work) && isGraphAgent(work) ? { graph: chartGraphOf(work.plan) } : {};
    return { name, kind: kindOf(node), ...inner };
  });
  return { nodes, edges: edgesOf(plan) };
}

/** Returns the kind of a node: what it runs, or that it joins others. */
export function kindOf({ work, isJoin }: GraphNode): string {
  if (isJoin) return 'join';
  if (isBaseTool(work)) return 'tool';
  if (!isBaseAgent(work)) return 'function';
  return isGraphAgent(work) ? 'graph' : 'agent';
}

/**
 * Returns a Mermaid flow chart of a graph with its sub-graphs. Several routes between the same two nodes are one arrow.
 * @param run a run whose path and current position are marked
 */
export function toMermaid(graph: ChartGraph, run?: ChartRun): string {
  const chart = new Chart();
  chart.draw(graph, 'n', '  ', run && [run]);
  return chart.toString(run !== undefined);
}

class Chart {
  readonly #lines: string[] = ['flowchart TD'];
  readonly #done: string[] = [];
  readonly #open: string[] = [];
  /** The indexes of the arrows that the run took. */
  readonly #taken: number[] = [];
  #arrows = 0;

  /** Adds the lines of a graph. @param runs the runs of this graph to mark */
  draw({ nodes, edges }: ChartGraph, prefix: string, indent: string, runs: readonly ChartRun[] = []): void {
    const ids = new Map(
      [START, ...nodes.map(({ name }) => name), END].map((name, index) => [name, `${prefix}${index}`]),
    );
    const idOf = (name: string): string => ids.get(name) ?? name;
    const steps = runs.flatMap((run) => run.steps);
    const ran = steps.flatMap((step) => [...step.nodes, ...step.open]);
    this.#lines.push(`${indent}${idOf(START)}([start])`);
    for (const { name, kind, graph } of nodes) {
      if (!graph) {
        this.#lines.push(`${indent}${idOf(name)}${shapeOf(kind, name)}`);
        continue;
      }
      this.#lines.push(`${indent}subgraph ${idOf(name)} ["${name}"]`);
      const inner = ran.flatMap((each) => (each.node === name && each.graph ? [each.graph] : []));
      this.draw(graph, `${idOf(name)}_`, `${indent}  `, inner);
      this.#lines.push(`${indent}end`);
    }
    this.#lines.push(`${indent}${idOf(END)}([end])`);
    const done = steps.flatMap((step) => step.nodes);
    const ways = [...runs.map(({ entry }) => ({ node: START, next: entry })), ...done];
    const taken = new Set(ways.flatMap(({ node, next }) => next.map((to) => `${node}>${to}`)));
    for (const [way, { from, to, labels }] of arrowsOf(edges)) {
      this.#lines.push(
        `${indent}${idOf(from)} ${labels.length > 0 ? `-- "${labels.join(' / ')}" -->` : '-->'} ${idOf(to)}`,
      );
      if (taken.has(way)) this.#taken.push(this.#arrows);
      this.#arrows++;
    }
    const open = new Set(runs.flatMap((run) => run.steps.at(-1)?.open ?? []).map(({ node }) => node));
    const arrived = ways.some(({ next }) => next.includes(END)) ? [END] : [];
    const passed = new Set(runs.length > 0 ? [START, ...done.map(({ node }) => node), ...arrived] : []);
    this.#done.push(...[...passed].filter((name) => !open.has(name)).map(idOf));
    this.#open.push(...[...open].map(idOf));
  }

  toString(isMarked: boolean): string {
    if (!isMarked) return `${this.#lines.join('\n')}\n`;
    const marks = [
      '  classDef done stroke-width:3px',
      '  classDef open stroke-width:3px,stroke-dasharray:5 5',
      `  class ${this.#done.join(',')} done`,
    ];
    if (this.#open.length > 0) marks.push(`  class ${this.#open.join(',')} open`);
    if (this.#taken.length > 0) marks.push(`  linkStyle ${this.#taken.join(',')} stroke-width:3px`);
    return `${[...this.#lines, ...marks].join('\n')}\n`;
  }
}

/** Merges all edges between two nodes into one arrow, because the events do not contain which of its routes a run took. */
function arrowsOf(edges: readonly GraphEdge[]): Map<string, GraphEdge & { readonly labels: string[] }> {
  const arrows = new Map<string, GraphEdge & { readonly labels: string[] }>();
  for (const edge of edges) {
    const way = `${edge.from}>${edge.to}`;
    const arrow = arrows.get(way) ?? { ...edge, labels: [] };
    arrows.set(way, arrow);
    if (edge.route !== undefined) arrow.labels.push(mermaidLabel(edge.route));
  }
  return arrows;
}

function shapeOf(kind: string, name: string): string {
  const label = `"${name}"`;
  if (kind === 'join') return `{{${label}}}`;
  if (kind === 'agent' || kind === 'graph') return `[[${label}]]`;
  return kind === 'tool' ? `[/${label}/]` : `[${label}]`;
}

/** Returns a label in which characters with a meaning in Mermaid or Markdown are written as character references. */
function mermaidLabel(route: string): string {
  if (route === DEFAULT_ROUTE) return 'otherwise';
  return route
    .replaceAll(/[^\p{L}\p{N} _.,!?-]/gu, (character) => (/\s/.test(character) ? ' ' : byNumber(character)))
    .replace(/^ *(?:-|\d+\.)/, (mark) => mark.slice(0, -1) + byNumber(mark.slice(-1)));
}

function byNumber(character: string): string {
  return `#${character.codePointAt(0)};`;
}
