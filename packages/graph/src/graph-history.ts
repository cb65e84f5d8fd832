import {
  enclosedBranch,
  enclosureOf,
  type Event,
  getFunctionCalls,
  inputRequestOf,
  isBaseAgent,
  type JsonValue,
  ObjectType,
} from '@eventloom/core';
import { BEGIN, changedChannels, type Checkpoint, checkpointOf, FINISH, placeOf } from './checkpoint.ts';
import type { GraphPlan } from './graph-plan.ts';
import { GraphRecord } from './graph-record.ts';
import { isGraphAgent } from './is-graph-agent.ts';
import { END } from './names.ts';

/** One node run of a step that is done. */
export interface NodeHistory {
  readonly node: string;
  /** Names the run in its graph. */
  readonly run: string;
  readonly input?: JsonValue;
  readonly output?: JsonValue;
  /** Where it went on. */
  readonly next: readonly string[];
  /** The event that it came to. */
  readonly eventId: string;
  /** When that was, in seconds since the epoch. */
  readonly timestamp: number;
  /** The runs that it started, in the order in which they were done. */
  readonly inner?: readonly Omit<NodeHistory, 'next' | 'input'>[];
  /** The run of the graph that the node is. */
  readonly graph?: GraphHistory;
}

/** One super-step. The last one may have nodes that are not done. */
export interface StepHistory {
  /** From 1. */
  readonly step: number;
  /** In the order of the step. */
  readonly nodes: readonly NodeHistory[];
  /** The nodes that are not done. */
  readonly open: readonly string[];
  /** The channels after what is done of it. */
  readonly state: Readonly<Record<string, JsonValue>>;
}

/** What a node asked that nobody answered. */
export interface OpenQuestion {
  readonly node: string;
  /** What it is answered by: the id of the function call. */
  readonly id: string;
  readonly message?: string;
  readonly payload?: unknown;
  readonly responseSchema?: Readonly<Record<string, unknown>>;
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

/** The runs of a graph in one run of a runner, in the order in which they began; those in other branches, and in nodes, not. */
export function graphHistories(
  plan: GraphPlan,
  { events, invocationId }: HistoryQuery,
  branch?: string,
): GraphHistory[] {
  const executions = new Map<string, Event[]>();
  const own = events.filter((event) => event.invocationId === invocationId);
  for (const event of own) {
    const { author, executionId = '' } = event;
    if (checkpointOf(event)?.run === BEGIN && author === plan.name && (branch === undefined || event.branch === branch))
      executions.set(executionId, []);
    executions.get(executionId)?.push(event);
  }
  return [...executions].map(([executionId, of]) => historyOf(plan, executionId, of, own));
}

function historyOf(
  plan: GraphPlan,
  executionId: string,
  events: readonly Event[],
  own: readonly Event[],
): GraphHistory {
  const record = new GraphRecord(plan);
  const state: Record<string, JsonValue> = {};
  const steps: { step: number; nodes: NodeHistory[]; open: readonly string[]; state: Record<string, JsonValue> }[] = [];
  const inner = new Map<string, NodeHistory[]>();
  let entry: readonly string[] = [];
  let input: JsonValue | undefined;
  let output: JsonValue | undefined;
  for (const event of events) {
    if (event.author === 'user') continue;
    const { progress } = record;
    const before = { step: progress.step, tasks: progress.tasks };
    record.add(event);
    const checkpoint = checkpointOf(event);
    if (!checkpoint) continue;
    fold(plan, state, checkpoint, event);
    const { run } = checkpoint;
    if (run === BEGIN) ({ next: entry = [], output: input } = checkpoint);
    if (run === FINISH) ({ output } = checkpoint);
    const [outer = run] = run.split('~');
    if (outer !== run) inner.set(outer, [...(inner.get(outer) ?? []), nodeOf(checkpoint, event)]);
    const place = placeOf(run);
    if (place === undefined || place.step === 0 || place.step !== before.step) continue;
    let step = steps.at(-1);
    if (step?.step !== place.step) steps.push((step = { step: place.step, nodes: [], open: [], state: {} }));
    step.nodes[place.index] = {
      ...nodeOf(checkpoint, event),
      ...given(before.tasks[place.index]?.input, 'input'),
      ...(inner.has(run) ? { inner: inner.get(run) ?? [] } : {}),
      ...nested(plan, checkpoint, event, own),
    };
    step.state = { ...state };
  }
  const open = record.progress.openTasks.map(({ node }) => node);
  if (open.length > 0 && !record.isFinished) {
    const last = steps.at(-1);
    if (last?.step === record.progress.step) last.open = open;
    else steps.push({ step: record.progress.step, nodes: [], open, state: { ...state } });
  }
  record.readAnswers({ session: { events: own } });
  const questions = record.isFinished ? [] : openQuestions(record, own);
  const status =
    record.isFinished || isHandedOver(events)
      ? 'finished'
      : isFailed(events, own)
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
    steps: steps.map((step) => ({ ...step, nodes: step.nodes.filter(Boolean) })),
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

function nodeOf({ node, run, output, next = [] }: Checkpoint, { id, timestamp }: Event): NodeHistory {
  return { node, run, ...given(output, 'output'), next, eventId: id, timestamp };
}

/** The run of a node that is a graph: the last attempt of it. */
function nested(
  plan: GraphPlan,
  { node, run }: Checkpoint,
  { branch }: Event,
  own: readonly Event[],
): { readonly graph?: GraphHistory } {
  const work = plan.nodes.get(node)?.work;
  if (!isBaseAgent(work) || !isGraphAgent(work)) return {};
  const prefix = enclosedBranch(branch, work.name, run);
  const [invocation] = own;
  const branches = [...new Set(own.map((event) => event.branch ?? ''))].filter(
    (each) => each === prefix || each.startsWith(`${prefix}!`),
  );
  const last = branches.at(-1);
  const graph =
    last === undefined
      ? undefined
      : graphHistories(work.plan, { events: own, invocationId: invocation?.invocationId ?? '' }, last).at(-1);
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

function openQuestions(record: GraphRecord, own: readonly Event[]): OpenQuestion[] {
  return [...record.openQuestions.values()].flat().map(({ call }) => {
    const { message, payload, responseSchema } = inputRequestOf(call) ?? {};
    const asked = own.find((event) => getFunctionCalls(event).some(({ id }) => id === call.id));
    return {
      node: asked?.author ?? END,
      id: call.id ?? '',
      ...(message === undefined ? {} : { message }),
      ...(payload === undefined ? {} : { payload }),
      ...(responseSchema === undefined ? {} : { responseSchema }),
    };
  });
}

function given<K extends string>(value: JsonValue | undefined, key: K): { readonly [P in K]?: JsonValue } {
  // One key, by its name.
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: JsonValue };
}
