import { type Event, getFunctionCalls } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { SpanStore } from '@eventloom/dev';
import { END, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import {
  fixedPlatform,
  functionCallEvent,
  functionResponseEvent,
  modelEvent,
  ScriptedModel,
  type ScriptedStep,
  userEvent,
} from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { callKey } from './given-answers.ts';
import { barsOf, type Span, spansOf, timesIn } from './trace.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

const scripted = (name: string, steps: readonly ScriptedStep[]): ScriptedModel =>
  new ScriptedModel(steps, { model: `${name}-model` });

/** An agent `desk` that calls a scout as a tool and transfers to a clerk, whose payment a person approves in a second run. */
async function play() {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const spans = new SpanStore();
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    execute: () => ({ paid: true }),
  });
  const scout = new LlmAgent({ name: 'scout', description: 'Looks.', model: scripted('scout', ['found']) });
  const clerk = new LlmAgent({
    name: 'clerk',
    description: 'Pays.',
    model: scripted('clerk', [{ calls: [{ name: 'pay' }] }, 'Paid.']),
    tools: [pay],
  });
  const desk = new LlmAgent({
    name: 'desk',
    model: scripted('desk', [
      { calls: [{ name: 'scout', args: { request: 'x' } }] },
      { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'clerk' } }] },
    ]),
    tools: [new AgentTool({ agent: scout })],
    subAgents: [clerk],
  });
  const instrumentation = spans;
  const runner = new Runner({
    appName: 'app',
    agent: desk,
    sessionService,
    platform,
    instrumentation,
    autoCreateSession: true,
  });
  const asked = await runner.run({ ...KEY, newMessage: { parts: [{ text: 'Pay' }] } });
  const request = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
  const functionResponse = { id: request?.id ?? '', name: request?.name ?? '', response: { confirmed: true } };
  const answered = await runner.run({ ...KEY, newMessage: { parts: [{ functionResponse }] } });
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  return { kept: spans.list(KEY), events, runs: [asked, answered].map(idOf) };
}

const idOf = (events: readonly Event[]): string => events[0]?.invocationId ?? '';

/** The bars, indented by depth, with a mark for open ones. */
const drawn = (bars: readonly Span[]): string[] =>
  bars.map(({ depth, label, isOpen }) => `${'  '.repeat(depth)}${label}${isOpen ? ' …' : ''}`);

/** Checks that every bar lies inside its parent. */
function checkNested(bars: readonly Span[]): void {
  const around: Span[] = [];
  for (const bar of bars) {
    const parent = around[bar.depth - 1];
    if (parent) expect([bar.label, bar.start >= parent.start, bar.end <= parent.end]).toEqual([bar.label, true, true]);
    around[bar.depth] = bar;
  }
}

test('spans of an agent as a tool, a transfer and an answer are drawn below their callers', async () => {
  const { kept, runs } = await play();
  const [first = '', second = ''] = runs;
  const bars = barsOf(kept, first);
  expect(drawn(bars)).toEqual([
    'run',
    '  desk',
    '    desk-model',
    '    scout',
    '      scout',
    '        scout-model',
    '    desk-model',
    '    transfer_to_agent',
    '  clerk',
    '    clerk-model',
    '    pay',
  ]);
  checkNested(bars);
  const later = barsOf(kept, second);
  expect(drawn(later)).toEqual(['run', '  clerk', '    pay', '    clerk-model']);
  checkNested(later);
});

test('the events of the same runs are drawn in the same tree, with the payment open until it is approved', async () => {
  const { events, runs } = await play();
  const [first = '', second = ''] = runs;
  const bars = spansOf(events, first);
  expect(drawn(bars)).toEqual([
    'run',
    '  desk',
    '    model',
    '    scout',
    '    model',
    '    transfer_to_agent',
    '    scout',
    '      model',
    '    clerk',
    '      model',
    '      pay …',
    '      approval …',
  ]);
  checkNested(bars);
  expect(new Set(bars.map(({ id }) => id)).size).toBe(bars.length);
  expect(drawn(spansOf(events, second))).toEqual(['run', '  clerk', '    model']);
});

