/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  AgentError,
  BaseAgent,
  type BaseAgentConfig,
  BasePlugin,
  type Event,
  type InvocationContext,
  isRunnerCompletion,
  RunAbortedError,
  type RunConfig,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import type { RunAsyncParams } from './run-params.ts';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(name: string, script: Script, config: Partial<BaseAgentConfig> = {}) {
    super({ name, ...config });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

function textEvent(context: InvocationContext, text: string): Event {
  return context.createEvent({ content: { role: 'model', parts: [{ text }] } });
}

async function setUp(agent: BaseAgent, config: Partial<RunnerConfig> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, ...config });
  const params = (runConfig: RunConfig = {}): RunAsyncParams => ({
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ text: 'hi' }] },
    runConfig,
  });
  const run = (runConfig?: RunConfig): Promise<Event[]> => runner.run(params(runConfig));
  const stored = async () => ((await sessionService.getSession(KEY)) ?? expect.unreachable()).events;
  const expectFree = async () => {
    await sessionService.releaseLease(await sessionService.acquireLease({ ...KEY, onBusy: 'reject' }));
  };
  return { run, runner, params, stored, platform, expectFree };
}

function textOf(event: Event): string | undefined {
  return event.content?.parts?.[0]?.text;
}

function agentOf(name: string, steps: ScriptedStep[], config: object = {}): LlmAgent {
  return new LlmAgent({ name, model: new ScriptedModel(steps), ...config });
}

test('sub-agents run at the same time, and events come as they are made', async () => {
  const [slow, fast] = [new Gate(), new Gate()];
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [agentOf('slow', [{ text: 'slow', gate: slow }]), agentOf('fast', [{ text: 'fast', gate: fast }])],
  });
  const { run } = await setUp(root);
  const running = run();
  await Promise.all([slow.reached, fast.reached]);
  fast.open();
  slow.open();
  expect((await running).map((event) => [event.author, event.branch])).toEqual([
    ['fast', 'par.fast'],
    ['slow', 'par.slow'],
  ]);
});

test('a sub-agent that is ready first is heard first', async () => {
  const slow = new Gate();
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [agentOf('slow', [{ text: 'slow', gate: slow }]), agentOf('fast', ['fast'])],
  });
  const { runner, params } = await setUp(root);
  const texts: (string | undefined)[] = [];
  for await (const event of runner.runAsync(params())) {
    texts.push(textOf(event));
    slow.open();
  }
  expect(texts).toEqual(['fast', 'slow']);
});

