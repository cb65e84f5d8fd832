import { type Event, type JsonValue, ObjectType } from '@eventloom/core';
import {
  type SessionCall,
  Calls,
  enclosedBranch,
  enclosureOf,
  isFailure,
  isInput,
  inputRequestOf,
  isBaseAgent,
} from '@eventloom/core/internal';
import { type StateChanges, ChannelHistory } from './channel-history.ts';
import { START_RUN, type Checkpoint, checkpointOf, FINISH, outermostRun, placeOf, runId } from './checkpoint.ts';
import type { NodeWork } from './graph-node.ts';
import type { GraphPlan } from './graph-plan.ts';
import type { Task } from './graph-progress.ts';
import { GraphRecord } from './graph-record.ts';
import { isGraphAgent } from './is-graph-agent.ts';
import { RunEvents, type Stretch } from './run-events.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A node run that is not complete. */
export interface OpenNode {
  readonly node: string;
  /** Id of the node run, unique in the run of the graph. */
  readonly run: string;
  readonly input?: JsonValue;
  /** The completed runs that this node started with `runNode`, in the order of completion; absent if there are none. */
  readonly inner?: readonly Omit<NodeHistory, 'next' | 'input'>[];
  /** The graph run of the node's last attempt, if the node is a graph. */
  readonly graph?: GraphHistory;
}

/** A completed node run. */
export interface NodeHistory extends OpenNode {
  readonly output?: JsonValue;
  /** Names of the nodes that followed. */
  readonly next: readonly string[];
  /** Id of the event that stores the completion. */
  readonly eventId: string;
  /** Time of the event in seconds since the epoch. */
  readonly timestamp: number;
}

/** One step of a graph run. Only the last one may have nodes that are not complete. */
export interface StepHistory extends StateChanges {
  /** Number of the step, from 1. */
  readonly step: number;
  /** The completed node runs, in the order of the step. */
  readonly nodes: readonly NodeHistory[];
  /** The node runs that are not complete. */
  readonly open: readonly OpenNode[];
}

/** One run of a graph, read from its events. */
export interface GraphHistory {
  readonly executionId: string;
  /** `open`: still running, or interrupted when its process ended. `waiting`: a question is unanswered. */
  readonly status: 'open' | 'waiting' | 'finished' | 'failed';
  readonly input?: JsonValue;
  readonly output?: JsonValue;
  /** Channel values at the beginning of the run. Use `stateAfter` for the values after a step. */
  readonly initialState: Readonly<Record<string, JsonValue>>;
  /** Channel values after the last event. */
  readonly state: Readonly<Record<string, JsonValue>>;
  /** Names of the nodes that followed `START`. */
  readonly entry: readonly string[];
  readonly steps: readonly StepHistory[];
  readonly questions: readonly OpenQuestion[];
}

/** Selects the graph runs of one invocation. */
export interface HistoryQuery {
  /** The events of the session, or only those of the invocation, in order. */
  readonly events: readonly Event[];
  readonly invocationId: string;
}

/** Returns the runs of a graph in one invocation, in the order in which they began. Includes runs as a node or a tool. */
export function graphHistories(plan: GraphPlan, { events, invocationId }: HistoryQuery): GraphHistory[] {
  const own = new RunEvents(events, invocationId);
  // Events after the next beginning on the same branch belong to that run.
  const ends = new Map<string | undefined, number>();
  const histories: GraphHistory[] = [];
  for (let from = own.all.length - 1; from >= 0; from--) {
    const start = own.all[from];
    if (!start || !isStart(plan, start)) continue;
    const to = ends.get(start.branch) ?? own.all.length;
    ends.set(start.branch, from);
    histories.push(historyOf(plan, start, own, { from, to }));
  }
  return histories.reverse();
}

function isStart(plan: GraphPlan, event: Event): boolean {
  return checkpointOf(event)?.run === START_RUN && event.author === plan.name;
}

