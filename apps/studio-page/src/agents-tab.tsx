import { useEffect, useMemo, useState } from 'react';
import type { Event } from '@eventloom/core';
import dagre from '@dagrejs/dagre';
import type { Place } from './app.tsx';
import { type AgentNode, type GraphDescription, readGraphs } from './studio-client.ts';

interface AgentsTabProps {
  readonly place: Place;
  /** The root agent; undefined while it is read. */
  readonly root: AgentNode | undefined;
  readonly error: string | undefined;
  readonly events: readonly Event[];
  readonly activeAgent: string | undefined;
  readonly isRunning: boolean;
}

/** The agents of the app as a tree, and its graphs. Marks those that spoke in the newest run, and the one that speaks now. */
export function AgentsTab({ place, root, error, events, activeAgent, isRunning }: AgentsTabProps) {
  const { appName, userId } = place;
  const [graphs, setGraphs] = useState<readonly GraphDescription[]>([]);
  const [graphError, setGraphError] = useState<string>();
  useEffect(() => {
    readGraphs(appName, userId)
      .then(setGraphs)
      .catch((thrown: unknown) => setGraphError(String(thrown)));
  }, [appName, userId]);
  const invocationId = events.at(-1)?.invocationId;
  const seen = useMemo(() => {
    const run = events.filter((event) => event.invocationId === invocationId);
    return new Set(run.flatMap(({ author, nodeEvent }) => (nodeEvent ? [author, nodeEvent.nodeId] : [author])));
  }, [events, invocationId]);
  const failure = error ?? graphError;
  if (failure !== undefined)
    return (
      <p className="error" role="alert">
        {failure}
      </p>
    );
  if (!root) return <p className="empty">Loading…</p>;
  return (
    <div className="agents">
      <ul className="tree">
        <AgentView agent={root} activeAgent={isRunning ? activeAgent : undefined} seen={seen} />
      </ul>
      {graphs.map((each) => (
        <GraphView key={each.graph.name} description={each} seen={seen} />
      ))}
    </div>
  );
}

interface AgentViewProps {
  readonly agent: AgentNode;
  readonly activeAgent: string | undefined;
  readonly seen: ReadonlySet<string>;
}

function AgentView({ agent, activeAgent, seen }: AgentViewProps) {
  const { name, kind, model, description, tools, subAgents, calledAgents } = agent;
  return (
    <li>
      <div className="agent" data-active={name === activeAgent} data-seen={seen.has(name)}>
        <b>{name}</b> <small>{[kind, model].filter(Boolean).join(', ')}</small>
        {description !== '' && <p>{description}</p>}
        {tools.length > 0 && (
          <ul className="tools" aria-label={`Tools of ${name}`}>
            {tools.map((tool) => (
              <li key={tool.name} title={tool.description}>
                {tool.name}
              </li>
            ))}
          </ul>
        )}
      </div>
      {[...subAgents, ...calledAgents].length > 0 && (
        <ul>
          {[...subAgents, ...calledAgents].map((each) => (
            <AgentView key={each.name} agent={each} activeAgent={activeAgent} seen={seen} />
          ))}
        </ul>
      )}
    </li>
  );
}

const NODE = { width: 150, height: 40 };

function GraphView({
  description,
  seen,
}: {
  readonly description: GraphDescription;
  readonly seen: ReadonlySet<string>;
}) {
  const { name, nodes, edges } = description.graph;
  const layout = useMemo(() => {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 36, marginx: 8, marginy: 8 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const node of nodes) graph.setNode(node.name, { ...NODE });
    for (const { from, to } of edges) if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
    dagre.layout(graph);
    return graph;
  }, [nodes, edges]);
  const { width = 0, height = 0 } = layout.graph();
  return (
    <figure className="graph">
      <figcaption>{name}</figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Graph ${name}: ${nodes.map((node) => node.name).join(', ')}`}
      >
        {layout.edges().map((edge) => {
          const points = (layout.edge(edge) as { points: readonly { x: number; y: number }[] }).points;
          const isTaken = seen.has(edge.v) && seen.has(edge.w);
          return (
            <path
              key={`${edge.v} ${edge.w}`}
              data-taken={isTaken}
              d={`M${points.map(({ x, y }) => `${x},${y}`).join('L')}`}
            />
          );
        })}
        {nodes.map((node) => {
          const { x, y } = layout.node(node.name) as { x: number; y: number };
          return (
            <g
              key={node.name}
              transform={`translate(${x - NODE.width / 2} ${y - NODE.height / 2})`}
              data-seen={seen.has(node.name)}
            >
              <rect width={NODE.width} height={NODE.height} rx="8" />
              <text x={NODE.width / 2} y={NODE.height / 2 + 4}>
                {node.name}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