test('a sub-agent goes on when its own event is committed, and not before', async () => {
  const seen: string[] = [];
  const chatty = (name: string) =>
    new CustomAgent(name, async function* (context) {
      for (const text of ['1', '2', '3']) {
        const event = textEvent(context, `${name}${text}`);
        yield event;
        const isStored = context.session.events.some(({ id }) => id === event.id);
        seen.push(`${name}${text} ${isStored ? 'stored' : 'lost'}`);
      }
    });
  const { run } = await setUp(new ParallelAgent({ name: 'par', subAgents: [chatty('a'), chatty('b'), chatty('c')] }));
  const events = await run();
  expect(events.map(textOf)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  expect(seen).toHaveLength(9);
  expect(seen.every((line) => line.endsWith('stored'))).toBe(true);
});

test('a sub-agent sees what was said before and itself, and whoever comes after sees all of them', async () => {
  const models = ['a', 'b'].map((name) => new ScriptedModel([{ calls: [{ name: 'none' }] }, `${name} is done`]));
  const [a, b] = ['a', 'b'].map((name, index) => new LlmAgent({ name, model: models[index] ?? expect.unreachable() }));
  const last = new ScriptedModel(['all done']);
  const root = new SequentialAgent({
    name: 'steps',
    subAgents: [
      agentOf('before', ['earlier']),
      new ParallelAgent({ name: 'par', subAgents: [a ?? expect.unreachable(), b ?? expect.unreachable()] }),
      new LlmAgent({ name: 'last', model: last }),
    ],
  });
  const { run } = await setUp(root);
  await run();
  const [first, second] = models.map((model) => JSON.stringify(model.requests[1]?.request.contents));
  expect(first).toContain('[before] said: earlier');
  expect(first).not.toContain('[b]');
  expect(second).not.toContain('[a]');
  const all = JSON.stringify(last.requests[0]?.request.contents);
  expect(all).toContain('[a] said: a is done');
  expect(all).toContain('[b] said: b is done');
});

test('no more sub-agents run at the same time than may, and each that ends makes room', async () => {
  let running = 0;
  let most = 0;
  const names = ['a', 'b', 'c', 'd', 'e'];
  const busy = (name: string) =>
    new CustomAgent(name, async function* (context) {
      most = Math.max(most, ++running);
      yield textEvent(context, name);
      running--;
    });
  const root = new ParallelAgent({ name: 'par', maxConcurrency: 2, subAgents: names.map(busy) });
  const { run } = await setUp(root);
  expect((await run()).map(textOf)).toEqual(names);
  expect(most).toBe(2);
});

test('the first failure stops the siblings, closes them, and is thrown', async () => {
  const gate = new Gate();
  const closed: string[] = [];
  const waiting = new CustomAgent('waiting', async function* (context) {
    try {
      yield textEvent(context, 'one');
      await gate.pass(context.abortSignal);
      yield textEvent(context, 'never');
    } finally {
      closed.push('waiting');
    }
  });
  const suspended = new CustomAgent('suspended', async function* (context) {
    try {
      for (;;) {
        yield textEvent(context, 'more');
        await gate.reached;
      }
    } finally {
      closed.push('suspended');
    }
  });
  const failing = new CustomAgent('failing', async function* () {
    await gate.reached;
    throw new TypeError('broken');
  });
  const { run, stored, expectFree, platform } = await setUp(
    new ParallelAgent({ name: 'par', subAgents: [waiting, suspended, failing] }),
  );
  const error: unknown = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'broken' });
  expect(closed.toSorted()).toEqual(['suspended', 'waiting']);
  const events = await stored();
  expect(events.map(textOf)).not.toContain('never');
  expect(events.at(-1)).toMatchObject({
    author: 'failing',
    branch: 'par.failing',
    errorCode: 'AGENT',
    errorMessage: expect.stringContaining('agent "failing"'),
  });
  await expectFree();
  await platform.drain();
});

test('a sibling that fails because it was stopped does not take the place of the first failure', async () => {
  const asked = new Gate();
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [
      agentOf('slow', [{ text: 'late', gate: asked }]),
      new CustomAgent('failing', async function* () {
        await asked.reached;
        throw new TypeError('broken');
      }),
    ],
  });
  const { run } = await setUp(root);
  await expect(run()).rejects.toThrow('broken');
});

test('a failure of a sibling stops the rest of a part of the tree, and a callback above may recover', async () => {
  const failing = new CustomAgent('failing', async function* () {
    throw new TypeError('broken');
  });
  const par = new ParallelAgent({
    name: 'par',
    subAgents: [failing, agentOf('other', [{ text: 'late', gate: new Gate() }])],
    onAgentErrorCallback: () => ({ parts: [{ text: 'never mind' }] }),
  });
  const next = new CustomAgent('next', async function* (context) {
    yield textEvent(context, `next, ${context.abortSignal.aborted ? 'aborted' : 'alive'}`);
  });
  const { run } = await setUp(new SequentialAgent({ name: 'steps', subAgents: [par, next] }));
  expect((await run()).map(textOf)).toEqual(['never mind', 'next, alive']);
});

test('a sibling that does not listen is waited for a while, and then left to itself', async () => {
  const stuck = new CustomAgent('stuck', async function* () {
    await new Promise(() => undefined);
  });
  const failing = new CustomAgent('failing', async function* () {
    throw new TypeError('broken');
  });
  const root = new ParallelAgent({ name: 'par', subAgents: [stuck, failing] });
  const { run, platform, expectFree } = await setUp(root, { leaseTtlMs: 600_000 });
  const outcome = expect(run()).rejects.toThrow('broken');
  while ((await platform.nextTimer()) !== 5000);
  platform.advance(5000);
  await outcome;
  await expectFree();
});