test('the nodes of a graph have bars, from the beginning of their step if they are made from the events', async () => {
  // Each look at the clock takes a millisecond.
  let nowMs = 1000;
  const platform = { ...fixedPlatform(), now: () => nowMs++ };
  const sessionService = new InMemorySessionService({ platform });
  const spans = new SpanStore();
  const writer = new LlmAgent({ name: 'writer', model: scripted('writer', ['text']) });
  const agent = new StateGraph({ name: 'flow' })
    .addNode('read', () => 'read')
    .addNode('check', () => 'checked')
    .addNode('write', writer)
    .addEdge(START, 'read')
    .addEdge(START, 'check')
    .addEdge('read', 'write')
    .addEdge('check', END)
    .addEdge('write', END)
    .compile();
  const instrumentation = spans;
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService,
    platform,
    instrumentation,
    autoCreateSession: true,
  });
  const invocationId = idOf(await runner.run({ ...KEY, newMessage: { parts: [{ text: 'Go' }] } }));
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  const measured = barsOf(spans.list(KEY), invocationId);
  expect(drawn(measured)).toEqual([
    'run',
    '  flow',
    '    read',
    '    check',
    '    write',
    '      writer',
    '        writer-model',
  ]);
  checkNested(measured);
  const made = spansOf(events, invocationId).filter(({ kind }) => kind === 'node');
  expect(made.map(({ label }) => label)).toEqual(['read', 'check', 'write']);
  const [read, check, write] = made;
  expect([read?.start, write?.start]).toEqual([check?.start, check?.end]);
  expect(write?.end).toBeGreaterThan(write?.start ?? 0);
  expect(read?.content).toEqual({ result: 'read' });
});

test('a node in progress has an open bar below its graph', () => {
  const span = (spanId: string, kind: Span['kind'], more: object) =>
    ({ spanId, kind, name: '', startMs: 1000, status: 'running', attributes: ATTRIBUTES, ...more }) as const;
  const ATTRIBUTES = { 'eventloom.invocation_id': 'e', 'gen_ai.agent.name': 'flow', 'eventloom.node.name': 'left' };
  const kept = [
    span('1', 'run', {}),
    span('2', 'agent', { parentSpanId: '1' }),
    span('3', 'node', { parentSpanId: '2' }),
  ];
  const bars = barsOf(kept, 'e', {}, undefined, 4000);
  expect(drawn(bars)).toEqual(['run …', '  flow …', '    left …']);
  expect(bars.at(-1)).toMatchObject({ kind: 'node', isOpen: true, end: 4 });
});

test('the tokens of a reply contain those of its thoughts', () => {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 340, thoughtsTokenCount: 20 };
  const event = modelEvent('helper', 'Blue.', { invocationId: 'e', executionId: 'x', usageMetadata });
  const use = spansOf([event], 'e').find(({ kind }) => kind === 'model')?.use;
  expect([use?.input, use?.output]).toEqual([10, 360]);
});

test('the first token of a reply that was not streamed comes with the whole reply', () => {
  const attributes = { 'eventloom.invocation_id': 'e', 'gen_ai.usage.output_tokens': 5 };
  const call = { spanId: '1', name: '', kind: 'model', startMs: 1000, endMs: 1250, status: 'ok', attributes } as const;
  const streamed = { ...attributes, 'gen_ai.response.time_to_first_chunk': 0.1 };
  const failed = { ...call, spanId: '3', status: 'error' } as const;
  const bars = barsOf([call, { ...call, spanId: '2', attributes: streamed }, failed], 'e');
  expect(bars.map(({ details }) => details['first token'])).toEqual(['250 ms', '100 ms', undefined]);
});

test('an error is shown once, at the operation that failed first', () => {
  const attributes = { 'eventloom.invocation_id': 'e', 'error.type': 'UNAVAILABLE', 'error.message': 'no network' };
  const span = (spanId: string, kind: Span['kind'], more: object) =>
    ({ spanId, kind, name: '', startMs: 1000, endMs: 2000, status: 'error', attributes, ...more }) as const;
  const other = { attributes: { ...attributes, 'error.message': 'no disk' } };
  const kept = [
    span('1', 'run', other),
    span('2', 'agent', { parentSpanId: '1' }),
    span('3', 'model', { parentSpanId: '2' }),
  ];
  const bars = barsOf(kept, 'e');
  expect(bars.map(({ isFailed, details }) => [isFailed, details['error']])).toEqual([
    [true, 'UNAVAILABLE: no disk'],
    [true, undefined],
    [true, 'UNAVAILABLE: no network'],
  ]);
});

