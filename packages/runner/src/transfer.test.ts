import {
  BasePlugin,
  type Event,
  groupByExecution,
  hasTag,
  hideTransfers,
  type InvocationContext,
  isFinalResponse,
  type LlmRequest,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { scenario, scripted, summaryOf, transferTo } from './fixtures/scenario.ts';

test('after a transfer the target agent answers', async () => {
  const helper = scripted('helper', ['I can help.']);
  const { run, stored } = await scenario({ agent: scripted('lead', [transferTo('helper')], { subAgents: [helper] }) });
  const events = await run();
  expect(events.map(summaryOf)).toEqual([
    'lead: calls transfer_to_agent',
    'lead: answers {"result":"Transfer queued"}',
    'helper: I can help.',
  ]);
  expect(events.map((event) => hasTag(event, 'transfer'))).toEqual([true, true, false]);
  expect(events[1]?.actions.transferToAgent).toBe('helper');
  expect(events.map(isFinalResponse)).toEqual([false, false, true]);
  expect((await stored()).slice(1)).toEqual(events);
  expect(hideTransfers(events).map(summaryOf)).toEqual(['helper: I can help.']);
});

test('announceTransfers streams a text for each transfer, which is not final and not stored', async () => {
  const helper = scripted('helper', ['I can help.']);
  const { run, stored } = await scenario({ agent: scripted('lead', [transferTo('helper')], { subAgents: [helper] }) });
  const events = await run('hi', { runConfig: { announceTransfers: true } });
  expect(events.map(summaryOf)).toEqual([
    'lead: calls transfer_to_agent',
    'lead: answers {"result":"Transfer queued"}',
    'lead: Transferring control to agent: helper',
    'helper: I can help.',
  ]);
  expect(events[2]).toMatchObject({ object: 'agent.transfer', tags: ['transfer'] });
  expect(events.map(isFinalResponse)).toEqual([false, false, false, true]);
  expect((await stored()).slice(1)).toEqual([events[0], events[1], events[3]]);
  expect(hideTransfers(events).map(summaryOf)).toEqual(['helper: I can help.']);
});

test('the target sees the conversation without the transfer announcement', async () => {
  const model = new ScriptedModel(['I can help.']);
  const helper = new LlmAgent({ name: 'helper', model });
  const { run } = await scenario({ agent: scripted('lead', [transferTo('helper')], { subAgents: [helper] }) });
  await run('help me', { runConfig: { announceTransfers: true } });
  const contents = JSON.stringify(model.requests[0]?.request.contents);
  expect(contents).toContain('help me');
  expect(contents).toContain('[lead] called tool `transfer_to_agent`');
  expect(contents).not.toContain('Transferring control');
});

test('a transfer may name the agent in agentName, as ADK for JavaScript declares it', async () => {
  const call = { name: 'transfer_to_agent', args: { agentName: 'helper' } };
  const helper = scripted('helper', ['I can help.']);
  const { run } = await scenario({ agent: scripted('lead', [{ calls: [call] }], { subAgents: [helper] }) });
  expect((await run()).map(summaryOf).at(-1)).toBe('helper: I can help.');
});

test('other calls of the same reply run before the transfer', async () => {
  const tool = new FunctionTool({ name: 'note', description: '', execute: () => 'noted' });
  const calls = [{ name: 'note' }, { name: 'transfer_to_agent', args: { agent_name: 'helper' } }];
  const lead = scripted('lead', [{ calls }], { tools: [tool], subAgents: [scripted('helper', ['done'])] });
  const { run } = await scenario({ agent: lead });
  const events = await run();
  expect(events[1]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    { result: 'noted' },
    { result: 'Transfer queued' },
  ]);
  expect(events[1]?.tags).toEqual(['transfer']);
  expect(summaryOf(events[2] ?? expect.unreachable())).toBe('helper: done');
});

test("each transfer starts an execution whose parent is the transferring agent's", async () => {
  const second = scripted('second', ['done']);
  const first = scripted('first', [transferTo('second')], { subAgents: [second] });
  const { run, stored } = await scenario({ agent: scripted('top', [transferTo('first')], { subAgents: [first] }) });
  await run();
  const [request] = groupByExecution(await stored());
  const [top] = request?.executions ?? [];
  expect(top?.executionId).toBe(request?.invocationId);
  expect(top?.events.map((event) => event.author)).toEqual(['user', 'top', 'top']);
  expect(top?.children.map(({ events }) => events.map((event) => event.author))).toEqual([['first', 'first']]);
  expect(top?.children[0]?.children.map(({ events }) => events.map(summaryOf))).toEqual([['second: done']]);
});

test('the transferring agent ends, callbacks included, before the target starts', async () => {
  const helper = scripted('helper', ['helped']);
  const { run } = await scenario({
    agent: scripted('lead', [transferTo('helper')], {
      subAgents: [helper],
      afterAgentCallback: () => ({ parts: [{ text: 'over to you' }] }),
    }),
  });
  expect((await run()).map(summaryOf).slice(1)).toEqual([
    'lead: answers {"result":"Transfer queued"}',
    'lead: over to you',
    'helper: helped',
  ]);
});

