import type { Event } from '@eventloom/core';
import { Calls, type RunDescription, type RunQuery } from '@eventloom/core/internal';
import { toMermaid } from '@eventloom/graph/internal';
import { AgentNode } from './agent-node.ts';
import { type BaseNode, START } from './base-node.ts';
import { ParallelWorker, RenamedNode } from './build-node.ts';
import type { Graph } from './graph.ts';
import { DEFAULT_ROUTE } from './graph.ts';
import { nodeOutputOf, type RouteValue } from './node-context.ts';
import { nodeEndOf } from './workflow-history.ts';
import { ToolNode } from './tool-node.ts';

/** The names of the start and the end in the description of a graph. */
const BEGIN = '__start__';
const END = '__end__';

/** A node with a graph of its own. */
interface DescribedWorkflow {
  readonly name: string;
  readonly graph: Graph;
}

/** A completed run of a node. */
interface PassedNode {
  readonly node: string;
  /** Names of the nodes that followed. */
  readonly next: string[];
  /** Id of the event that shows the completion. */
  readonly eventId: string;
  readonly timestamp: number;
}

/** Describes the graph of a workflow and its runs in an invocation, as a graph agent does. */
export function describeWorkflow(workflow: DescribedWorkflow, query: RunQuery): RunDescription {
  const { name, graph } = workflow;
  const runs = runsOf(workflow, query);
  const nodes = graph.nodes.filter((each) => each !== START).map((each) => ({ name: each.name, kind: kindOf(each) }));
  const described = { name, nodes, edges: edgesOf(graph) };
  const paths = runs.map((run) => run.describe());
  return { graph: described, runs: paths, mermaid: toMermaid(described, paths.at(-1)) };
}

function kindOf(node: BaseNode): string {
  if (node.requiresAllPredecessors) return 'join';
  if (graphOf(node)) return 'graph';
  if (node instanceof RenamedNode || node instanceof ParallelWorker) return kindOf(node.inner);
  if (node instanceof AgentNode) return 'agent';
  return node instanceof ToolNode ? 'tool' : 'function';
}

/** The graph of a node that is a workflow; undefined for other nodes. */
function graphOf(node: BaseNode): Graph | undefined {
  const inner = node instanceof RenamedNode ? node.inner : node;
  return '~eventloom.adk-workflow' in inner && 'graph' in inner ? (inner.graph as Graph | undefined) : undefined;
}

function edgesOf({ edges, terminalNodeNames }: Graph): RunDescription['graph']['edges'] {
  const between = edges.flatMap(({ fromNode, toNode, route }) => {
    const edge = { from: fromNode === START ? BEGIN : fromNode.name, to: toNode.name };
    const routes = Array.isArray(route) ? (route as readonly RouteValue[]) : [route as RouteValue | null];
    return routes.map((each) => (each === null ? edge : { ...edge, route: labelOf(each) }));
  });
  return [...between, ...[...terminalNodeNames].map((from) => ({ from, to: END }))];
}

function labelOf(route: RouteValue): string {
  return route === DEFAULT_ROUTE ? 'otherwise' : String(route);
}

/** The runs of a workflow in an invocation, in the order in which they began: as an agent, and as a node of other workflows. */
function runsOf({ name, graph }: DescribedWorkflow, { events, invocationId }: RunQuery): Walk[] {
  const runs: Walk[] = [];
  const current = new Map<string, Walk>();
  const begin = (path: string): Walk => {
    const run = new Walk(graph, path);
    runs.push(run);
    current.set(path, run);
    return run;
  };
  const asking = new Set(new Calls(events).waiting.map((call) => call.event));
  for (const event of events) {
    if (event.invocationId !== invocationId) continue;
    if (event.author === name && event.actions.agentState?.['begun'] === true) begin(name);
    const names = event.nodeInfo?.path?.split('.') ?? [];
    for (const [at, each] of names.entries()) {
      if (nameOf(each) !== name || at === names.length - 1) continue;
      const path = names.slice(0, at + 1).join('.');
      const known = current.get(path);
      const run = !known || (known.isFinished && saysMore(event)) ? begin(path) : known;
      run.take(event, names.slice(at + 1));
      if (asking.has(event)) run.isWaiting = true;
    }
  }
  return runs;
}

/** The name of a node without the id that `runNode` adds. */
function nameOf(step: string): string {
  return step.split('@', 1)[0] ?? step;
}

/** False for an event that only belongs to the end of a node which is done. */
function saysMore(event: Event): boolean {
  return event.content !== undefined || nodeOutputOf(event) !== undefined || nodeEndOf(event)?.amends === false;
}

/** The way of one run through the graph of a workflow, read from the events of its nodes. */
class Walk {
  readonly #graph: Graph;
  readonly #path: string;
  readonly #entry: string[];
  readonly #completions: PassedNode[] = [];
  /** Nodes that run, with the number of their runs. */
  readonly #open = new Map<string, number>();
  /** The last completion of each node that was not reached again since. */
  readonly #done = new Map<string, PassedNode>();
  /** Runs of the workflows in the nodes that run. */
  readonly #inner = new Map<string, Walk>();
  /** True if a question of a node has no answer. */
  isWaiting = false;
  #hasFailed = false;