test('whoever stops reading stops every branch', async () => {
  const closed: string[] = [];
  const talking = (name: string) =>
    new CustomAgent(name, async function* (context) {
      try {
        yield textEvent(context, name);
        await new Gate().pass(context.abortSignal);
      } finally {
        closed.push(name);
      }
    });
  const { runner, params, expectFree } = await setUp(
    new ParallelAgent({ name: 'par', subAgents: [talking('a'), talking('b'), talking('c')] }),
  );
  for await (const event of runner.runAsync(params())) if (textOf(event) === 'b') break;
  expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
  await expectFree();
});

test('an abort of the run ends all branches with RunAbortedError, and the completion event still comes last', async () => {
  const controller = new AbortController();
  const gate = new Gate();
  const root = new SequentialAgent({
    name: 'steps',
    subAgents: [
      new ParallelAgent({
        name: 'par',
        subAgents: [agentOf('a', ['quick']), agentOf('b', [{ text: 'never', gate }])],
      }),
    ],
  });
  const { runner, params, expectFree } = await setUp(root);
  const events: Event[] = [];
  const running = (async () => {
    const stream = runner.runAsync({ ...params({ completionEvent: true }), abortSignal: controller.signal });
    for await (const event of stream) events.push(event);
  })();
  await gate.reached;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(events.filter(isRunnerCompletion)).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ author: 'app', customMetadata: { outcome: 'aborted' } });
  await expectFree();
});

test('after a failure in a nested agent the completion event comes last, once', async () => {
  const failing = new CustomAgent('failing', async function* () {
    throw new TypeError('broken');
  });
  const root = new LoopAgent({
    name: 'loop',
    subAgents: [new ParallelAgent({ name: 'par', subAgents: [failing, agentOf('a', ['fine'])] })],
  });
  const { runner, params } = await setUp(root);
  const events: Event[] = [];
  const running = (async () => {
    for await (const event of runner.runAsync(params({ completionEvent: true }))) events.push(event);
  })();
  await expect(running).rejects.toThrow('broken');
  expect(events.map(isRunnerCompletion).lastIndexOf(true)).toBe(events.length - 1);
  expect(events.filter(isRunnerCompletion)).toHaveLength(1);
  expect(events.at(-2)?.errorMessage).toContain('agent "failing"');
});

test('endInvocation in one branch ends the run after that event, and stops the others', async () => {
  const gate = new Gate();
  const ending = new CustomAgent('ending', async function* (context) {
    await gate.reached;
    context.endInvocation();
    yield textEvent(context, 'the end');
    yield textEvent(context, 'not this');
  });
  const { run, expectFree } = await setUp(
    new ParallelAgent({ name: 'par', subAgents: [ending, agentOf('a', [{ text: 'late', gate }])] }),
  );
  expect((await run()).map(textOf)).toEqual(['the end']);
  await expectFree();
});

test('siblings are stopped when one fails, also while nobody asks for the next event', async () => {
  const stopped = Promise.withResolvers<void>();
  const held = new Gate();
  const working = new CustomAgent('working', async function* (context) {
    yield textEvent(context, 'one');
    await new Gate().pass(context.abortSignal).catch(() => stopped.resolve());
  });
  const failing = new CustomAgent('failing', async function* () {
    await held.pass();
    throw new TypeError('broken');
  });
  const talking = new CustomAgent('talking', async function* (context) {
    yield textEvent(context, 'one');
    yield textEvent(context, 'two');
  });
  const { runner, params } = await setUp(new ParallelAgent({ name: 'par', subAgents: [working, talking, failing] }));
  const stream = runner.runAsync(params());
  while (textOf((await stream.next()).value ?? expect.unreachable()) !== 'two');
  held.open();
  await stopped.promise;
  await expect(stream.next()).resolves.toMatchObject({
    value: { errorMessage: expect.stringContaining('agent "failing"') },
  });
  await expect(stream.next()).rejects.toThrow('broken');
});

