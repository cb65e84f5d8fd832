import { memo, useEffect, useId, useMemo, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import dagre from '@dagrejs/dagre';
import { ServerError } from '@eventloom/client';
import { isOfRun } from './run-events.ts';
import { useRunningSpans } from './use-running-spans.ts';
import {
  type ShownAgent,
  type GraphDescription,
  type GraphRunInfo,
  messageOf,
  readGraphRuns,
  readGraphs,
} from './studio-client.ts';

interface AgentsTabProps {
  readonly place: SessionKey;
  /** The root agent; undefined until it is read. */
  readonly root: ShownAgent | undefined;
  readonly error: string | undefined;
  readonly events: readonly Event[];
  /** The agents that work at the shown moment, as far as they are known. */
  readonly activeAgents: readonly string[];
  /** True if a run is in progress at the shown moment. */
  readonly isRunning: boolean;
  /** True if an earlier moment is shown. */
  readonly isPast: boolean;
}

/** Shows the agents of the app as a tree, and its graphs. Marks the agents that spoke in the newest run, and the agent that speaks now. */
export const AgentsTab = memo(function AgentsTab({
  place,
  root,
  error,
  events,
  activeAgents,
  isRunning,
  isPast,
}: AgentsTabProps) {
  const { appName, userId } = place;
  const [graphs, setGraphs] = useState<readonly GraphDescription[]>([]);
  const [ran, setRan] = useState<readonly GraphDescription[]>([]);
  const [graphError, setGraphError] = useState<string>();
  const [pathError, setPathError] = useState<string>();
  useEffect(() => {
    readGraphs(appName, userId)
      .then(setGraphs)
      .catch((thrown: unknown) => setGraphError(messageOf(thrown)));
  }, [appName, userId]);
  const newest = events.at(-1);
  const invocationId = events.findLast(isOfRun)?.invocationId;
  const seen = useMemo(() => {
    const run = events.filter((event) => event.invocationId === invocationId);
    // An agent that is called as a tool is named by its call before it has spoken.
    const calls = run.flatMap(
      ({ content }) => content?.parts?.flatMap(({ functionCall }) => functionCall?.name ?? []) ?? [],
    );
    return new Set([...run.map(({ author }) => author), ...calls]);
  }, [events, invocationId]);
  // The server derives the path from the events. The page does not get all events of an active run, so the path is also
  // read at intervals.
  const [tick, setTick] = useState(0);
  const hasGraphs = graphs.length > 0;
  useEffect(() => {
    if (!isRunning || isPast || !hasGraphs) return;
    const timer = setInterval(() => setTick((count) => count + 1), READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isRunning, isPast, hasGraphs]);
  const spans = useRunningSpans(place, isRunning && !isPast && hasGraphs);
  const newestId = newest?.id;
  useEffect(() => {
    if (!hasGraphs || invocationId === undefined || invocationId.startsWith('local-')) return;
    let isCurrent = true;
    readGraphRuns(place, invocationId)
      .then((found) => {
        if (!isCurrent) return;
        setRan(found);
        setPathError(undefined);
      })
      .catch((thrown: unknown) => {
        // The newest event may belong to no run, because a client that imported the session wrote it.
        if (isCurrent && !(ServerError.isInstance(thrown) && thrown.status === 404)) setPathError(messageOf(thrown));
      });
    return () => {
      isCurrent = false;
    };
  }, [hasGraphs, place, invocationId, newestId, tick]);
  const shown = useMemo(() => (isPast ? new Set(events.map(({ id }) => id)) : undefined), [events, isPast]);
  const failure = error ?? graphError ?? pathError;
  const alert = failure !== undefined && (
    <p className="error" role="alert">
      {failure}
    </p>
  );
  if (!root) return alert || <p className="empty">Loading…</p>;
  const paths = graphs.map(({ graph }, index) => {
    // Graphs of one name are in the same order in both lists.
    const isSame = (each: GraphDescription): boolean => each.graph.name === graph.name;
    const before = graphs.slice(0, index).filter(isSame).length;
    const path = pathOf(ran.filter(isSame)[before]?.runs ?? [], shown);
    const working = spans.flatMap(({ kind, attributes }) =>
      kind === 'node' && attributes['gen_ai.agent.name'] === graph.name
        ? String(attributes['eventloom.node.name'])
        : [],
    );
    return working.length === 0 ? path : { ...path, open: new Set([...path.open, ...working]) };
  });
  const working = new Set(
    graphs.flatMap(({ graph }, index) => {
      const open = paths[index]?.open ?? NO_NAMES;
      return open.size > 0 ? [graph.name, ...open] : [];
    }),
  );
  // A node of a workflow is the author of its events, and does not work any more once it is done.
  const done = new Set(paths.flatMap((path) => [...path.done]));
  for (const name of activeAgents) if (!done.has(name)) working.add(name);
  // The first agent works before it has spoken.
  if (working.size === 0) working.add(root.name);
  return (
    <div className="agents">
      {alert}
      {seen.size > 0 && (
        <p className="legend">
          <span className="agent" data-seen="true">
            took part in the newest run
          </span>
          {isRunning && (
            <span className="agent" data-active="true">
              works now
            </span>
          )}
        </p>
      )}
      <ul className="tree">
        <AgentView agent={root} active={isRunning ? working : NO_NAMES} seen={seen} />
      </ul>
      {graphs.map((each, index) => (
        <GraphView key={index} description={each} path={paths[index] ?? NO_PATH} />
      ))}
    </div>
  );
});

const NO_NAMES: ReadonlySet<string> = new Set();

/** The path of an active run is read at this interval, in milliseconds. */
const READ_AGAIN_MS = 400;

interface AgentViewProps {
  readonly agent: ShownAgent;
  readonly active: ReadonlySet<string>;
  readonly seen: ReadonlySet<string>;
}

function AgentView({ agent, active, seen }: AgentViewProps) {
  const { name, kind, model, description, tools, subAgents, calledAgents, isRepeated } = agent;
  return (
    <li>
      <div className="agent" data-active={active.has(name)} data-seen={seen.has(name)}>
        <b>{name}</b> <small>{[kind, model].filter(Boolean).join(', ')}</small>
        {isRepeated ? <p>described above</p> : description !== '' && <p>{description}</p>}
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
          {[...subAgents, ...calledAgents].map((each, index) => (
            <AgentView key={index} agent={each} active={active} seen={seen} />
          ))}
        </ul>
      )}
    </li>
  );
}

