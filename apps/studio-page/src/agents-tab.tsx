import { useEffect, useMemo, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import dagre from '@dagrejs/dagre';
import { ServerError } from '@eventloom/client';
import {
  type ShownAgent,
  type GraphDescription,
  type GraphRunInfo,
  readGraphRuns,
  readGraphs,
} from './studio-client.ts';

interface AgentsTabProps {
  readonly place: SessionKey;
  /** The root agent; undefined until it is read. */
  readonly root: ShownAgent | undefined;
  readonly error: string | undefined;
  readonly events: readonly Event[];
  readonly activeAgent: string | undefined;
  readonly isRunning: boolean;
  /** True if an earlier moment is shown. */
  readonly isPast: boolean;
}

/**
 * Shows the agents of the app as a tree, and its graphs. Marks those that spoke in the newest run, and the one that
 * speaks now.
 */
export function AgentsTab({ place, root, error, events, activeAgent, isRunning, isPast }: AgentsTabProps) {
  const { appName, userId } = place;
  const [graphs, setGraphs] = useState<readonly GraphDescription[]>([]);
  const [ran, setRan] = useState<readonly GraphDescription[]>([]);
  const [graphError, setGraphError] = useState<string>();
  useEffect(() => {
    readGraphs(appName, userId)
      .then(setGraphs)
      .catch((thrown: unknown) => setGraphError(String(thrown)));
  }, [appName, userId]);
  const newest = events.at(-1);
  const invocationId = newest?.invocationId;
  const seen = useMemo(() => {
    const run = events.filter((event) => event.invocationId === invocationId);
    return new Set(run.map(({ author }) => author));
  }, [events, invocationId]);
  // The server derives the path from the events. The page does not get all events of an active run, so the path is also
  // read at intervals.
  const [tick, setTick] = useState(0);
  const hasGraphs = graphs.length > 0;
  useEffect(() => {
    if (!isRunning || !hasGraphs) return;
    const timer = setInterval(() => setTick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, [isRunning, hasGraphs]);
  const newestId = newest?.id;
  useEffect(() => {
    if (!hasGraphs || invocationId === undefined || invocationId.startsWith('local-')) return;
    let isCurrent = true;
    readGraphRuns(place, invocationId)
      .then((found) => {
        if (isCurrent) setRan(found);
      })
      .catch((thrown: unknown) => {
        // The newest event may belong to no run: a client that imported the session wrote it.
        if (isCurrent && !(ServerError.isInstance(thrown) && thrown.status === 404)) setGraphError(String(thrown));
      });
    return () => {
      isCurrent = false;
    };
  }, [hasGraphs, place, invocationId, newestId, tick]);
  const shown = useMemo(() => (isPast ? new Set(events.map(({ id }) => id)) : undefined), [events, isPast]);
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
        <GraphView
          key={each.graph.name}
          description={each}
          path={pathOf(ran.find(({ graph }) => graph.name === each.graph.name)?.runs ?? [], shown)}
        />
      ))}
    </div>
  );
}

interface AgentViewProps {
  readonly agent: ShownAgent;
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
/** The names of the start and the end of a graph. */
const START = '__start__';
const END = '__end__';

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The path of a run through a graph: its completed nodes, its active nodes, and the edges that were taken. */
interface Path {
  readonly done: ReadonlySet<string>;
  readonly open: ReadonlySet<string>;
  readonly edges: ReadonlySet<string>;
}

const edgeKey = (from: string, to: string): string => JSON.stringify([from, to]);

/**
 * Returns the path at the newest moment, or at an earlier one whose events are given: nodes that completed later are
 * active there.
 */
function pathOf(runs: readonly GraphRunInfo[], shown: ReadonlySet<string> | undefined): Path {
  const done = new Set<string>();
  const open = new Set<string>();
  const edges = new Set<string>();
  for (const { entry, steps } of runs) {
    let coming = new Set(entry);
    for (const to of entry) edges.add(edgeKey(START, to));
    for (const step of steps) {
      const next = new Set<string>();
      for (const { node, next: following, eventId } of step.nodes) {
        if (shown?.has(eventId) === false) continue;
        done.add(node);
        coming.delete(node);
        for (const to of following) {
          edges.add(edgeKey(node, to));
          if (to === END) done.add(END);
          else next.add(to);
        }
      }
      coming = new Set([...coming, ...next]);
    }
    for (const node of coming) open.add(node);
    done.add(START);
  }
  return { done, open, edges };
}

interface GraphViewProps {
  readonly description: GraphDescription;
  readonly path: Path;
}

function GraphView({ description, path }: GraphViewProps) {
  const { name, nodes, edges } = description.graph;
  const layout = useMemo(() => {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 36, marginx: 8, marginy: 8 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const each of [START, ...nodes.map((node) => node.name)]) graph.setNode(each, { ...NODE });
    for (const { from, to } of edges) {
      if (to === END && !graph.hasNode(END)) graph.setNode(END, { ...NODE });
      graph.setEdge(from, to);
    }
    dagre.layout(graph);
    return graph;
  }, [nodes, edges]);
  const { width = 0, height = 0 } = layout.graph();
  const stateOf = (node: string): string => (path.open.has(node) ? 'active' : path.done.has(node) ? 'done' : 'idle');
  const described = nodes.map((node) => `${node.name} (${stateOf(node.name)})`).join(', ');
  return (
    <figure className="graph">
      <figcaption>{name}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Graph ${name}: ${described}`}>
        {layout.edges().map((edge) => {
          const { points } = layout.edge(edge) as { points: readonly Point[] };
          return (
            <path
              key={edgeKey(edge.v, edge.w)}
              data-taken={path.edges.has(edgeKey(edge.v, edge.w))}
              d={`M${points.map(({ x, y }) => `${x},${y}`).join('L')}`}
            />
          );
        })}
        {layout.nodes().map((node) => {
          const { x, y } = layout.node(node) as Point;
          const isEnd = node === START || node === END;
          return (
            <g
              key={node}
              transform={`translate(${x - NODE.width / 2} ${y - NODE.height / 2})`}
              data-node={node}
              data-state={stateOf(node)}
            >
              <rect width={NODE.width} height={NODE.height} rx={isEnd ? NODE.height / 2 : 8} />
              <text x={NODE.width / 2} y={NODE.height / 2 + 4}>
                {node === START ? 'start' : node === END ? 'end' : node}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
