import type { Event } from '@eventloom/core';
import { Calls, stateOf } from '@eventloom/core/internal';
import { callKey } from './given-answers.ts';
import type { KeptSpan, ModelPrice } from './studio-client.ts';

type Prices = Readonly<Record<string, ModelPrice>>;

/** A bar of the waterfall. */
export interface Span {
  readonly id: string;
  readonly label: string;
  readonly kind: KeptSpan['kind'];
  readonly depth: number;
  /** Seconds since the epoch. */
  readonly start: number;
  readonly end: number;
  /** True if the bar has no end yet. */
  readonly isOpen: boolean;
  readonly isFailed: boolean;
  /** True for a question to a person, and for a call that waits for its answer. */
  readonly isWait?: boolean;
  /** Tokens and cost. Only for model calls. */
  readonly use?: ModelUse;
  readonly details: Details;
  /** Names and values of an operation that was made from events. Spans of the server are read when they are opened. */
  readonly content?: Readonly<Record<string, unknown>>;
}

type Details = Readonly<Record<string, string | number>>;

/** Tokens and cost of a model call, if they are known. */
export interface ModelUse {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cached?: number | undefined;
  readonly firstTokenMs?: number | undefined;
  readonly cost?: number | undefined;
}

/** The `object` of an event with the input of an agent that a tool runs. */
const AGENT_INPUT = 'agent.input';

interface AgentRun {
  readonly id: string;
  readonly parentId: string | undefined;
  agent: string;
  readonly events: Event[];
}

/**
 * Returns the bars of one run, made from its events, in drawing order: each agent, with its calls below it.
 *
 * @param now seconds since the epoch, at which the open bars of a run in progress end. Undefined for a run that is not in progress
 */
export function spansOf(
  events: readonly Event[],
  invocationId: string,
  prices: Prices = {},
  now?: number,
): readonly Span[] {
  const run = events.filter((event) => event.invocationId === invocationId);
  const first = run[0];
  const last = run.at(-1);
  if (!first || !last) return [];
  // Events of other servers have none.
  const hasExecutions = run.some((event) => event.executionId !== undefined);
  const executions = new Map<string, AgentRun>();
  for (const event of run) {
    if (event.author === 'user') continue;
    const { parentExecutionId, author, branch = '' } = event;
    const { executionId = hasExecutions ? undefined : `${branch} ${author}` } = event;
    if (executionId === undefined) continue;
    const known = executions.get(executionId);
    if (known) known.events.push(event);
    else executions.set(executionId, { id: executionId, parentId: parentExecutionId, agent: author, events: [event] });
    // The event with the input of an agent that a tool runs has the caller as its author.
    if (known && known.events[0]?.object === AGENT_INPUT) known.agent = author;
  }
  const failed = run.some(({ errorCode }) => errorCode !== undefined);
  const runEnd = Math.max(last.timestamp, now ?? 0);
  const calls = new Calls(run);
  const spans: Span[] = [
    {
      id: invocationId,
      label: 'run',
      kind: 'run',
      depth: 0,
      start: first.timestamp,
      end: runEnd,
      isOpen: now !== undefined,
      isFailed: failed,
      details: { events: run.length },
    },
  ];
  const add = (execution: AgentRun, depth: number, start: number): void => {
    const children = Array.from(executions.values()).filter(({ parentId }) => parentId === execution.id);
    const end = Math.max(...[execution, ...children].map(({ events: own }) => own.at(-1)?.timestamp ?? start));
    spans.push({
      // The first execution of a run has the run's id.
      id: `agent-${execution.id}`,
      label: execution.agent,
      kind: 'agent',
      depth,
      start,
      end,
      isOpen: false,
      isFailed: execution.events.some(({ errorCode }) => errorCode !== undefined),
      details: {},
    });
    spans.push(...nodeSpans(execution.events, depth + 1));
    let before = start;
    for (const event of execution.events) {
      spans.push(...modelSpan(event, before, depth + 1, prices), ...toolSpans(event, calls, depth + 1, runEnd));
      before = event.timestamp;
    }
    for (const child of children) add(child, depth + 1, child.events[0]?.timestamp ?? start);
  };
  for (const execution of executions.values())
    if (execution.parentId === undefined || !executions.has(execution.parentId)) {
      const opening = execution.events[0];
      const index = opening ? run.indexOf(opening) : 0;
      add(execution, 1, run[index - 1]?.timestamp ?? opening?.timestamp ?? first.timestamp);
    }
  return spans;
}

