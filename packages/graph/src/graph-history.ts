import { enclosedBranch, enclosureOf, type Event, isBaseAgent, type JsonValue, ObjectType } from '@eventloom/core';
import { BEGIN, changedChannels, type Checkpoint, checkpointOf, FINISH, placeOf, runId } from './checkpoint.ts';
import type { GraphPlan } from './graph-plan.ts';
import type { NodeWork } from './graph-node.ts';
import type { Task } from './graph-progress.ts';
import { GraphRecord } from './graph-record.ts';
import { isGraphAgent } from './is-graph-agent.ts';
import { type OpenQuestion, openQuestions } from './open-questions.ts';

/** One node run that is not done. */
export interface OpenNode {
  readonly node: string;
  /** Names the run in its graph. */
  readonly run: string;
  readonly input?: JsonValue;
  /** The runs that it started and that are done, in the order in which they came to an end. */
  readonly inner?: readonly Omit<NodeHistory, 'next' | 'input'>[];
  /** The run of the graph that the node is: of its last attempt. */
  readonly graph?: GraphHistory;
}

/** One node run that is done. */
export interface NodeHistory extends OpenNode {
  readonly output?: JsonValue;
  /** Where it went on. */
  readonly next: readonly string[];
  /** The event that it came to. */
  readonly eventId: string;
  /** When that was, in seconds since the epoch. */
  readonly timestamp: number;
}

/** One super-step. The last one may have nodes that are not done. */
export interface StepHistory {
  /** From 1. */
  readonly step: number;
  /** In the order of the step. */
  readonly nodes: readonly NodeHistory[];
  /** The nodes that are not done. */
  readonly open: readonly OpenNode[];
  /** The channels after what is done of it. */
  readonly state: Readonly<Record<string, JsonValue>>;
}

/** One run of a graph, as its events tell it. */
export interface GraphHistory {
  readonly executionId: string;
  /** `open`: under way, or left by its process. */
  readonly status: 'open' | 'waiting' | 'finished' | 'failed';
  readonly input?: JsonValue;
  readonly output?: JsonValue;
  /** The channels as they are now. */
  readonly state: Readonly<Record<string, JsonValue>>;
  /** Where it went on from `START`. */
  readonly entry: readonly string[];
  readonly steps: readonly StepHistory[];
  readonly questions: readonly OpenQuestion[];
}

/** Which runs are looked for. */
export interface HistoryQuery {
  /** The events of a session, in order, or those of one run. */
  readonly events: readonly Event[];
  readonly invocationId: string;
}

/**
 * The runs of a graph in one run of a runner, in the order in which they began: wherever it was run, as a node and as a tool too.
 * @param branch those on this branch alone
 */
export function graphHistories(
  plan: GraphPlan,
  { events, invocationId }: HistoryQuery,
  branch?: string,
): GraphHistory[] {
  const own = events.filter((event) => event.invocationId === invocationId);
  const begins = own.filter(
    (event) =>
      checkpointOf(event)?.run === BEGIN &&
      event.author === plan.name &&
      (branch === undefined || event.branch === branch),
  );
  return begins.map((begin) => {
    // What comes after the next begin in the same place is of that run.
    const next = begins.find((each) => each.branch === begin.branch && own.indexOf(each) > own.indexOf(begin));
    return historyOf(plan, begin, own.slice(own.indexOf(begin), next ? own.indexOf(next) : undefined));
  });
}

