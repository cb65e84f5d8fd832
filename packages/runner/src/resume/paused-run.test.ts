import {
  BaseAgent,
  BasePlugin,
  createEvent,
  type Event,
  getFunctionCalls,
  InvalidMessageError,
  InvalidRequestError,
  type InvocationContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import type { RunAsyncParams } from '../run-params.ts';
import { Runner } from '../runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const WAIT = { calls: [{ id: 'c1', name: 'wait' }] } satisfies ScriptedStep;

function agentOf(name: string, steps: readonly ScriptedStep[], config: object = {}) {
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  return new LlmAgent({ name, model: new ScriptedModel(steps), tools: [wait], ...config });
}

async function setUp() {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  /** Each runner is a new process: it knows nothing but what is stored. */
  const runnerOf = (agent: BaseAgent, resumable = true) =>
    new Runner({ appName: 'app', agent, sessionService, platform, resumable });
  const run = (agent: BaseAgent, params: Partial<RunAsyncParams> = {}, resumable = true) =>
    runnerOf(agent, resumable).run({ userId: 'u', sessionId: 's', ...params });
  const begin = async (agent: BaseAgent, resumable = true) => {
    const events = await run(agent, { newMessage: { parts: [{ text: 'hi' }] } }, resumable);
    return { events, invocationId: events[0]?.invocationId ?? '' };
  };
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return { run, runnerOf, begin, stored, sessionService };
}

const answer = (...ids: string[]) => ({
  newMessage: { parts: ids.map((id) => ({ functionResponse: { id, response: { ready: id } } })) },
});

const textsOf = (events: readonly Event[]) =>
  events.flatMap(
    ({ author, content }) => content?.parts?.flatMap(({ text }) => (text ? [`${author}: ${text}`] : [])) ?? [],
  );

describe('a call whose answer comes later pauses what is around it', () => {
  test('a sequence goes on with the rest of its agents after the answer', async () => {
    const { run, begin, stored } = await setUp();
    const tree = (first: ScriptedStep[], second: ScriptedStep[]) =>
      new SequentialAgent({ name: 'flow', subAgents: [agentOf('asks', first), agentOf('follows', second)] });
    const { events, invocationId } = await begin(tree([WAIT], []));
    expect(events.flatMap(getFunctionCalls)).toHaveLength(1);
    const rest = await run(tree(['ready'], ['followed']), { invocationId, ...answer('c1') });
    expect(textsOf(rest)).toEqual(['asks: ready', 'follows: followed']);
    expect(new Set((await stored()).map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    await expect(run(tree([], []), { invocationId })).rejects.toThrow(/is over/);
  });

  test('a loop goes on with its round and then with the next', async () => {
    const { run, begin } = await setUp();
    const tree = (first: ScriptedStep[], second: ScriptedStep[]) =>
      new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [agentOf('a', first), agentOf('b', second)] });
    const { invocationId } = await begin(tree(['a1'], [WAIT]));
    const rest = await run(tree(['a2'], ['b1', 'b2']), { invocationId, ...answer('c1') });
    expect(textsOf(rest)).toEqual(['b: b1', 'a: a2', 'b: b2']);
  });

  test('the agent that was handed the conversation has it still', async () => {
    const { run, begin } = await setUp();
    const handOver = { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
    const tree = (front: ScriptedStep[], helper: ScriptedStep[]) =>
      agentOf('front', front, { subAgents: [agentOf('helper', helper)] });
    const { invocationId } = await begin(tree([handOver], [WAIT]));
    expect(textsOf(await run(tree([], ['ready']), { invocationId, ...answer('c1') }))).toEqual(['helper: ready']);
  });

  test('agents side by side wait each for its own answer, and what comes after them for all', async () => {
    const { run, begin } = await setUp();
    const ask = (id: string) => ({ calls: [{ id, name: 'wait' }] });
    const tree = (left: ScriptedStep[], right: ScriptedStep[], last: ScriptedStep[]) =>
      new SequentialAgent({
        name: 'flow',
        subAgents: [
          new ParallelAgent({ name: 'par', subAgents: [agentOf('left', left), agentOf('right', right)] }),
          agentOf('last', last),
        ],
      });
    const { invocationId } = await begin(tree([ask('l')], [ask('r')], []));
    expect(textsOf(await run(tree([], ['right'], []), { invocationId, ...answer('r') }))).toEqual(['right: right']);
    expect(textsOf(await run(tree(['left'], [], ['all']), { invocationId, ...answer('l') }))).toEqual([
      'left: left',
      'last: all',
    ]);
  });

  test('resumed without the answer, it waits on; a reply with two such calls waits for both', async () => {
    const { run, begin } = await setUp();
    const two = { calls: [WAIT.calls[0], { id: 'c2', name: 'wait' }] } as ScriptedStep;
    const { invocationId } = await begin(agentOf('bot', [two]));
    expect(await run(agentOf('bot', []), { invocationId })).toEqual([]);
    expect(await run(agentOf('bot', []), { invocationId, ...answer('c2') })).toEqual([]);
    expect(textsOf(await run(agentOf('bot', ['both']), { invocationId, ...answer('c1') }))).toEqual(['bot: both']);
  });

  test('a call that a person has to confirm is run with the answer, once, and the sequence goes on', async () => {
    const { run, begin } = await setUp();
    let paid = 0;
    const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => ++paid });
    const tree = (first: ScriptedStep[], second: ScriptedStep[]) =>
      new SequentialAgent({
        name: 'flow',
        subAgents: [agentOf('pays', first, { tools: [pay] }), agentOf('then', second)],
      });
    const { events, invocationId } = await begin(tree([{ calls: [{ id: 'p1', name: 'pay' }] }], []));
    const question = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
    expect(paid).toBe(0);
    expect(await run(tree([], []), { invocationId })).toEqual([]);
    const newMessage = {
      parts: [{ functionResponse: { id: question?.id ?? '', response: { confirmed: true } } }],
    };
    const rest = await run(tree(['paid'], ['done']), { invocationId, newMessage });
    expect(textsOf(rest)).toEqual(['pays: paid', 'then: done']);
    expect(paid).toBe(1);
  });
});

