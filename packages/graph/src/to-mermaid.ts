import { isBaseAgent, isBaseTool } from '@eventloom/core/internal';
import type { GraphHistory } from './graph-history.ts';
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

/**
 * Returns a Mermaid flow chart of a graph with its sub-graphs. Several routes between the same two nodes are one arrow.
 * @param history a run whose path and current position are marked
 */
export function toMermaid(plan: GraphPlan, history?: GraphHistory): string {
  const chart = new Chart();
  chart.draw(plan, 'n', '  ', history && [history]);
  return chart.toString(history !== undefined);
}

class Chart {
  readonly #lines: string[] = ['flowchart TD'];
  readonly #done: string[] = [];
  readonly #open: string[] = [];
  /** The indexes of the arrows that the run took. */
  readonly #taken: number[] = [];
  #arrows = 0;

  /** Adds the lines of a graph. @param runs the runs of this graph to mark */
  draw(plan: GraphPlan, prefix: string, indent: string, runs: readonly GraphHistory[] = []): void {
    const ids = new Map([START, ...plan.nodes.keys(), END].map((name, index) => [name, `${prefix}${index}`]));
    const idOf = (name: string): string => ids.get(name) ?? name;
    const steps = runs.flatMap((run) => run.steps);
    const ran = steps.flatMap(({ nodes, open }) => [...nodes, ...open]);
    this.#lines.push(`${indent}${idOf(START)}([start])`);
    for (const node of plan.nodes.values()) {
      const { name, work } = node;
      if (!isBaseAgent(work) || !isGraphAgent(work)) {
        this.#lines.push(`${indent}${idOf(name)}${shapeOf(node)}`);
        continue;
      }
      this.#lines.push(`${indent}subgraph ${idOf(name)} ["${name}"]`);
      const inner = ran.flatMap(({ node: each, graph }) => (each === name && graph ? [graph] : []));
      this.draw(work.plan, `${idOf(name)}_`, `${indent}  `, inner);
      this.#lines.push(`${indent}end`);
    }
    this.#lines.push(`${indent}${idOf(END)}([end])`);
    const done = steps.flatMap(({ nodes }) => nodes);
    const ways = [...runs.map(({ entry }) => ({ node: START, next: entry })), ...done];
    const taken = new Set(ways.flatMap(({ node, next }) => next.map((to) => `${node}>${to}`)));
    for (const [way, { from, to, labels }] of arrowsOf(plan)) {
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
function arrowsOf(plan: GraphPlan): Map<string, GraphEdge & { readonly labels: string[] }> {
  const arrows = new Map<string, GraphEdge & { readonly labels: string[] }>();
  for (const edge of edgesOf(plan)) {
    const way = `${edge.from}>${edge.to}`;
    const arrow = arrows.get(way) ?? { ...edge, labels: [] };
    arrows.set(way, arrow);
    if (edge.route !== undefined) arrow.labels.push(mermaidLabel(edge.route));
  }
  return arrows;
}

function shapeOf({ name, work, isJoin }: GraphNode): string {
  const label = `"${name}"`;
  if (isJoin) return `{{${label}}}`;
  if (isBaseAgent(work)) return `[[${label}]]`;
  return isBaseTool(work) ? `[/${label}/]` : `[${label}]`;
}

/** Returns a label in which characters with a meaning in Mermaid or Markdown are written as character references. */
export function mermaidLabel(route: string): string {
  if (route === DEFAULT_ROUTE) return 'otherwise';
  return route
    .replaceAll(/[^\p{L}\p{N} _.,!?-]/gu, (character) => (/\s/.test(character) ? ' ' : byNumber(character)))
    .replace(/^ *(?:-|\d+\.)/, (mark) => mark.slice(0, -1) + byNumber(mark.slice(-1)));
}

function byNumber(character: string): string {
  return `#${character.codePointAt(0)};`;
}