/**
 * Returns a bar for each completed node of a graph, made from the events of one execution of the graph. A node begins
 * with its step, and ends when its result is stored, which is after the results of the nodes before it in the step.
 */
function nodeSpans(events: readonly Event[], depth: number): Span[] {
  const spans: Span[] = [];
  let step = 0;
  let start = 0;
  let last = 0;
  for (const { id, timestamp, errorCode, actions } of events) {
    const { node, run, output } = actions.agentState ?? {};
    // Runs that a node started itself have longer ids.
    const place = typeof run === 'string' ? /^(\d+)-\d+$/.exec(run) : null;
    if (!place || typeof node !== 'string') continue;
    if (Number(place[1]) !== step) start = last;
    step = Number(place[1]);
    last = timestamp;
    if (step > 0)
      spans.push({
        id: `node-${id}`,
        label: node,
        kind: 'node',
        depth,
        start,
        end: timestamp,
        isOpen: false,
        isFailed: errorCode !== undefined,
        details: {},
        content: { result: output },
      });
  }
  return spans;
}

function modelSpan(event: Event, start: number, depth: number, prices: Prices): Span[] {
  const { usageMetadata: usage, modelVersion, errorCode, timestamp, content, object } = event;
  if (object === AGENT_INPUT) return [];
  const isReply = content?.parts?.some(
    ({ text, functionCall }) =>
      text !== undefined || (functionCall !== undefined && !Object.hasOwn(REQUESTS, functionCall.name ?? '')),
  );
  if (!usage && !(isReply && content?.role === 'model')) return [];
  const use: ModelUse = {
    input: usage?.promptTokenCount,
    output: usage && outputTokens(usage),
    cached: usage?.cachedContentTokenCount,
    firstTokenMs: usage?.timingInfo?.timeToFirstTokenMs,
    cost: usage && costOf([modelVersion], usage, prices),
  };
  return [
    {
      id: `model-${event.id}`,
      label: modelVersion ?? 'model',
      kind: 'model',
      depth,
      start,
      end: timestamp,
      isOpen: false,
      isFailed: errorCode !== undefined,
      use,
      details: detailsOf(use),
      content: { response: content, ...(usage && { usage }) },
    },
  ];
}

function detailsOf({ input, output, cached, firstTokenMs }: ModelUse): Details {
  const tokens = [
    ...(input === undefined ? [] : [`${input.toLocaleString()} in`]),
    ...(output === undefined ? [] : [`${output.toLocaleString()} out`]),
  ];
  return {
    ...(tokens.length === 0 ? {} : { tokens: tokens.join(', ') }),
    ...(cached === undefined ? {} : { cached }),
    ...(firstTokenMs === undefined ? {} : { 'first token': formatDuration(firstTokenMs / 1000) }),
  };
}

/** The names of calls that ask a person (as in the ADK), each with the label of its wait. */
const REQUESTS: Readonly<Record<string, string>> = {
  adk_request_confirmation: 'approval',
  adk_request_credential: 'credential',
  adk_request_input: 'input',
};

/**
 * Returns a bar for each call of an event.
 *
 * @param runEnd the end of open bars, in seconds since the epoch
 */
function toolSpans(event: Event, calls: Calls, depth: number, runEnd: number): Span[] {
  return calls.madeIn(event).map((made, index): Span => {
    const { call, responses, requests } = made;
    const response = responses.at(-1);
    const given = requests.at(-1)?.responses.at(-1)?.event;
    // A tool that asks the person first returns an error, and runs again after the answer.
    const state = stateOf(made);
    const isAsking = state === 'asked' || state === 'decided';
    const hasError = response !== undefined && 'error' in response.response;
    return {
      id: `tool-${event.id}-${index}`,
      label: REQUESTS[call.name ?? ''] ?? call.name ?? '',
      kind: 'tool',
      depth,
      // The wait for the person has its own bar.
      start: given && !isAsking ? given.timestamp : event.timestamp,
      end: (isAsking ? undefined : response?.event.timestamp) ?? runEnd,
      isOpen: state !== 'done',
      isFailed: hasError && !isAsking,
      isWait: isAsking || Object.hasOwn(REQUESTS, call.name ?? ''),
      details: {},
      content: { arguments: call.args ?? {}, ...(response && !isAsking && { result: response.response }) },
    };
  });
}