describe('an answer alone goes on with the run that asked', () => {
  const flow = (first: ScriptedStep[], second: ScriptedStep[], config: object = {}) =>
    new SequentialAgent({ name: 'flow', subAgents: [agentOf('asks', first, config), agentOf('follows', second)] });

  test('to its end, under its own id, when the result of a long-running call comes', async () => {
    const { run, begin, stored } = await setUp();
    const { invocationId } = await begin(flow([WAIT], []));
    const rest = await run(flow(['ready'], ['followed']), answer('c1'));
    expect(textsOf(rest)).toEqual(['asks: ready', 'follows: followed']);
    expect(new Set((await stored()).map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    // Nothing of it is left: the same again is for the agent that asked, in a run of its own.
    expect(textsOf(await run(flow(['more'], []), answer('c1')))).toEqual(['asks: more']);
  });

  test('to its end, once the call is confirmed', async () => {
    const { run, begin } = await setUp();
    const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
    const tools = { tools: [pay] };
    const { events, invocationId } = await begin(flow([{ calls: [{ id: 'p1', name: 'pay' }] }], [], tools));
    const { id = '' } = events.flatMap(getFunctionCalls).at(-1) ?? {};
    const newMessage = { parts: [{ functionResponse: { id, response: { confirmed: true } } }] };
    const rest = await run(flow(['paid'], ['followed'], tools), { newMessage });
    expect(textsOf(rest)).toEqual(['asks: paid', 'follows: followed']);
    expect(new Set(rest.map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    await expect(run(flow([], []), { newMessage })).rejects.toThrow(InvalidMessageError);
  });

  test('and its stream has the id of that run as soon as it has an event', async () => {
    const { runnerOf, begin } = await setUp();
    const { invocationId } = await begin(flow([WAIT], []));
    const runner = runnerOf(flow(['ready'], ['followed']));
    const params = { userId: 'u', sessionId: 's', ...answer('c1') };
    expect(await runner.findAnsweredRun(params)).toBe(invocationId);
    const stream = runner.runAsync(params);
    await stream.next();
    expect(stream.invocationId).toBe(invocationId);
    await stream.return();
  });

  test('also when something else was said, or another run asked, in between', async () => {
    const { run, begin } = await setUp();
    const first = await begin(flow([WAIT], []));
    const { invocationId } = await begin(flow([{ calls: [{ id: 'c2', name: 'wait' }] }], []));
    expect(invocationId).not.toBe(first.invocationId);
    const rest = await run(flow(['one'], ['followed one']), answer('c1'));
    expect(rest[0]?.invocationId).toBe(first.invocationId);
    expect(textsOf(rest)).toEqual(['asks: one', 'follows: followed one']);
    expect(textsOf(await run(flow(['two'], ['followed two']), answer('c2')))).toEqual([
      'asks: two',
      'follows: followed two',
    ]);
  });

  test('of two runs whose calls have the same id the newer one, unless a run is named', async () => {
    const { run, begin } = await setUp();
    const older = await begin(flow([WAIT], []));
    const newer = await begin(flow([WAIT], []));
    const first = await run(flow(['a'], ['b']), { invocationId: older.invocationId, ...answer('c1') });
    expect(first.map((event) => event.invocationId)).toContain(older.invocationId);
    expect(textsOf(first)).toEqual(['asks: a', 'follows: b']);
    expect(textsOf(await run(flow(['c'], ['d']), answer('c1')))).toEqual(['asks: c', 'follows: d']);
    await expect(run(flow([], []), { invocationId: newer.invocationId })).rejects.toThrow(/is over/);
  });

  test('and a run that is named takes answers to its own calls alone', async () => {
    const { run, begin, stored } = await setUp();
    const { invocationId } = await begin(flow([WAIT], []));
    await begin(flow([{ calls: [{ id: 'c2', name: 'wait' }] }], []));
    const before = await stored();
    await expect(run(flow([], []), { invocationId, ...answer('c2') })).rejects.toThrow(InvalidMessageError);
    expect(await stored()).toEqual(before);
  });

  test('and not with several at once, which are to be answered one after the other', async () => {
    const { run, begin, stored } = await setUp();
    await begin(flow([WAIT], []));
    await begin(flow([{ calls: [{ id: 'c2', name: 'wait' }] }], []));
    const before = await stored();
    await expect(run(flow([], []), answer('c1', 'c2'))).rejects.toThrow(/one after the other/);
    expect(await stored()).toEqual(before);
  });

  test('unless that was closed: then the agent that asked is told of it in a run of its own', async () => {
    const { run, begin, runnerOf } = await setUp();
    const { events, invocationId } = await begin(flow([WAIT], []));
    await runnerOf(flow([], [])).closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'enough' });
    const rest = await run(flow(['late'], []), answer('c1'));
    expect(textsOf(rest)).toEqual(['asks: late']);
    expect(rest[0]?.invocationId).not.toBe(events[0]?.invocationId);
  });

  test('of several agents side by side with one message, each with its own answer', async () => {
    const { run, begin, stored } = await setUp();
    const ask = (id: string) => ({ calls: [{ id, name: 'wait' }] });
    const tree = (left: ScriptedStep[], right: ScriptedStep[], last: ScriptedStep[]) =>
      new SequentialAgent({
        name: 'flow',
        subAgents: [
          new ParallelAgent({ name: 'par', subAgents: [agentOf('left', left), agentOf('right', right)] }),
          agentOf('last', last),
        ],
      });
    const { invocationId } = await begin(tree([ask('l')], [ask('r')], []));
    const rest = await run(tree(['left'], ['right'], ['all']), {
      ...answer('l', 'r'),
      stateDelta: { seen: true },
    });
    expect(textsOf(rest).toSorted()).toEqual(['last: all', 'left: left', 'right: right']);
    expect(rest[0]?.invocationId).toBe(invocationId);
    const messages = (await stored()).filter(({ author }) => author === 'user');
    expect(messages.map(({ branch, actions }) => [branch, actions.stateDelta])).toEqual([
      [undefined, {}],
      ['par.left', { seen: true }],
      ['par.right', {}],
    ]);
  });

  test('of several agents side by side whose models gave their calls the same id, in one message or in two', async () => {
    const tree = (left: ScriptedStep[], right: ScriptedStep[]) =>
      new ParallelAgent({ name: 'par', subAgents: [agentOf('left', left), agentOf('right', right)] });
    const together = await setUp();
    await together.begin(tree([WAIT], [WAIT]));
    const both = await together.run(tree(['left'], ['right']), answer('c1', 'c1'));
    expect(textsOf(both).toSorted()).toEqual(['left: left', 'right: right']);
    const apart = await setUp();
    await apart.begin(tree([WAIT], [WAIT]));
    const first = await apart.run(tree(['left'], ['right']), answer('c1'));
    const second = await apart.run(tree(['left'], ['right']), answer('c1'));
    expect([...textsOf(first), ...textsOf(second)].toSorted()).toEqual(['left: left', 'right: right']);
  });

  test.each([true, false])(
    'a confirmation, of agents side by side whose calls have the same id: %s',
    async (resumable) => {
      const { run, begin } = await setUp();
      let paid = 0;
      const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => ++paid });
      const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
      const tree = (left: ScriptedStep[], right: ScriptedStep[]) =>
        new ParallelAgent({
          name: 'par',
          subAgents: [agentOf('left', left, { tools: [look] }), agentOf('right', right, { tools: [pay] })],
        });
      const call = (name: string): ScriptedStep => ({ calls: [{ id: 'c1', name }] });
      const { events } = await begin(tree([call('look'), call('look'), 'seen'], [call('pay')]), resumable);
      const { id = '' } =
        events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation') ?? {};
      const newMessage = { parts: [{ functionResponse: { id, response: { confirmed: true } } }] };
      expect(textsOf(await run(tree([], ['paid']), { newMessage }, resumable))).toEqual(['right: paid']);
      expect(paid).toBe(1);
    },
  );

  test('which cannot be resumed: agents side by side are answered one after the other, and one message for both is refused', async () => {
    const { run, begin } = await setUp();
    const ask = (id: string) => ({ calls: [{ id, name: 'wait' }] });
    const tree = (left: ScriptedStep[], right: ScriptedStep[]) =>
      new ParallelAgent({ name: 'par', subAgents: [agentOf('left', left), agentOf('right', right)] });
    await begin(tree([ask('l')], [ask('r')]), false);
    await expect(run(tree([], []), answer('l', 'r'), false)).rejects.toThrow(/one after the other/);
    expect(textsOf(await run(tree([], ['right']), answer('r'), false))).toEqual(['right: right']);
    expect(textsOf(await run(tree(['left'], []), answer('l'), false))).toEqual(['left: left']);
  });

  test('but not when a plugin makes it of something else, or something else of it', async () => {
    const { begin, stored, sessionService } = await setUp();
    await begin(flow([WAIT], []));
    const before = await stored();
    const text = { newMessage: { parts: [{ text: 'hm' }] } };
    for (const [given, made] of [[text, answer('c1')] as const, [answer('c1'), text] as const]) {
      class Changing extends BasePlugin {
        override onUserMessageCallback() {
          return made.newMessage;
        }
      }
      const plugins = [new Changing('changing')];
      const runner = new Runner({ appName: 'app', agent: flow([], []), sessionService, resumable: true, plugins });
      const run = runner.run({ userId: 'u', sessionId: 's', ...given });
      await expect(run).rejects.toThrow(/onUserMessageCallback returns/);
    }
    expect(await stored()).toEqual(before);
  });

  test('is looked up again when the session is there: the run may have come to its end meanwhile', async () => {
    const { begin, run, sessionService } = await setUp();
    await begin(flow([WAIT], []));
    const lease = await sessionService.acquireLease(KEY);
    const bothAsked = Promise.withResolvers<void>();
    let asked = 0;
    const acquire = sessionService.acquireLease.bind(sessionService);
    sessionService.acquireLease = (request) => {
      if (++asked === 2) bothAsked.resolve();
      return acquire(request);
    };
    const first = run(flow(['first'], ['followed']), answer('c1'));
    const second = run(flow(['second'], []), answer('c1'));
    // Both have found the run by now, and wait for the session.
    await bothAsked.promise;
    await sessionService.releaseLease(lease);
    expect(textsOf(await first)).toEqual(['asks: first', 'follows: followed']);
    expect(textsOf(await second)).toEqual(['asks: second']);
    expect((await second)[0]?.invocationId).not.toBe((await first)[0]?.invocationId);
  });
});