test('a transfer removed by a plugin does not happen', async () => {
  class Keeper extends BasePlugin {
    override onEventCallback({ event }: { event: Event }): Event | undefined {
      if (event.actions.transferToAgent === undefined) return undefined;
      const { transferToAgent: _, ...actions } = event.actions;
      return { ...event, actions };
    }
  }
  const lead = scripted('lead', [transferTo('helper')], { subAgents: [scripted('helper', [])] });
  const { run } = await scenario({ agent: lead, plugins: [new Keeper('keeper')] });
  expect((await run()).map((event) => event.author)).toEqual(['lead', 'lead']);
});

test('endInvocation at a transfer ends the run', async () => {
  class Ender extends BasePlugin {
    override onEventCallback({ invocationContext, event }: { invocationContext: InvocationContext; event: Event }) {
      if (event.actions.transferToAgent !== undefined) invocationContext.endInvocation = true;
      return undefined;
    }
  }
  const lead = scripted('lead', [transferTo('helper')], { subAgents: [scripted('helper', [])] });
  const { run } = await scenario({ agent: lead, plugins: [new Ender('ender')] });
  expect((await run()).map((event) => event.author)).toEqual(['lead', 'lead']);
});

test('a custom agent transfers with an event', async () => {
  const helper = scripted('helper', ['helped']);
  const lead = new CustomAgent(
    'lead',
    async function* (context) {
      yield context.createEvent({ actions: { transferToAgent: 'helper' } });
    },
    { subAgents: [helper] },
  );
  const { run } = await scenario({ agent: lead });
  expect((await run()).map(summaryOf).slice(1)).toEqual(['helper: helped']);
});

test('a custom agent that transfers and then ends the invocation does not transfer', async () => {
  const lead = new CustomAgent(
    'lead',
    async function* (context) {
      yield context.createEvent({ actions: { transferToAgent: 'helper' } });
      context.endInvocation = true;
    },
    { subAgents: [scripted('helper', [])] },
  );
  const { run } = await scenario({ agent: lead });
  expect((await run()).map((event) => event.author)).toEqual(['lead']);
});

test.each([
  ['gone', ''],
  ['helpr', '; did you mean "helper"?'],
])('a custom agent that transfers to the unknown agent "%s" fails the run', async (target, advice) => {
  const lead = new CustomAgent(
    'lead',
    async function* (context) {
      yield context.createEvent({ actions: { transferToAgent: target } });
    },
    { subAgents: [scripted('helper', [])] },
  );
  const { run } = await scenario({ agent: lead });
  const fault = `agent "lead": requested a transfer to "${target}", but no agent of the tree has that name`;
  await expect(run()).rejects.toThrow(`${fault}${advice}`);
});

test('an agent run by a custom agent may transfer, and the caller continues after the target', async () => {
  const helper = scripted('helper', ['helped']);
  const asker = scripted('asker', [transferTo('helper')], { subAgents: [helper] });
  const lead = new CustomAgent(
    'lead',
    async function* (context) {
      yield* asker.runAsync(context);
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'and done' }] } });
    },
    { subAgents: [asker] },
  );
  const { run } = await scenario({ agent: lead });
  expect((await run()).map(summaryOf).slice(2)).toEqual(['helper: helped', 'lead: and done']);
});

test('chunks of the target are yielded, and the transfer call is not a chunk', async () => {
  const helper = scripted('helper', [{ chunks: ['I ', 'can'] }]);
  const { run } = await scenario({ agent: scripted('lead', [transferTo('helper')], { subAgents: [helper] }) });
  const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
  const texts = events.filter((event) => event.author === 'helper').map((event) => [event.partial, summaryOf(event)]);
  expect(texts).toEqual([
    [true, 'helper: I '],
    [true, 'helper: can'],
    [undefined, 'helper: I can'],
  ]);
  expect(hideTransfers(events).every((event) => event.author === 'helper')).toBe(true);
});

test('one agent tree serves a thousand concurrent conversations unmodified', async () => {
  const speak = (request: LlmRequest): ScriptedStep => `I heard ${JSON.stringify(request.contents[0]?.parts)}`;
  const always = (step: ScriptedStep): ScriptedStep[] => Array.from({ length: 1000 }, () => step);
  const helper = scripted(
    'helper',
    always(async (request) => speak(request) as string),
  );
  const root = scripted('lead', always(transferTo('helper')), { subAgents: [helper] });
  for (const agent of [root, helper]) {
    // The agents are frozen: caches of values for all requests must not be stored in them.
    for (const list of [agent.subAgents, agent.tools]) Object.freeze(list);
    Object.freeze(agent);
  }
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent: root, sessionService, autoCreateSession: true });
  const runs = Array.from({ length: 1000 }, async (_, index) => {
    const events = await runner.run({
      userId: 'u',
      sessionId: `s${index}`,
      newMessage: { parts: [{ text: `hello ${index}` }] },
    });
    return summaryOf(events.at(-1) ?? expect.unreachable());
  });
  const answers = await Promise.all(runs);
  expect(answers).toEqual(answers.map((_, index) => `helper: I heard [{"text":"hello ${index}"}]`));
});