test('a resumed run has a bar for each attempt', () => {
  const span = (spanId: string, startMs: number, more: object) =>
    ({
      spanId,
      name: '',
      kind: 'run',
      startMs,
      status: 'ok',
      attributes: { 'eventloom.invocation_id': 'e' },
      ...more,
    }) as const;
  const lost = span('1', 1000, { status: 'running' });
  const resumed = span('2', 9000, {
    endMs: 9500,
    attributes: { 'eventloom.invocation_id': 'e', 'eventloom.resumed': true },
  });
  const bars = barsOf([lost, span('3', 1100, { kind: 'agent', parentSpanId: '1' }), resumed], 'e');
  expect(drawn(bars)).toEqual(['run …', '   …', 'resumed run']);
  // A lost span is drawn to the end of the trace.
  expect(bars.map(({ start, end }) => [start, end])).toEqual([
    [1, 9.5],
    [1.1, 9.5],
    [9, 9.5],
  ]);
});

test('the open bars of a run in progress end now, and not at an earlier moment that is shown', () => {
  const attributes = { 'eventloom.invocation_id': 'e' };
  const running = { name: '', status: 'running', attributes } as const;
  const kept = [
    { ...running, spanId: '1', kind: 'run', startMs: 1000 },
    { ...running, spanId: '2', parentSpanId: '1', kind: 'tool', startMs: 1100 },
  ] as const;
  const ends = (bars: readonly Span[]): number[] => bars.map(({ end }) => end);
  expect(ends(barsOf(kept, 'e', {}, undefined, 3000))).toEqual([3, 3]);
  expect(ends(barsOf(kept, 'e', {}, 2, 3000))).toEqual([2, 2]);
  const event = { invocationId: 'e', executionId: 'x', timestamp: 1 };
  const called = functionCallEvent('helper', [{ id: 'c', name: 'look', args: {} }], event);
  const bars = spansOf([called], 'e', {}, 3);
  const [run, tool] = [bars[0], bars.find(({ kind }) => kind === 'tool')];
  expect([run?.end, run?.isOpen, tool?.end, tool?.isOpen]).toEqual([3, true, 3, true]);
});

test('the bar of a call that waited for an approval begins with the answer', () => {
  const event = (timestamp: number) => ({ invocationId: 'e', executionId: 'x', timestamp });
  const request = {
    id: 'q',
    name: 'adk_request_confirmation',
    args: { originalFunctionCall: { id: 'c', name: 'pay' } },
  };
  const asked = [
    functionCallEvent('helper', [{ id: 'c', name: 'pay', args: {} }], event(1)),
    functionCallEvent('helper', [request], event(2)),
    functionResponseEvent('helper', [{ id: 'c', name: 'pay', response: { error: 'needs approval' } }], event(2)),
  ];
  const answered = [
    functionResponseEvent('user', [{ id: 'q', name: request.name, response: { confirmed: true } }], event(60)),
    functionResponseEvent('helper', [{ id: 'c', name: 'pay', response: { error: 'no money' } }], event(61)),
  ];
  const payOf = (events: readonly Event[]) => spansOf(events, 'e').find(({ label }) => label === 'pay');
  expect(payOf(asked)).toMatchObject({ start: 1, isOpen: true, isFailed: false });
  expect(payOf([...asked, ...answered])).toMatchObject({ start: 60, end: 61, isOpen: false, isFailed: true });
});

test('events of other servers, which have no executions, are drawn as one agent of each author and branch', () => {
  const at = (timestamp: number) => ({ invocationId: 'e-1', timestamp });
  const events = [
    userEvent('Hi', at(1)),
    functionCallEvent('desk', [{ id: 'c1', name: 'look' }], at(2)),
    functionResponseEvent('desk', [{ id: 'c1', name: 'look', response: {} }], at(3)),
    modelEvent('clerk', 'Blue.', at(4)),
  ];
  expect(drawn(spansOf(events, 'e-1'))).toEqual(['run', '  desk', '    model', '    look', '  clerk', '    model']);
});