describe('a run that is answered many times goes on each time, wherever in the session its answers are', () => {
  test.each([0, 1, 2, 3, 5])('with %i tool calls between two answers', async (calls) => {
    const { run, begin, stored } = await setUp();
    const note = new FunctionTool({ name: 'note', description: '', execute: () => 'noted' });
    const bot = (round: number) => {
      const steps = Array.from({ length: calls }, (_, i) => ({ calls: [{ id: `n${round}-${i}`, name: 'note' }] }));
      return agentOf('bot', [...steps, { calls: [{ id: `c${round}`, name: 'wait' }] }], {
        tools: [note, new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined })],
      });
    };
    await begin(bot(0));
    for (let round = 1; round <= 40; round++) await run(bot(round), answer(`c${round - 1}`));
    expect(new Set((await stored()).map(({ invocationId }) => invocationId)).size).toBe(1);
  });

  test('and of runs that answer one another no more is read than the call and its run', async () => {
    const { run, begin, sessionService } = await setUp();
    const bot = (round: number) => agentOf('bot', [{ calls: [{ id: `c${round}`, name: 'wait' }] }]);
    await begin(bot(0), false);
    for (let round = 1; round <= 60; round++) await run(bot(round), answer(`c${round - 1}`), false);
    const pages: number[] = [];
    const list = sessionService.listEvents.bind(sessionService);
    sessionService.listEvents = async (request) => {
      const page = await list(request);
      pages.push(page.events.length);
      return page;
    };
    await run(bot(61), answer('c60'), false);
    expect(pages).toEqual([32]);
  });
});

