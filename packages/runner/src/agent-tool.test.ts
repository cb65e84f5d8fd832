import {
  BaseAgent,
  BasePlugin,
  createEvent,
  type Event,
  groupByExecution,
  type InvocationContext,
  LlmCallLimitError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, exitLoop, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { responsesOf, scenario, scripted, textOf } from './fixtures/scenario.ts';

describe('an agent called with AgentTool', () => {
  test('answers its caller with its last text, and the caller stays active', async () => {
    const { run } = await scenario({ agent: caller(scripted('helper', ['It is done.'])) });
    const events = await run();
    expect(events.map((event) => event.author)).toEqual(['lead', 'lead', 'lead']);
    expect(responsesOf(events)).toEqual([{ result: 'It is done.' }]);
  });

  test('sees only its request, without the conversation', async () => {
    const helper = scripted('helper', ['ok']);
    const { run } = await scenario({ agent: caller(helper) });
    await run();
    expect(modelOf(helper).requests[0]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'do it' }] }]);
  });

  test('stores its events on its own branch, which the caller does not see', async () => {
    const tool = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
    const helper = scripted('helper', [{ text: 'secret', calls: [{ name: 'look' }] }, 'ok'], { tools: [tool] });
    const lead = caller(helper);
    const { run, stored } = await scenario({ agent: lead });
    await run();
    const events = await stored();
    expect(events.map((event) => [event.author, event.branch])).toEqual([
      ['user', undefined],
      ['lead', undefined],
      ['lead', 'helper@c1'],
      ['helper', 'helper@c1'],
      ['helper', 'helper@c1'],
      ['helper', 'helper@c1'],
      ['lead', undefined],
      ['lead', undefined],
    ]);
    expect(events[2]?.object).toBe('agent.input');
    const contents = JSON.stringify(modelOf(lead).requests[1]?.request.contents);
    expect(contents).not.toContain('secret');
    expect(contents).toContain('"result":"ok"');
  });

  test('starts without history at each call, also for a repeated call id', async () => {
    const helper = scripted('helper', ['first', 'second']);
    const call = (request: string) => ({ calls: [{ name: 'helper', id: 'same', args: { request } }] });
    const tools = [new AgentTool({ agent: helper })];
    const { run } = await scenario({ agent: scripted('lead', [call('one'), call('two'), 'done'], { tools }) });
    expect(responsesOf(await run())).toEqual([{ result: 'first' }, { result: 'second' }]);
    expect(modelOf(helper).requests[1]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'two' }] }]);
  });

  test('is separate from concurrent calls of it', async () => {
    const echo = (request: { contents: { parts?: { text?: string }[] }[] }) =>
      `heard ${request.contents.map((each) => each.parts?.[0]?.text).join()}`;
    const helper = scripted('helper', [echo, echo, echo]);
    const calls = ['a', 'b', 'c'].map((id) => ({ name: 'helper', id, args: { request: id } }));
    const lead = scripted('lead', [{ calls }, 'done'], { tools: [new AgentTool({ agent: helper })] });
    const { run, stored } = await scenario({ agent: lead });
    expect(responsesOf(await run())).toEqual([{ result: 'heard a' }, { result: 'heard b' }, { result: 'heard c' }]);
    const branches = new Set((await stored()).flatMap(({ branch }) => branch ?? []));
    expect(branches).toEqual(new Set(['helper@a', 'helper@b', 'helper@c']));
  });

  test("adds only its response to the contents of the caller's next turn", async () => {
    const lead = scripted('lead', [{ calls: [{ name: 'helper', id: 'c1', args: { request: 'x' } }] }, 'done', 'next'], {
      tools: [new AgentTool({ agent: scripted('helper', ['hidden words']) })],
    });
    const { run } = await scenario({ agent: lead });
    await run();
    await run();
    const texts = JSON.stringify(modelOf(lead).requests[2]?.request.contents);
    expect(texts.match(/hidden words/g)).toHaveLength(1);
    expect(texts).not.toContain('[helper]');
  });

  test('may be a tree of agents that transfer and call each other', async () => {
    const deep = scripted('deep', ['from the deep']);
    const second = scripted(
      'second',
      [{ calls: [{ name: 'deep', id: 'd', args: { request: 'go' } }] }, 'second is done'],
      {
        tools: [new AgentTool({ agent: deep })],
      },
    );
    const first = scripted('first', [{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'second' } }] }], {
      subAgents: [second],
    });
    const { run, stored } = await scenario({
      agent: caller(new SequentialAgent({ name: 'inner', subAgents: [first] })),
    });
    expect(responsesOf(await run())).toEqual([{ result: 'second is done' }]);
    const branches = (await stored()).map(({ author, branch }) => `${author} ${branch ?? ''}`);
    expect(branches).toContain('deep inner@c1.deep@d');
  });

  test('cannot transfer to agents above it', async () => {
    const helper = scripted('helper', ['ok']);
    const model = new ScriptedModel([{ calls: [{ name: 'helper', id: 'c1', args: { request: 'x' } }] }, 'done']);
    const tools = [new AgentTool({ agent: helper })];
    const { run } = await scenario({
      agent: new LlmAgent({ name: 'lead', model, tools, subAgents: [helper], globalInstruction: 'Outer.' }),
    });
    await run();
    const request = modelOf(helper).requests[0]?.request;
    expect(Object.keys(request?.toolsDict ?? {})).toEqual([]);
    expect(request?.config.systemInstruction).not.toContain('Outer.');
  });

  test('is an execution in the call tree', async () => {
    const { run, stored } = await scenario({ agent: caller(scripted('helper', ['ok'])) });
    await run();
    const [request] = groupByExecution(await stored());
    const [lead, ...others] = request?.executions ?? [];
    expect(others).toEqual([]);
    expect(lead?.executionId).toBe(request?.invocationId);
    expect(lead?.children.map(({ events }) => events.map((event) => event.author))).toEqual([['lead', 'helper']]);
  });

  test('shares maxLlmCalls with the run', async () => {
    const { run } = await scenario({ agent: caller(scripted('helper', ['ok'])) });
    await expect(run('hi', { runConfig: { maxLlmCalls: 2 } })).rejects.toBeInstanceOf(LlmCallLimitError);
  });

  test('reports whole events to the plugins of the run', async () => {
    const seen: string[] = [];
    class Watcher extends BasePlugin {
      override onEventCallback({
        invocationContext,
        event,
      }: {
        invocationContext: InvocationContext;
        event: Event;
      }): undefined {
        seen.push(`${event.author} of ${invocationContext.invocation.rootAgent.name}`);
      }

      override beforeAgentCallback({ agent }: { agent: BaseAgent }): undefined {
        seen.push(`before ${agent.name}`);
      }
    }
    const { run } = await scenario({
      agent: caller(scripted('helper', ['ok']), { streamInner: true }),
      plugins: [new Watcher('w')],
    });
    await run();
    expect(seen).toEqual([
      'before lead',
      'lead of lead',
      'before helper',
      'helper of helper',
      'lead of lead',
      'lead of lead',
    ]);
  });

  test('reports each chunk once to the plugins of the run', async () => {
    const seen: string[] = [];
    class Watcher extends BasePlugin {
      override onEventCallback({ event }: { event: Event }): undefined {
        if (event.partial === true) seen.push(`${event.author} ${textOf(event)}`);
      }
    }
    const helper = scripted('helper', [{ chunks: ['a', 'b'] }]);
    const { run } = await scenario({ agent: caller(helper, { streamInner: true }), plugins: [new Watcher('w')] });
    await run('hi', { runConfig: { streamingMode: 'sse' } });
    expect(seen.filter((line) => line.startsWith('helper'))).toEqual(['helper a', 'helper b']);
  });

  test('has missing fields of its events filled in', async () => {
    const bare = new CustomAgent('bare', async function* () {
      yield createEvent({ content: { role: 'model', parts: [{ text: 'bare' }] } });
    });
    const { run, stored } = await scenario({ agent: caller(bare) });
    expect(responsesOf(await run())).toEqual([{ result: 'bare' }]);
    const event = (await stored()).find((each) => textOf(each) === 'bare');
    expect(event).toMatchObject({ author: 'bare', branch: 'bare@c1' });
  });

  test('ends only itself with endInvocation', async () => {
    const ending = new CustomAgent('ending', async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'enough' }] } });
      context.endInvocation = true;
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'last' }] } });
      expect.unreachable();
    });
    const { run } = await scenario({ agent: caller(ending) });
    const events = await run();
    expect(responsesOf(events)).toEqual([{ result: 'last' }]);
    expect(textOf(events.at(-1) ?? expect.unreachable())).toBe('done');
  });

  test('that escalates out of its own loop ends no loop around its caller', async () => {
    const leave = { calls: [{ name: 'exit_loop' }] };
    const inner = new LoopAgent({
      name: 'inner',
      subAgents: [scripted('worker', [leave, leave], { tools: [exitLoop] })],
    });
    const tools = [new AgentTool({ agent: inner, streamInner: true })];
    const call = { calls: [{ name: 'inner', args: { request: 'x' } }] };
    const lead = scripted('lead', [call, 'one', call, 'two'], { tools });
    const { run } = await scenario({ agent: new LoopAgent({ name: 'outer', maxIterations: 2, subAgents: [lead] }) });
    expect((await run()).filter((event) => event.author === 'lead').map(textOf)).toContain('two');
  });

  test('may be a parallel agent', async () => {
    const par = new ParallelAgent({ name: 'par', subAgents: [scripted('a', ['from a']), scripted('b', ['from b'])] });
    const { run, stored } = await scenario({ agent: caller(par) });
    expect(responsesOf(await run())).toEqual([{ result: 'from b' }]);
    expect((await stored()).map(({ branch }) => branch)).toContain('par@c1.par.a');
  });
});