/** @param stretch the range of events that may belong to the run, from its beginning */
function historyOf(plan: GraphPlan, start: Event, events: RunEvents, stretch: Stretch): GraphHistory {
  const { executionId = '', branch } = start;
  const own = events.ofExecution(executionId, stretch);
  const keys = [...plan.channels.values()].flatMap(({ stateKey }) => stateKey ?? []);
  const executed = keys.length === 0 ? own : events.ofExecutionAndKeys(executionId, keys, until(own, events, stretch));
  const record = new GraphRecord(plan);
  const channels = new ChannelHistory(plan);
  const steps: (Mutable<StepHistory> & { readonly nodes: NodeHistory[] })[] = [];
  const inner = new Map<string, NodeHistory[]>();
  const nodeOf = ({ node, input }: Task, run: string): OpenNode => ({
    node,
    run,
    ...given(input, 'input'),
    ...(inner.has(run) ? { inner: inner.get(run) ?? [] } : {}),
    ...nested(plan.nodes.get(node)?.work, run, branch, events, stretch),
  });
  let initialState: Readonly<Record<string, JsonValue>> = {};
  let entry: readonly string[] = [];
  let input: JsonValue | undefined;
  let output: JsonValue | undefined;
  const stepOf = (step: number): (typeof steps)[number] => {
    let last = steps.at(-1);
    if (last?.step !== step) steps.push((last = { step, nodes: [], open: [], changed: {}, added: {} }));
    return last;
  };
  for (const event of executed) {
    if (event.executionId !== executionId || isInput(event)) {
      channels.noteKeys(event);
      continue;
    }
    const { step, tasks } = record.progress;
    record.add(event);
    const checkpoint = checkpointOf(event);
    if (!checkpoint) continue;
    channels.add(checkpoint, event);
    const { run } = checkpoint;
    if (run === START_RUN) {
      ({ next: entry = [], output: input } = checkpoint);
      initialState = channels.takeChanges().changed;
    }
    if (run === FINISH) ({ output } = checkpoint);
    const outer = startedBy(run);
    if (outer !== undefined) {
      const others = inner.get(outer);
      if (others) others.push(doneOf(checkpoint, event));
      else inner.set(outer, [doneOf(checkpoint, event)]);
    }
    const place = placeOf(run);
    const task = place?.step === step ? tasks[place.index] : undefined;
    if (!task || step === 0) continue;
    const last = stepOf(step);
    last.nodes[task.index] = { ...nodeOf(task, run), ...doneOf(checkpoint, event) };
    if (record.progress.step !== step || record.progress.isAtEnd) Object.assign(last, channels.takeChanges());
  }
  const { step, openTasks } = record.progress;
  if (openTasks.length > 0 && !record.isFinished) {
    const open = openTasks.map((task) => nodeOf(task, runId(step, task.index)));
    Object.assign(stepOf(step), { open, ...channels.takeChanges() });
  }
  const questions = openQuestions(start, record.isFinished ? [] : events.all.slice(stretch.from, stretch.to));
  const status = statusOf(record, own, questions, events, stretch);
  return {
    executionId,
    status,
    ...given(input, 'input'),
    ...given(output, 'output'),
    initialState,
    state: channels.state(),
    entry,
    steps: steps.map((each) => ({ ...each, nodes: each.nodes.filter(Boolean) })),
    // The questions of a run that has ended cannot be answered.
    questions: status === 'failed' || status === 'finished' ? [] : questions,
  };
}

/** Returns the range up to the end of a finished graph: later changes of others do not belong to its run. */
function until(own: readonly Event[], { all }: RunEvents, stretch: Stretch): Stretch {
  const last = own.at(-1);
  return last && checkpointOf(last)?.run === FINISH ? { ...stretch, to: all.indexOf(last, stretch.from) + 1 } : stretch;
}