test('a run that goes on does not ask a model again that went on with the answer in another run', async () => {
  const { run, begin, stored, sessionService } = await setUp();
  const flow = (first: ScriptedStep[], second: ScriptedStep[]) =>
    new SequentialAgent({ name: 'flow', subAgents: [agentOf('asks', first), agentOf('follows', second)] });
  const { invocationId } = await begin(flow([WAIT], []));
  // What a run of the agent alone left: its message, and what the model said to it.
  const session = (await sessionService.getSession(KEY)) ?? (await sessionService.createSession(KEY));
  const executionId = 'e-other';
  const append = (event: Parameters<typeof createEvent>[0]) =>
    sessionService.appendEvent({ session, event: createEvent({ ...event, invocationId: executionId, executionId }) });
  const functionResponse = { id: 'c1', name: 'wait', response: {} };
  await append({ id: 'x1', author: 'user', content: { role: 'user', parts: [{ functionResponse }] } });
  await append({
    id: 'x2',
    author: 'asks',
    content: { role: 'model', parts: [{ text: 'ready' }] },
    usageMetadata: { timingInfo: {} },
  });
  expect(textsOf(await run(flow([], ['followed']), { invocationId }))).toEqual(['follows: followed']);
  expect((await stored()).at(-1)?.object).toBe('runner.end');
});