test('each of two calls with the same id on two branches has the bar of its own response and of its own approval', () => {
  const event = (branch: string, timestamp: number) => ({
    id: `${branch} ${timestamp}`,
    invocationId: 'e',
    executionId: branch,
    branch,
    timestamp,
  });
  const branches = ['both.a', 'both.b'];
  const requestOf = (branch: string) => {
    const args = { originalFunctionCall: { id: 'c', name: 'pay' } };
    return { id: `q-${branch}`, name: 'adk_request_confirmation', args };
  };
  const responseOf = (branch: string, response: Record<string, unknown>, timestamp: number) =>
    functionResponseEvent('helper', [{ id: 'c', name: 'pay', response }], event(branch, timestamp));
  const events = [
    ...branches.map((branch) => functionCallEvent('helper', [{ id: 'c', name: 'pay', args: {} }], event(branch, 1))),
    ...branches.map((branch) => functionCallEvent('helper', [requestOf(branch)], event(branch, 2))),
    ...branches.map((branch) => responseOf(branch, { error: 'needs approval' }, 2)),
    ...branches.map((branch, index) => {
      const { id, name } = requestOf(branch);
      return functionResponseEvent('user', [{ id, name, response: { confirmed: index === 0 } }], event(branch, 60));
    }),
    responseOf('both.a', { paid: true }, 61),
    responseOf('both.b', { error: 'rejected' }, 62),
  ];
  const bars = spansOf(events, 'e');
  const paid = bars.filter(({ label }) => label === 'pay');
  expect(paid.map(({ start, end, isFailed, content }) => [start, end, isFailed, content?.['result']])).toEqual([
    [60, 61, false, { paid: true }],
    [60, 62, true, { error: 'rejected' }],
  ]);
  expect(new Set(bars.map(({ id }) => id)).size).toBe(bars.length);
});

test('a call of an agent and a call of an agent that it calls as a tool, with the same id, each have their own response', async () => {
  const find = new FunctionTool({ name: 'find', description: 'Finds.', execute: () => ({ found: 1 }) });
  const call = (name: string, args = {}): ScriptedStep => ({ calls: [{ id: 'call_0', name, args }] });
  const inner = new LlmAgent({
    name: 'inner',
    description: 'Looks.',
    model: scripted('inner', [call('find'), 'inner says']),
    tools: [find],
  });
  const outer = new LlmAgent({
    name: 'outer',
    model: scripted('outer', [call('inner', { request: 'x' }), 'done']),
    tools: [new AgentTool({ agent: inner })],
  });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent: outer, sessionService, autoCreateSession: true });
  const invocationId = idOf(await runner.run({ ...KEY, newMessage: { parts: [{ text: 'Go' }] } }));
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  const tools = spansOf(events, invocationId).filter(({ kind }) => kind === 'tool');
  expect(tools.map(({ label, content }) => [label, content?.['result']])).toEqual([
    ['inner', { result: 'inner says' }],
    ['find', { found: 1 }],
  ]);
});

test('the time to draw a run grows linearly with its events', () => {
  let reads = 0;
  const events = Array.from({ length: 2000 }, (_, index) => {
    const event = { invocationId: 'e', executionId: 'x' };
    return [
      functionCallEvent('helper', [{ id: `c${index}`, name: 'look', args: {} }], event),
      functionResponseEvent('helper', [{ id: `c${index}`, name: 'look', response: {} }], event),
    ];
  }).flat();
  const counted = events.map(
    (event) =>
      new Proxy(event, {
        get: (target, name) => {
          reads++;
          return Reflect.get(target, name) as unknown;
        },
      }),
  );
  expect(spansOf(counted, 'e')).toHaveLength(4002);
  expect(reads).toBeLessThan(events.length * 40);
});

test('each of two calls with the same id has the time of its own agent', () => {
  const events = ['fast', 'slow'].map((branch) => {
    const event = { invocationId: 'e', executionId: branch, branch };
    return functionCallEvent(branch, [{ id: 'call_0', name: 'look', args: {} }], event);
  });
  const spanOf = (execution: string, endMs: number) => {
    const attributes = { 'gen_ai.tool.call.id': 'call_0', 'eventloom.execution_id': execution };
    return { spanId: execution, name: '', kind: 'tool', status: 'ok', startMs: 0, endMs, attributes } as const;
  };
  const times = timesIn([spanOf('fast', 1000), spanOf('slow', 9000)], new Calls(events));
  expect(events.map((event) => times.get(callKey('call_0', event)))).toEqual([1, 9]);
});
