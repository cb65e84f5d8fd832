import type { Event } from '@eventloom/core';
import type { ModelPrice } from './studio-client.ts';

type Prices = Readonly<Record<string, ModelPrice>>;

/** A bar of the waterfall. */
export interface Span {
  readonly id: string;
  readonly label: string;
  readonly kind: 'run' | 'agent' | 'model' | 'tool';
  readonly depth: number;
  /** Seconds since the epoch. */
  readonly start: number;
  readonly end: number;
  /** True if it has no end yet. */
  readonly isOpen: boolean;
  readonly isFailed: boolean;
  readonly details: Readonly<Record<string, string | number>>;
}

interface AgentRun {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly agent: string;
  readonly events: Event[];
}

/** Returns the bars of one run, in the order in which they are drawn: each agent, with its model calls and tool calls below it. */
export function spansOf(events: readonly Event[], invocationId: string, prices: Prices = {}): readonly Span[] {
  const run = events.filter((event) => event.invocationId === invocationId);
  const first = run[0];
  const last = run.at(-1);
  if (!first || !last) return [];
  const executions = new Map<string, AgentRun>();
  for (const event of run) {
    if (event.author === 'user' || event.executionId === undefined) continue;
    const { executionId, parentExecutionId, author } = event;
    const known = executions.get(executionId);
    if (known) known.events.push(event);
    else executions.set(executionId, { id: executionId, parentId: parentExecutionId, agent: author, events: [event] });
  }
  const failed = run.some(({ errorCode }) => errorCode !== undefined);
  const spans: Span[] = [
    {
      id: invocationId,
      label: 'run',
      kind: 'run',
      depth: 0,
      start: first.timestamp,
      end: last.timestamp,
      isOpen: false,
      isFailed: failed,
      details: { events: run.length },
    },
  ];
  const add = (execution: AgentRun, depth: number, start: number): void => {
    const children = Array.from(executions.values()).filter(({ parentId }) => parentId === execution.id);
    const end = Math.max(...[execution, ...children].map(({ events: own }) => own.at(-1)?.timestamp ?? start));
    spans.push({
      id: execution.id,
      label: execution.agent,
      kind: 'agent',
      depth,
      start,
      end,
      isOpen: false,
      isFailed: execution.events.some(({ errorCode }) => errorCode !== undefined),
      details: {},
    });
    let before = start;
    for (const event of execution.events) {
      spans.push(...modelSpan(event, before, depth + 1, prices), ...toolSpans(event, run, depth + 1));
      before = event.timestamp;
    }
    for (const child of children) add(child, depth + 1, child.events[0]?.timestamp ?? start);
  };
  for (const execution of executions.values())
    if (execution.parentId === undefined || !executions.has(execution.parentId)) {
      const begin = execution.events[0];
      const index = begin ? run.indexOf(begin) : 0;
      add(execution, 1, run[index - 1]?.timestamp ?? begin?.timestamp ?? first.timestamp);
    }
  return spans;
}

function modelSpan(event: Event, start: number, depth: number, prices: Prices): Span[] {
  const { usageMetadata: usage, modelVersion, errorCode, timestamp, content } = event;
  const isReply = content?.parts?.some(
    ({ text, functionCall }) =>
      text !== undefined || (functionCall !== undefined && !Object.hasOwn(REQUESTS, functionCall.name ?? '')),
  );
  if (!usage && !(isReply && content?.role === 'model')) return [];
  const timing = usage?.timingInfo;
  const cost = costOf(event, prices);
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
      details: {
        ...(usage?.promptTokenCount === undefined ? {} : { 'tokens in': usage.promptTokenCount }),
        ...(usage?.candidatesTokenCount === undefined ? {} : { 'tokens out': usage.candidatesTokenCount }),
        ...(usage?.cachedContentTokenCount === undefined ? {} : { cached: usage.cachedContentTokenCount }),
        ...(timing?.timeToFirstTokenMs === undefined
          ? {}
          : { 'first token': `${Math.round(timing.timeToFirstTokenMs)} ms` }),
        ...(cost === undefined ? {} : { cost: formatCost(cost) }),
      },
    },
  ];
}

/** The calls that ask a person, and what they wait for. (ADK) */
const REQUESTS: Readonly<Record<string, string>> = {
  adk_request_confirmation: 'approval',
  adk_request_credential: 'credential',
  adk_request_input: 'input',
};

/** True for an event that asks a person something before a call can run. */
function asksFor({ content }: Event, callId: string | undefined): boolean {
  return (content?.parts ?? []).some(({ functionCall }) => {
    const { name = '', args = {} } = functionCall ?? {};
    if (!Object.hasOwn(REQUESTS, name)) return false;
    const original = args['originalFunctionCall'];
    const isOf = typeof original === 'object' && original !== null && 'id' in original && original.id === callId;
    return isOf || args['functionCallId'] === callId;
  });
}

function toolSpans(event: Event, run: readonly Event[], depth: number): Span[] {
  return (event.content?.parts ?? []).flatMap(({ functionCall: call }): Span[] => {
    if (!call?.id) return [];
    const answered = run.findLast(({ content }) =>
      content?.parts?.some((part) => part.functionResponse?.id === call.id),
    );
    const response = answered?.content?.parts?.find((part) => part.functionResponse?.id === call.id)?.functionResponse;
    const hasError = response?.response !== undefined && 'error' in response.response;
    // A tool that asks the person returns an error at first, and is run again after the answer.
    const isAsking = hasError && run.some((each) => asksFor(each, call.id));
    return [
      {
        id: `tool-${call.id}`,
        label: REQUESTS[call.name ?? ''] ?? call.name ?? '',
        kind: 'tool',
        depth,
        start: event.timestamp,
        end: (isAsking ? undefined : answered?.timestamp) ?? run.at(-1)?.timestamp ?? event.timestamp,
        isOpen: !answered || isAsking,
        isFailed: hasError && !isAsking,
        details: {},
      },
    ];
  });
}

/** Returns the cost of a model's reply, in the currency of the prices; undefined for a model without a price and a reply without usage. */
export function costOf({ modelVersion = '', usageMetadata: usage }: Event, prices: Prices): number | undefined {
  const price = Object.hasOwn(prices, modelVersion) ? prices[modelVersion] : undefined;
  if (!price || !usage) return undefined;
  const { promptTokenCount = 0, cachedContentTokenCount: cached = 0 } = usage;
  const output = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0);
  const { input, cachedInput = input } = price;
  return ((promptTokenCount - cached) * input + cached * cachedInput + output * price.output) / 1_000_000;
}

/** Formats a cost, which has no name of a currency: that of the prices. */
export function formatCost(cost: number): string {
  return `cost ${cost.toLocaleString(undefined, { maximumSignificantDigits: 3 })}`;
}

/** Formats a duration in seconds. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.001) return '<1 ms';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 100 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`;
}