describe('a run that cannot be resumed is refused, and nothing is written', () => {
  test.each([
    ['one that the session does not have', 'e-unknown', true, {}, InvalidRequestError],
    ['one that was not resumable', undefined, false, {}, InvalidRequestError],
    [
      'one that is to be told something',
      undefined,
      true,
      { newMessage: { parts: [{ text: 'x' }] } },
      InvalidMessageError,
    ],
    ['one with state and no message', undefined, true, { stateDelta: { a: 1 } }, InvalidRequestError],
  ])('%s', async (_, id, resumable, params, error) => {
    const { run, begin, stored, sessionService } = await setUp();
    const { invocationId } = await begin(agentOf('bot', [WAIT]), resumable);
    const before = await stored();
    await expect(run(agentOf('bot', []), { invocationId: id ?? invocationId, ...params })).rejects.toThrow(error);
    expect(await stored()).toEqual(before);
    await sessionService.releaseLease(await sessionService.acquireLease({ ...KEY, onBusy: 'reject' }));
  });

  test('one that failed', async () => {
    const { run, begin, stored } = await setUp();
    await expect(begin(agentOf('bot', [{ error: new TypeError('broken') }]))).rejects.toThrow('broken');
    const invocationId = (await stored())[0]?.invocationId ?? '';
    await expect(run(agentOf('bot', ['x']), { invocationId })).rejects.toThrow(InvalidRequestError);
  });

  test('one that was rewound', async () => {
    const { run, begin, sessionService } = await setUp();
    const { invocationId } = await begin(agentOf('bot', [WAIT]));
    const runner = new Runner({ appName: 'app', agent: agentOf('bot', []), sessionService });
    await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: invocationId });
    await expect(run(agentOf('bot', []), { invocationId })).rejects.toThrow(InvalidRequestError);
  });
});

test('a run that cannot be resumed stores nothing of how far it comes', async () => {
  const { begin, stored } = await setUp();
  await begin(new SequentialAgent({ name: 'flow', subAgents: [agentOf('a', ['one']), agentOf('b', ['two'])] }), false);
  for (const { actions } of await stored()) {
    expect(actions.agentState).toBeUndefined();
    expect(actions.endOfAgent).toBeUndefined();
  }
});

test('model calls of before count, and an agent of one’s own goes on from its checkpoint', async () => {
  const { run, begin } = await setUp();
  class Steps extends BaseAgent {
    override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const done = Number(context.agentState?.['done'] ?? 0);
      for (const [index, child] of this.subAgents.entries()) {
        if (index < done) continue;
        if (index > done) yield context.createEvent({ actions: { agentState: { done: index } } });
        yield* child.runAsync(context);
        if (context.isPaused) return;
      }
    }
  }
  const tree = (a: ScriptedStep[], b: ScriptedStep[]) =>
    new Steps({ name: 'steps', subAgents: [agentOf('a', a), agentOf('b', b)] });
  const { invocationId } = await begin(tree(['a'], [WAIT]));
  const more = run(tree([], ['b', 'c']), { invocationId, ...answer('c1'), runConfig: { maxLlmCalls: 3 } });
  expect(textsOf(await more)).toEqual(['b: b']);
});