test('an escalation in a branch ends the loop around it, when all branches are done', async () => {
  const leaving = new CustomAgent('leaving', async function* (context) {
    yield context.createEvent({ actions: { escalate: true } });
  });
  const par = new ParallelAgent({ name: 'par', subAgents: [leaving, agentOf('a', ['done'])] });
  const { run } = await setUp(new LoopAgent({ name: 'loop', subAgents: [par, agentOf('b', [])] }));
  expect((await run()).map((event) => event.author)).toEqual(['leaving', 'a']);
});

test('parallel agents in parallel agents have branches below branches', async () => {
  const inner = new ParallelAgent({ name: 'inner', subAgents: [agentOf('a', ['a']), agentOf('b', ['b'])] });
  const { run } = await setUp(new ParallelAgent({ name: 'outer', subAgents: [inner, agentOf('c', ['c'])] }));
  expect((await run()).map((event) => `${event.branch}`).toSorted()).toEqual([
    'outer.c',
    'outer.inner.inner.a',
    'outer.inner.inner.b',
  ]);
});

test('a hand-over within a branch stays on the branch', async () => {
  const transfer: ScriptedStep = { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
  const asker = agentOf('asker', [transfer], { subAgents: [agentOf('helper', ['helped'])] });
  const { run } = await setUp(new ParallelAgent({ name: 'par', subAgents: [asker, agentOf('a', ['a'])] }));
  const helped = (await run()).find((event) => event.author === 'helper');
  expect(helped).toMatchObject({ branch: 'par.asker' });
});

test('chunks of several branches come as they are made', async () => {
  const hold = new Gate();
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [agentOf('a', [{ chunks: ['a1', hold, 'a2'] }]), agentOf('b', [{ chunks: ['b1', 'b2'] }])],
  });
  const { runner, params } = await setUp(root);
  const texts: (string | undefined)[] = [];
  for await (const event of runner.runAsync(params({ streamingMode: 'sse' }))) {
    texts.push(textOf(event));
    if (textOf(event) === 'b1b2') hold.open();
  }
  expect(texts).toEqual(['a1', 'b1', 'b2', 'b1b2', 'a2', 'a1a2']);
});

test('every agent of the branches is told before and after', async () => {
  const told: string[] = [];
  class Listener extends BasePlugin {
    override beforeAgentCallback({ agent }: { agent: BaseAgent }): undefined {
      told.push(`before ${agent.name}`);
    }

    override afterAgentCallback({ agent }: { agent: BaseAgent }): undefined {
      told.push(`after ${agent.name}`);
    }
  }
  const root = new ParallelAgent({ name: 'par', subAgents: [agentOf('a', ['a']), agentOf('b', ['b'])] });
  const { run } = await setUp(root, { plugins: [new Listener('listener')] });
  await run();
  expect(told.toSorted()).toEqual(['after a', 'after b', 'after par', 'before a', 'before b', 'before par']);
  expect(told.at(-1)).toBe('after par');
});

test('the answer to a call of a branch goes to the agent that made it, on its branch', async () => {
  const ask = new LongRunningFunctionTool({ name: 'ask', description: '', execute: () => undefined });
  const model = new ScriptedModel([{ calls: [{ name: 'ask', id: 'c1' }] }, 'thanks']);
  const asker = new LlmAgent({ name: 'asker', model, tools: [ask] });
  const { run, runner, stored } = await setUp(
    new ParallelAgent({ name: 'par', subAgents: [asker, agentOf('other', ['other'])] }),
  );
  await run();
  const events = await runner.run({
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ functionResponse: { id: 'c1', name: 'ask', response: { ok: true } } }] },
  });
  expect(events.map((event) => [event.author, textOf(event), event.branch])).toEqual([
    ['asker', 'thanks', 'par.asker'],
  ]);
  expect((await stored()).at(-2)).toMatchObject({ author: 'user', branch: 'par.asker' });
  expect(JSON.stringify(model.requests[1]?.request.contents)).not.toContain('[other]');
});