const NODE_HEIGHT = 40;
const MIN_NODE_WIDTH = 90;
/** The mean width of a character of a node, in the units of the drawing. */
const CHARACTER = 8;
const LABEL_CHARACTER = 7;
const PADDING = 32;
const LABEL_HEIGHT = 18;
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
 * Returns the path at the newest moment, or at an earlier one whose events are given. Nodes that completed later are active at that moment.
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

const NO_PATH: Path = { done: NO_NAMES, open: NO_NAMES, edges: NO_NAMES };

const MIN_SCALE = 0.9;

interface Box extends Point {
  readonly width: number;
}

interface GraphViewProps {
  readonly description: GraphDescription;
  readonly path: Path;
}

function labelOf(node: string): string {
  if (node === START) return 'start';
  return node === END ? 'end' : node;
}

function GraphView({ description, path }: GraphViewProps) {
  const { name, nodes, edges } = description.graph;
  const id = useId();
  const layout = useMemo(() => {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: 'TB', nodesep: 24, edgesep: 16, ranksep: 40, marginx: 8, marginy: 8 });
    const add = (node: string): unknown =>
      graph.setNode(node, {
        width: Math.max(MIN_NODE_WIDTH, labelOf(node).length * CHARACTER + PADDING),
        height: NODE_HEIGHT,
      });
    for (const each of [START, ...nodes.map((node) => node.name)]) add(each);
    for (const { from, to, route = '' } of edges) {
      if (to === END && !graph.hasNode(END)) add(END);
      // Two routes may lead to the same node.
      const known = graph.edge(from, to) as { readonly route: string } | undefined;
      const label = known ? `${known.route}, ${route}` : route;
      graph.setEdge(from, to, {
        route: label,
        width: label.length * LABEL_CHARACTER,
        height: label === '' ? 0 : LABEL_HEIGHT,
        labelpos: 'c',
      });
    }
    dagre.layout(graph);
    return graph;
  }, [nodes, edges]);
  const { width = 0, height = 0 } = layout.graph();
  const drawn = layout.edges().map((edge) => ({
    ...(layout.edge(edge) as Point & { readonly points: readonly Point[]; readonly route: string }),
    key: edgeKey(edge.v, edge.w),
  }));
  const stateOf = (node: string): string => (path.open.has(node) ? 'active' : path.done.has(node) ? 'done' : 'idle');
  const described = nodes.map((node) => `${node.name} (${stateOf(node.name)})`).join(', ');
  return (
    <figure className="graph">
      <figcaption>{name}</figcaption>
      <div className="graph-scroll" tabIndex={0} role="group" aria-label={`Graph ${name}`}>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          // A small graph is not enlarged, and a large one is scrolled before its names get too small to read.
          style={{ maxWidth: width, minWidth: width * MIN_SCALE }}
          role="img"
          aria-label={`Graph ${name}: ${described}`}
        >
          <defs>
            {[false, true].map((isTaken) => (
              <marker
                key={String(isTaken)}
                id={`${id}-${isTaken}`}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="8"
                markerHeight="8"
                markerUnits="userSpaceOnUse"
                orient="auto"
              >
                <path className={isTaken ? 'arrow taken' : 'arrow'} d="M0,0L8,4L0,8z" />
              </marker>
            ))}
          </defs>
          {drawn.map(({ key, points }) => {
            const isTaken = path.edges.has(key);
            return (
              <path
                key={key}
                className="edge"
                data-taken={isTaken}
                markerEnd={`url(#${id}-${isTaken})`}
                d={curveThrough(points)}
              />
            );
          })}
          {drawn
            .filter(({ route }) => route !== '')
            .map(({ key, route, x, y }) => {
              const labelWidth = route.length * LABEL_CHARACTER + 4;
              return (
                <g
                  key={key}
                  className="edge-label"
                  transform={`translate(${x - labelWidth / 2} ${y - LABEL_HEIGHT / 2})`}
                >
                  <rect width={labelWidth} height={LABEL_HEIGHT} />
                  <text x={labelWidth / 2} y={LABEL_HEIGHT / 2 + 4}>
                    {route}
                  </text>
                </g>
              );
            })}
          {layout.nodes().map((node) => {
            const { x, y, width: nodeWidth } = layout.node(node) as Box;
            const isEnd = node === START || node === END;
            return (
              <g
                key={node}
                transform={`translate(${x - nodeWidth / 2} ${y - NODE_HEIGHT / 2})`}
                data-node={node}
                data-state={stateOf(node)}
              >
                <rect width={nodeWidth} height={NODE_HEIGHT} rx={isEnd ? NODE_HEIGHT / 2 : 8} />
                <text x={nodeWidth / 2} y={NODE_HEIGHT / 2 + 4}>
                  {labelOf(node)}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </figure>
  );
}

/** Returns the path of a curve that passes near the inner points of an edge. */
function curveThrough(points: readonly Point[]): string {
  const [first, ...others] = points;
  const last = others.at(-1);
  if (!first || !last) return '';
  const inner = others.slice(0, -1).map(({ x, y }, index) => {
    const next = others[index + 1] ?? last;
    return `Q${x},${y} ${(x + next.x) / 2},${(y + next.y) / 2}`;
  });
  return `M${first.x},${first.y}${inner.join('')}L${last.x},${last.y}`;
}
