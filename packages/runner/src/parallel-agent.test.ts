import { BaseAgent, BasePlugin } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { CustomAgent, textEvent } from './fixtures/custom-agent.ts';
import { saying, scenario, scripted, textOf } from './fixtures/scenario.ts';

test('sub-agents run concurrently, and events are yielded as they come', async () => {
  const [slow, fast] = [new Gate(), new Gate()];
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [scripted('slow', [{ text: 'slow', gate: slow }]), scripted('fast', [{ text: 'fast', gate: fast }])],
  });
  const { run } = await scenario({ agent: root });
  const running = run();
  await Promise.all([slow.reached, fast.reached]);
  fast.open();
  slow.open();
  expect((await running).map((event) => [event.author, event.branch])).toEqual([
    ['fast', 'par.fast'],
    ['slow', 'par.slow'],
  ]);
});

test('the event of the sub-agent that is ready first is yielded first', async () => {
  const slow = new Gate();
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [scripted('slow', [{ text: 'slow', gate: slow }]), scripted('fast', ['fast'])],
  });
  const { runner } = await scenario({ agent: root });
  const texts: (string | undefined)[] = [];
  for await (const event of runner.runAsync(saying('hi'))) {
    texts.push(textOf(event));
    slow.open();
  }
  expect(texts).toEqual(['fast', 'slow']);
});

test('a sub-agent continues when its own event is committed', async () => {
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
  const { run } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [chatty('a'), chatty('b'), chatty('c')] }),
  });
  const events = await run();
  expect(events.map(textOf)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  expect(seen).toHaveLength(9);
  expect(seen.every((line) => line.endsWith('stored'))).toBe(true);
});

test('a sub-agent sees earlier events and its own, and the next agent sees those of all', async () => {
  const models = ['a', 'b'].map((name) => new ScriptedModel([{ calls: [{ name: 'none' }] }, `${name} is done`]));
  const [a, b] = ['a', 'b'].map((name, index) => new LlmAgent({ name, model: models[index] ?? expect.unreachable() }));
  const last = new ScriptedModel(['all done']);
  const root = new SequentialAgent({
    name: 'steps',
    subAgents: [
      scripted('before', ['earlier']),
      new ParallelAgent({ name: 'par', subAgents: [a ?? expect.unreachable(), b ?? expect.unreachable()] }),
      new LlmAgent({ name: 'last', model: last }),
    ],
  });
  const { run } = await scenario({ agent: root });
  await run();
  const [first, second] = models.map((model) => JSON.stringify(model.requests[1]?.request.contents));
  expect(first).toContain('[before] said: earlier');
  expect(first).not.toContain('[b]');
  expect(second).not.toContain('[a]');
  const all = JSON.stringify(last.requests[0]?.request.contents);
  expect(all).toContain('[a] said: a is done');
  expect(all).toContain('[b] said: b is done');
});

test('at most maxConcurrency sub-agents run at a time', async () => {
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
  const { run } = await scenario({ agent: root });
  expect((await run()).map(textOf)).toEqual(names);
  expect(most).toBe(2);
});

test('an escalation in a branch ends the loop around it when all branches have ended', async () => {
  const leaving = new CustomAgent('leaving', async function* (context) {
    yield context.createEvent({ actions: { escalate: true } });
  });
  const par = new ParallelAgent({ name: 'par', subAgents: [leaving, scripted('a', ['done'])] });
  const { run } = await scenario({ agent: new LoopAgent({ name: 'loop', subAgents: [par, scripted('b', [])] }) });
  expect((await run()).map((event) => event.author)).toEqual(['leaving', 'a']);
});

test('nested parallel agents have nested branches', async () => {
  const inner = new ParallelAgent({ name: 'inner', subAgents: [scripted('a', ['a']), scripted('b', ['b'])] });
  const { run } = await scenario({
    agent: new ParallelAgent({ name: 'outer', subAgents: [inner, scripted('c', ['c'])] }),
  });
  expect((await run()).map((event) => `${event.branch}`).toSorted()).toEqual([
    'outer.c',
    'outer.inner.inner.a',
    'outer.inner.inner.b',
  ]);
});

test('a transfer within a branch stays on the branch', async () => {
  const transfer: ScriptedStep = { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
  const asker = scripted('asker', [transfer], { subAgents: [scripted('helper', ['helped'])] });
  const { run } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [asker, scripted('a', ['a'])] }),
  });
  const helped = (await run()).find((event) => event.author === 'helper');
  expect(helped).toMatchObject({ branch: 'par.asker' });
});

test('chunks of several branches are yielded as they come', async () => {
  const hold = new Gate();
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [scripted('a', [{ chunks: ['a1', hold, 'a2'] }]), scripted('b', [{ chunks: ['b1', 'b2'] }])],
  });
  const { runner } = await scenario({ agent: root });
  const texts: (string | undefined)[] = [];
  for await (const event of runner.runAsync(saying('hi', { runConfig: { streamingMode: 'sse' } }))) {
    texts.push(textOf(event));
    if (textOf(event) === 'b1b2') hold.open();
  }
  expect(texts).toEqual(['a1', 'b1', 'b2', 'b1b2', 'a2', 'a1a2']);
});

test('agent callbacks run for every agent of the branches', async () => {
  const calls: string[] = [];
  class Listener extends BasePlugin {
    override beforeAgentCallback({ agent }: { agent: BaseAgent }): undefined {
      calls.push(`before ${agent.name}`);
    }

    override afterAgentCallback({ agent }: { agent: BaseAgent }): undefined {
      calls.push(`after ${agent.name}`);
    }
  }
  const root = new ParallelAgent({ name: 'par', subAgents: [scripted('a', ['a']), scripted('b', ['b'])] });
  const { run } = await scenario({ agent: root, plugins: [new Listener('listener')] });
  await run();
  expect(calls.toSorted()).toEqual(['after a', 'after b', 'after par', 'before a', 'before b', 'before par']);
  expect(calls.at(-1)).toBe('after par');
});

test('an answer to a call of a branch goes to its agent on that branch', async () => {
  const ask = new LongRunningFunctionTool({ name: 'ask', description: '', execute: () => undefined });
  const model = new ScriptedModel([{ calls: [{ name: 'ask', id: 'c1' }] }, 'thanks']);
  const asker = new LlmAgent({ name: 'asker', model, tools: [ask] });
  const { run, runner, stored } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [asker, scripted('other', ['other'])] }),
  });
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