  constructor(graph: Graph, path: string) {
    this.#graph = graph;
    this.#path = path;
    this.#entry = graph.getNextPendingNodes(START.name, undefined);
    for (const name of this.#entry) this.#trigger(name);
  }

  get isFinished(): boolean {
    return this.#open.size === 0;
  }

  /** The run as JSON. Each completion is a step of its own, because nodes do not wait for those beside them. */
  describe() {
    const open = [...this.#open.keys()].map((node) => ({ node }));
    const none: typeof open = [];
    const steps = this.#completions.map((each, index) => ({ step: index + 1, nodes: [each], open: none }));
    if (open.length > 0) steps.push({ step: steps.length + 1, nodes: [], open });
    const unfinished = this.#hasFailed ? 'failed' : this.isWaiting ? 'waiting' : 'open';
    return { status: this.isFinished ? 'finished' : unfinished, entry: this.#entry, steps };
  }

  /** @param names the names of the nodes below the workflow in the path of the event */
  take(event: Event, [first = '', ...below]: readonly string[]): void {
    const name = nameOf(first);
    const node = this.#graph.nodes.find((each) => each.name === name);
    if (!node) return;
    const path = `${this.#path}.${first}`;
    const end = below.length === 0 ? nodeEndOf(event) : undefined;
    const isOutput =
      nodeOutputOf(event) !== undefined && (below.length === 0 || event.nodeInfo?.outputFor?.includes(path) === true);
    const hasRoute = below.length === 0 && event.route !== undefined;
    const route = end?.route ?? event.route;
    if (end?.amends === true && !this.#open.has(name) && this.#done.has(name)) return this.#amend(name, route);
    const isComplete = end !== undefined || (node.endsWithOutput && (isOutput || hasRoute));
    if (!this.#open.has(name)) {
      if (this.#done.has(name) && !isComplete) return;
      this.#reveal(name, event);
    }
    this.#hasFailed = event.errorCode !== undefined;
    const isDone = isComplete || this.#isDoneWithin(node, path, event, below);
    if (!isDone) return;
    const hasResult = isOutput || route !== undefined || (end !== undefined && 'output' in end);
    const isFollowed = !node.waitForOutput || hasResult || end?.amends === true;
    this.#complete(name, event, isFollowed ? this.#graph.getNextPendingNodes(name, route) : undefined);
  }

  /** True once all nodes of the workflow in a node are done: a workflow has no event of its end. */
  #isDoneWithin(node: BaseNode, path: string, event: Event, below: readonly string[]): boolean {
    const graph = graphOf(node);
    if (!graph || below.length === 0) return false;
    const inner = this.#inner.get(node.name) ?? new Walk(graph, path);
    this.#inner.set(node.name, inner);
    inner.take(event, below);
    return inner.isFinished;
  }

  #trigger(name: string): void {
    this.#done.delete(name);
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
  }

  #complete(name: string, { id, timestamp }: Event, targets: readonly string[] | undefined): void {
    const left = (this.#open.get(name) ?? 1) - 1;
    if (left === 0) this.#open.delete(name);
    else this.#open.set(name, left);
    this.#inner.delete(name);
    const completion = { node: name, next: [], eventId: id, timestamp };
    this.#completions.push(completion);
    if (!targets) return;
    this.#done.set(name, completion);
    this.#follow(completion, targets);
  }

  #follow({ node, next }: PassedNode, targets: readonly string[]): void {
    if (this.#graph.terminalNodeNames.has(node)) next.push(END);
    for (const target of targets) {
      const before = this.#before(target);
      const isJoin = this.#graph.nodes.some((each) => each.name === target && each.requiresAllPredecessors);
      if (!isJoin) next.push(target);
      else if (!before.every((each) => this.#done.has(each))) continue;
      else for (const each of before) this.#done.get(each)?.next.push(target);
      this.#trigger(target);
    }
  }

  /** Follows the route that a later event of a completed run names. */
  #amend(name: string, route: RouteValue | readonly RouteValue[] | undefined): void {
    const completion = this.#done.get(name);
    if (!completion || route === undefined) return;
    for (const target of completion.next.splice(0)) this.#open.delete(target);
    this.#follow(completion, this.#graph.getNextPendingNodes(name, route));
  }

  /** Completes the nodes on the way to one that runs: those without an output leave no event if the run cannot be resumed. */
  #reveal(name: string, event: Event): void {
    const way = this.#wayTo(name, (each) => this.#open.has(each)) ?? this.#wayTo(name, (each) => this.#done.has(each));
    const [first, ...others] = way ?? [name];
    if (first !== undefined && first !== name) {
      const [second = name] = others;
      if (this.#open.has(first)) this.#complete(first, event, this.#always(first, second));
      else {
        this.#done.get(first)?.next.push(second);
        this.#trigger(second);
      }
      for (const [at, each] of others.slice(0, -1).entries())
        this.#complete(each, event, this.#always(each, others[at + 1] ?? name));
    }
    if (!this.#open.has(name)) this.#trigger(name);
  }

  /** The nodes that always follow a node, and one more. */
  #always(name: string, target: string): string[] {
    const always = this.#graph.edges.filter(({ fromNode, route }) => fromNode.name === name && route === null);
    return Array.from(new Set([...always.map(({ toNode }) => toNode.name), target]));
  }

  /** The shortest way to a node from one that fits, over nodes that never completed; undefined if there is none. */
  #wayTo(name: string, fits: (name: string) => boolean): string[] | undefined {
    const seen = new Set([name]);
    const ways = [[name]];
    for (const way of ways) {
      const [from = ''] = way;
      for (const before of this.#before(from)) {
        if (seen.has(before) || before === START.name) continue;
        seen.add(before);
        if (fits(before)) return [before, ...way];
        if (!this.#open.has(before) && !this.#done.has(before)) ways.push([before, ...way]);
      }
    }
    return undefined;
  }

  #before(name: string): string[] {
    return this.#graph.edges.filter(({ toNode }) => toNode.name === name).map(({ fromNode }) => fromNode.name);
  }
}