/** @param events those of the run of the runner, from the begin of the graph on */
function historyOf(plan: GraphPlan, begin: Event, events: readonly Event[]): GraphHistory {
  const { executionId = '', branch } = begin;
  const own = events.filter((event) => event.executionId === executionId && event.author !== 'user');
  const record = new GraphRecord(plan);
  const state: Record<string, JsonValue> = {};
  const steps: { step: number; nodes: NodeHistory[]; open: readonly OpenNode[]; state: Record<string, JsonValue> }[] =
    [];
  const inner = new Map<string, NodeHistory[]>();
  const nodeOf = ({ node, input }: Task, run: string): OpenNode => ({
    node,
    run,
    ...given(input, 'input'),
    ...(inner.has(run) ? { inner: inner.get(run) ?? [] } : {}),
    ...nested(plan.nodes.get(node)?.work, run, branch, events),
  });
  let entry: readonly string[] = [];
  let input: JsonValue | undefined;
  let output: JsonValue | undefined;
  for (const event of own) {
    const { step, tasks } = record.progress;
    record.add(event);
    const checkpoint = checkpointOf(event);
    if (!checkpoint) continue;
    fold(plan, state, checkpoint, event);
    const { run } = checkpoint;
    if (run === BEGIN) ({ next: entry = [], output: input } = checkpoint);
    if (run === FINISH) ({ output } = checkpoint);
    const [outer = run] = run.split('~');
    if (outer !== run) inner.set(outer, [...(inner.get(outer) ?? []), doneOf(checkpoint, event)]);
    const place = placeOf(run);
    const task = place?.step === step ? tasks[place.index] : undefined;
    if (!task || step === 0) continue;
    let last = steps.at(-1);
    if (last?.step !== step) steps.push((last = { step, nodes: [], open: [], state: {} }));
    last.nodes[task.index] = { ...nodeOf(task, run), ...doneOf(checkpoint, event) };
    last.state = { ...state };
  }
  const { step, openTasks } = record.progress;
  if (openTasks.length > 0 && !record.isFinished) {
    const open = openTasks.map((task) => nodeOf(task, runId(step, task.index)));
    const last = steps.at(-1);
    if (last?.step === step) last.open = open;
    else steps.push({ step, nodes: [], open, state: { ...state } });
  }
  const questions = record.isFinished ? [] : openQuestions(begin, events);
  const status =
    record.isFinished || isHandedOver(own)
      ? 'finished'
      : isFailed(own, events)
        ? 'failed'
        : questions.length > 0
          ? 'waiting'
          : 'open';
  return {
    executionId,
    status,
    ...given(input, 'input'),
    ...given(output, 'output'),
    state,
    entry,
    steps: steps.map((each) => ({ ...each, nodes: each.nodes.filter(Boolean) })),
    questions,
  };
}

/** True for a graph that a node ended by handing over. */
function isHandedOver(events: readonly Event[]): boolean {
  return events.some(({ actions }) => actions.transferToAgent !== undefined);
}

/** True when the run around the graph failed, or was given up, after all that the graph said. */
function isFailed(events: readonly Event[], own: readonly Event[]): boolean {
  const last = events.findLast((event) => checkpointOf(event) !== undefined);
  if (!last) return false;
  const enclosure = enclosureOf(last.branch);
  return own
    .slice(own.indexOf(last) + 1)
    .some(
      ({ object, branch }) =>
        object === ObjectType.runnerEnd || (object === ObjectType.error && enclosure.startsWith(enclosureOf(branch))),
    );
}

function doneOf({ node, run, output, next = [] }: Checkpoint, { id, timestamp }: Event): NodeHistory {
  return { node, run, ...given(output, 'output'), next, eventId: id, timestamp };
}

/** The run of a node that is a graph: the last attempt of it. */
function nested(
  work: NodeWork | undefined,
  run: string,
  branch: string | undefined,
  events: readonly Event[],
): { readonly graph?: GraphHistory } {
  if (!isBaseAgent(work) || !isGraphAgent(work)) return {};
  const prefix = enclosedBranch(branch, work.name, run);
  const last = events.findLast((event) => event.branch === prefix || event.branch?.startsWith(`${prefix}!`));
  if (!last) return {};
  const graph = graphHistories(work.plan, { events, invocationId: last.invocationId }, last.branch).at(-1);
  return graph ? { graph } : {};
}

function fold(
  { channels }: GraphPlan,
  state: Record<string, JsonValue>,
  checkpoint: Checkpoint,
  { actions }: Event,
): void {
  Object.assign(
    state,
    changedChannels(checkpoint, (name) => state[name]),
  );
  for (const [name, { stateKey }] of channels) {
    if (stateKey === undefined || !Object.hasOwn(actions.stateDelta, stateKey)) continue;
    // What is stored is JSON.
    state[name] = actions.stateDelta[stateKey] as JsonValue;
  }
}

function given<K extends string>(value: JsonValue | undefined, key: K): { readonly [P in K]?: JsonValue } {
  // One key, by its name.
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: JsonValue };
}