/** Returns the id of the step's run that started this run; undefined if this is itself a run of a step. */
function startedBy(run: string): string | undefined {
  const outer = outermostRun(run);
  return outer === run ? undefined : outer;
}

function statusOf(
  { isFinished }: GraphRecord,
  own: readonly Event[],
  questions: readonly OpenQuestion[],
  events: RunEvents,
  { from, to }: Stretch,
): GraphHistory['status'] {
  if (isFinished || isHandedOver(own)) return 'finished';
  if (isFailed(own, events.all.slice(from, to))) return 'failed';
  return questions.length > 0 ? 'waiting' : 'open';
}

/** Returns true if a node ended the graph with a transfer. */
function isHandedOver(events: readonly Event[]): boolean {
  return events.some(({ actions }) => actions.transferToAgent !== undefined);
}

/** Returns true if the invocation failed or was abandoned after the graph's last checkpoint. */
function isFailed(events: readonly Event[], own: readonly Event[]): boolean {
  const last = events.findLast((event) => checkpointOf(event) !== undefined);
  if (!last) return false;
  const enclosure = enclosureOf(last.branch);
  return own
    .slice(own.indexOf(last) + 1)
    .some(
      (event) =>
        event.object === ObjectType.runnerEnd || (isFailure(event) && enclosure.startsWith(enclosureOf(event.branch))),
    );
}

function doneOf({ node, run, output, next = [] }: Checkpoint, { id, timestamp }: Event): NodeHistory {
  return { node, run, ...given(output, 'output'), next, eventId: id, timestamp };
}

/** Returns the run of a node that is a graph, of its last attempt; nothing for other nodes. */
function nested(
  work: NodeWork | undefined,
  run: string,
  branch: string | undefined,
  events: RunEvents,
  stretch: Stretch,
): { readonly graph?: GraphHistory } {
  if (!isBaseAgent(work) || !isGraphAgent(work)) return {};
  const { plan } = work;
  const place = enclosedBranch(branch, work.name, run);
  const from = events.lastOnBranch(place, stretch, (event) => isStart(plan, event)) ?? stretch.to;
  const start = events.all[from];
  return start && from < stretch.to ? { graph: historyOf(plan, start, events, { from, to: stretch.to }) } : {};
}

function given<K extends string>(value: JsonValue | undefined, key: K): { readonly [P in K]?: JsonValue } {
  // The object has only this one key.
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: JsonValue };
}

/** An unanswered question of a node, or of an agent, tool or graph inside a node. */
export interface OpenQuestion {
  /** Name of the node that asked. */
  readonly node: string;
  /** Name of the function call: `adk_request_input`, `adk_request_confirmation`, or that of a long-running tool. */
  readonly name: string;
  /** Id of the function call. The function response that answers it must have the same id. */
  readonly id: string;
  readonly message?: string;
  readonly payload?: unknown;
  readonly responseSchema?: Readonly<Record<string, unknown>>;
}

/** A branch segment of an agent that runs inside a graph node. */
const NODE_WORLD = /^[^.@]+@\d+-\d/;

/**
 * Returns the long-running calls and requests of a graph, and of everything within its nodes, that have no response, oldest first.
 *
 * @param start the first event of the graph
 * @param events of the run of the runner, from there on
 */
export function openQuestions({ executionId, branch }: Event, events: readonly Event[]): OpenQuestion[] {
  const prefix = branch === undefined ? '' : `${branch}.`;
  const isWithin = ({ event }: SessionCall): boolean =>
    event.executionId === executionId ||
    (event.branch !== undefined &&
      event.branch.startsWith(prefix) &&
      NODE_WORLD.test(event.branch.slice(prefix.length)));
  return new Calls(events).waiting.filter(isWithin).map(({ id, call, event }) => {
    const { key: _, ...question } = inputRequestOf(call) ?? { key: '' };
    return { node: event.author, name: call.name ?? '', id, ...question };
  });
}