/** Returns the bars that show when something worked: those of the attempts to run, or of the steps if the bars were made from events. */
export function workOf(spans: readonly Span[], isMeasured: boolean): readonly Span[] {
  return spans.filter(({ kind, depth, isWait = false }) =>
    isMeasured ? depth === 0 : kind !== 'run' && kind !== 'agent' && !isWait,
  );
}

/**
 * Returns the bars of one run, made from the server's spans, each below its parent. A resumed run has a bar for each
 * attempt.
 *
 * @param until seconds since the epoch: the bars are as they were just before this moment
 * @param nowMs milliseconds since the epoch, at which open bars end. Default: the newest time of a span
 */
export function barsOf(
  kept: readonly KeptSpan[],
  invocationId: string,
  prices: Prices = {},
  until = Number.POSITIVE_INFINITY,
  nowMs = 0,
): readonly Span[] {
  const untilMs = until * 1000;
  const below = new Map<string | undefined, KeptSpan[]>();
  const known = new Set<string>();
  let latestMs = Math.min(nowMs, untilMs);
  for (const span of kept) {
    const { spanId, parentSpanId, startMs, endMs = startMs, attributes } = span;
    const isInside = parentSpanId !== undefined && known.has(parentSpanId);
    if (startMs >= untilMs || !(isInside || attributes['eventloom.invocation_id'] === invocationId)) continue;
    known.add(spanId);
    // The parent may have been dropped, because it is older.
    const parent = isInside ? parentSpanId : undefined;
    const siblings = below.get(parent);
    if (siblings) siblings.push(span);
    else below.set(parent, [span]);
    latestMs = Math.max(latestMs, Math.min(endMs, untilMs));
  }
  const bars: Span[] = [];
  const add = (parent: string | undefined, depth: number): void => {
    for (const span of below.get(parent) ?? []) {
      const error = errorIn(span);
      // The same error went up through the operations around it.
      const isCause = !below.get(span.spanId)?.some((inner) => errorIn(inner) === error);
      bars.push(barOf(span, { depth, prices, untilMs, latestMs, error: isCause ? error : undefined }));
      add(span.spanId, depth + 1);
    }
  };
  add(undefined, 0);
  return bars;
}

/**
 * Returns the durations of the tool calls that have ended. A call that ran again, after an answer or in a resumed run,
 * has that of its last time.
 */
export function timesIn(spans: readonly KeptSpan[], calls: Calls): CallTimes {
  // A call that waited for a person ran in the execution with its response.
  const byExecution = new Map<string, string>();
  for (const { id, event, responses } of calls.all)
    for (const { executionId } of [event, ...responses.map((response) => response.event)])
      if (executionId !== undefined) byExecution.set(`${executionId} ${id}`, callKey(id, event));
  const times = new Map<string, number>();
  for (const { kind, startMs, endMs, attributes } of spans) {
    if (kind !== 'tool' || endMs === undefined) continue;
    const key = byExecution.get(`${attributes['eventloom.execution_id']} ${attributes['gen_ai.tool.call.id']}`);
    if (key !== undefined) times.set(key, (endMs - startMs) / 1000);
  }
  return times;
}

/** Durations of calls in seconds, by `callKey`. */
export type CallTimes = ReadonlyMap<string, number>;

interface BarPlace {
  readonly depth: number;
  readonly prices: Prices;
  readonly untilMs: number;
  readonly latestMs: number;
  /** The error to show; undefined if there is none, or if a bar below shows it. */
  readonly error: string | undefined;
}

