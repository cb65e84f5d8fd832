import type { BaseAgent } from '@eventloom/core';

/** A node of an app as adk-web draws it. */
export interface AppNode {
  readonly name: string;
  readonly type: 'agent' | 'workflow' | 'function' | 'tool' | 'start' | 'end' | 'join';
  readonly description?: string;
  readonly model?: string;
  readonly tools?: readonly { readonly name: string; readonly type: 'tool' }[];
  readonly sub_agents?: readonly AppNode[];
  readonly graph?: AppGraph;
}

/** The graph of a graph agent. */
interface AppGraph {
  readonly nodes: readonly AppNode[];
  readonly edges: readonly {
    readonly from_node: Pick<AppNode, 'name' | 'type'>;
    readonly to_node: Pick<AppNode, 'name' | 'type'>;
    readonly route?: string;
  }[];
}

/** Maximum depth of a description, because an agent may run itself through others. Deeper levels are left out. */
const MAX_DEPTH = 12;
/** The nodes for the start and the end of a graph, under the names that adk-web knows. */
const ENDS: Readonly<Record<string, AppNode>> = {
  __start__: { name: '__START__', type: 'start' },
  __end__: { name: '__END__', type: 'end' },
};

/** Describes an agent with its model, tools, sub-agents and graph, as adk-web expects. */
export function describeNode(agent: BaseAgent, depth = 0): AppNode {
  const { description } = agent;
  const model = 'model' in agent ? modelName(agent.model) : undefined;
  const tools = 'tools' in agent && Array.isArray(agent.tools) ? agent.tools.flatMap(toolNode) : [];
  const graph = depth < MAX_DEPTH ? graphOf(agent, depth) : undefined;
  const below = depth < MAX_DEPTH ? agent.subAgents.map((each) => describeNode(each, depth + 1)) : [];
  return {
    name: agent.name,
    type: graph ? 'workflow' : 'agent',
    ...(description === '' ? {} : { description }),
    ...(model === undefined ? {} : { model }),
    ...(tools.length > 0 ? { tools } : {}),
    ...(graph ? { graph } : {}),
    ...(below.length > 0 ? { sub_agents: below } : {}),
  };
}

/** Returns the node at a path of names from the root, such as `flow/writer`; undefined if there is none. */
export function nodeAt(root: AppNode, path: string): AppNode | undefined {
  const names = path.split('/').filter((name) => name !== '');
  if (names[0] === root.name) names.shift();
  let node: AppNode | undefined = root;
  for (const name of names)
    node = [...(node?.graph?.nodes ?? []), ...(node?.sub_agents ?? [])].find((each) => each.name === name);
  return node;
}

function graphOf(agent: BaseAgent, depth: number): AppGraph | undefined {
  const graph = agent.describeRun({ events: [], invocationId: '' })?.graph;
  if (!graph) return undefined;
  const called = new Map(agent.calledAgents.map((each) => [each.name, each]));
  const nodes = new Map(
    graph.nodes.map(({ name, kind }) => {
      const inner = called.get(name);
      const node: AppNode = ENDS[name] ?? (inner ? describeNode(inner, depth + 1) : { name, type: typeOf(kind) });
      return [name, node] as const;
    }),
  );
  const reference = (name: string): Pick<AppNode, 'name' | 'type'> => {
    const node = nodes.get(name) ?? ENDS[name];
    return { name: node?.name ?? name, type: node?.type ?? 'function' };
  };
  return {
    nodes: [...nodes.values()],
    edges: graph.edges.map(({ from, to, route }) => ({
      from_node: reference(from),
      to_node: reference(to),
      ...(route === undefined ? {} : { route }),
    })),
  };
}

function typeOf(kind: string): AppNode['type'] {
  return kind === 'agent' || kind === 'tool' || kind === 'join' ? kind : 'function';
}

function modelName(model: unknown): string | undefined {
  if (typeof model === 'string') return model === '' ? undefined : model;
  return typeof model === 'object' && model !== null && 'model' in model && typeof model.model === 'string'
    ? model.model
    : undefined;
}

function toolNode(tool: unknown): { readonly name: string; readonly type: 'tool' }[] {
  if (typeof tool !== 'object' || tool === null) return [];
  const name = 'name' in tool && typeof tool.name === 'string' ? tool.name : tool.constructor.name;
  return [{ name, type: 'tool' }];
}

/** Colors of a drawing: for nodes, and for the nodes and edges that an event used. */
interface Palette {
  readonly background: string;
  readonly node: string;
  readonly line: string;
  readonly text: string;
  readonly used: string;
}

const LIGHT: Palette = { background: '#ffffff', node: '#f1f5f9', line: '#64748b', text: '#0f172a', used: '#86efac' };
const DARK: Palette = { background: '#111827', node: '#1f2937', line: '#94a3b8', text: '#f9fafb', used: '#166534' };

/**
 * Draws a node of an app as text in the DOT language: its graph, or the tree of its sub-agents, with their tools.
 * @param used the names to color: agents that spoke and tools that were called
 */
export function drawNode(node: AppNode, isDark: boolean, used: ReadonlySet<string> = new Set()): string {
  const palette = isDark ? DARK : LIGHT;
  const lines = [
    `digraph ${quoted(node.name)} {`,
    `  bgcolor=${quoted(palette.background)}; rankdir=${node.graph ? 'TB' : 'LR'};`,
    `  node [shape=box, style="rounded,filled", fontname="Helvetica", color=${quoted(palette.line)}, fontcolor=${quoted(palette.text)}, fillcolor=${quoted(palette.node)}];`,
    `  edge [fontname="Helvetica", color=${quoted(palette.line)}, fontcolor=${quoted(palette.text)}];`,
  ];
  const drawn = new Set<string>();
  const edges = new Set<string>();
  const draw = ({ name, type }: Pick<AppNode, 'name' | 'type'>): void => {
    if (drawn.has(name)) return;
    drawn.add(name);
    const shape = type === 'tool' ? ', shape=ellipse' : type === 'start' || type === 'end' ? ', shape=circle' : '';
    const color = used.has(name) ? `, fillcolor=${quoted(palette.used)}` : '';
    lines.push(`  ${quoted(name)} [label=${quoted(name)}${shape}${color}];`);
  };
  const connect = (from: string, to: string, label?: string): void => {
    const isUsed = used.has(from) && used.has(to);
    const options = [...(label === undefined ? [] : [`label=${quoted(label)}`]), ...(isUsed ? ['penwidth=3'] : [])];
    edges.add(`  ${quoted(from)} -> ${quoted(to)}${options.length > 0 ? ` [${options.join(', ')}]` : ''};`);
  };
  const visit = (each: AppNode): void => {
    draw(each);
    for (const tool of each.tools ?? []) {
      draw(tool);
      connect(each.name, tool.name);
    }
    for (const below of each.sub_agents ?? []) {
      visit(below);
      connect(each.name, below.name);
    }
  };
  if (node.graph) {
    for (const each of node.graph.nodes) visit(each);
    for (const { from_node: from, to_node: to, route } of node.graph.edges) {
      draw(from);
      draw(to);
      connect(from.name, to.name, route);
    }
  } else visit(node);
  return `${[...lines, ...edges].join('\n')}\n}\n`;
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', ' ')}"`;
}