function barOf(span: KeptSpan, { depth, prices, untilMs, latestMs, error }: BarPlace): Span {
  const { spanId, kind, startMs, endMs, status } = span;
  const isOpen = endMs === undefined || endMs >= untilMs;
  const use = kind === 'model' && (!isOpen || endMs === undefined) ? useIn(span, prices) : undefined;
  return {
    id: spanId,
    label: labelOf(span),
    kind,
    depth,
    start: startMs / 1000,
    end: (isOpen ? latestMs : endMs) / 1000,
    isOpen,
    isFailed: !isOpen && status === 'error',
    ...(use && { use }),
    details: {
      ...(use && detailsOf(use)),
      ...(!isOpen && status === 'left' ? { left: 'early' } : {}),
      ...(!isOpen && error !== undefined ? { error } : {}),
    },
  };
}

function errorIn({ attributes }: KeptSpan): string | undefined {
  const { 'error.type': type, 'error.message': message } = attributes;
  if (type === undefined) return undefined;
  return message === undefined ? String(type) : `${type}: ${message}`;
}

function labelOf({ kind, name, attributes }: KeptSpan): string {
  if (kind === 'run') return attributes['eventloom.resumed'] === true ? 'resumed run' : 'run';
  const names = {
    agent: ['gen_ai.agent.name'],
    model: MODEL_NAMES,
    tool: ['gen_ai.tool.name'],
    node: ['eventloom.node.name'],
  }[kind];
  const found = names.map((each) => attributes[each]).find((value) => value !== undefined);
  return found === undefined ? name : String(found);
}

/** The attributes with the model's name: the model that answered, otherwise the requested model. */
const MODEL_NAMES = ['gen_ai.response.model', 'gen_ai.request.model'];

function useIn({ attributes, status, startMs, endMs }: KeptSpan, prices: Prices): ModelUse {
  const numberOf = (name: string): number | undefined => {
    const value = attributes[name];
    return typeof value === 'number' ? value : undefined;
  };
  const input = numberOf('gen_ai.usage.input_tokens');
  const output = numberOf('gen_ai.usage.output_tokens');
  const cached = numberOf('gen_ai.usage.cache_read.input_tokens');
  const firstTokenSeconds = numberOf('gen_ai.response.time_to_first_chunk');
  const usage = { promptTokenCount: input, candidatesTokenCount: output, cachedContentTokenCount: cached };
  const models = MODEL_NAMES.map((name) => attributes[name]);
  // The span has a time only for a streamed reply. Another reply comes as a whole.
  const wholeMs = status === 'ok' && endMs !== undefined ? endMs - startMs : undefined;
  return {
    input,
    output,
    cached,
    firstTokenMs: firstTokenSeconds === undefined ? wholeMs : firstTokenSeconds * 1000,
    cost: input === undefined && output === undefined ? undefined : costOf(models, usage, prices),
  };
}

interface Tokens {
  readonly promptTokenCount?: number | undefined;
  readonly cachedContentTokenCount?: number | undefined;
  readonly candidatesTokenCount?: number | undefined;
  readonly thoughtsTokenCount?: number | undefined;
}

/** Returns the cost of a model call, in the currency of the prices, by the first name with a price; undefined if there is none. */
function costOf(names: readonly unknown[], usage: Tokens, prices: Prices): number | undefined {
  const name = names.find((each) => typeof each === 'string' && Object.hasOwn(prices, each));
  const price = typeof name === 'string' ? prices[name] : undefined;
  if (!price) return undefined;
  const { promptTokenCount = 0, cachedContentTokenCount: cached = 0 } = usage;
  const { input, cachedInput = input } = price;
  return (
    ((promptTokenCount - cached) * input + cached * cachedInput + (outputTokens(usage) ?? 0) * price.output) / 1_000_000
  );
}

/** Returns the tokens of a reply with those of its thoughts; undefined if they are unknown. */
function outputTokens({ candidatesTokenCount, thoughtsTokenCount }: Tokens): number | undefined {
  if (candidatesTokenCount === undefined && thoughtsTokenCount === undefined) return undefined;
  return (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0);
}

/** Formats a cost. @param currency the code of its currency */
export function formatCost(cost: number, currency = 'USD'): string {
  return cost.toLocaleString(undefined, { style: 'currency', currency, maximumSignificantDigits: 3 });
}

/** Formats a duration in seconds. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.001) return '<1 ms';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
