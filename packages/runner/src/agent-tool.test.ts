/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  BaseAgent,
  type BaseAgentConfig,
  BasePlugin,
  createEvent,
  type Event,
  groupByExecution,
  type InvocationContext,
  LlmCallLimitError,
  RunAbortedError,
  type RunConfig,
  StaleWriterError,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import {
  AgentTool,
  type AgentToolConfig,
  exitLoop,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
} from '@eventloom/multi-agent';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
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

async function setUp(agent: BaseAgent, config: Partial<RunnerConfig> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const artifactService = new InMemoryArtifactService({ platform });
  const runner = new Runner({ appName: 'app', agent, sessionService, artifactService, platform, ...config });
  const run = (runConfig: RunConfig = {}): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] }, runConfig });
  const session = async () => (await sessionService.getSession(KEY)) ?? expect.unreachable();
  return { run, runner, session, sessionService, platform };
}

/** An agent that calls its one tool, an agent, and then says `done`. */
function caller(inner: BaseAgent, options: Partial<AgentToolConfig> = {}, args: object = { request: 'do it' }) {
  const model = new ScriptedModel([{ calls: [{ name: inner.name, id: 'c1', args: { ...args } }] }, 'done']);
  return new LlmAgent({ name: 'lead', model, tools: [new AgentTool({ agent: inner, ...options })] });
}

function agentOf(name: string, steps: ScriptedStep[], config: Partial<LlmAgentConfig> = {}): LlmAgent {
  return new LlmAgent({ name, model: new ScriptedModel(steps), ...config });
}

function modelOf(agent: LlmAgent): ScriptedModel {
  return agent.model instanceof ScriptedModel ? agent.model : expect.unreachable();
}

function textOf(event: Event): string | undefined {
  return event.content?.parts?.[0]?.text;
}

/** What the tools of a run answered. */
function answers(events: readonly Event[]): unknown[] {
  return events.flatMap(
    (event) => event.content?.parts?.flatMap(({ functionResponse }) => functionResponse?.response ?? []) ?? [],
  );
}

describe('an agent that is called as a tool', () => {
  test('answers its caller with its last words, and the caller keeps the conversation', async () => {
    const { run } = await setUp(caller(agentOf('helper', ['It is done.'])));
    const events = await run();
    expect(events.map((event) => event.author)).toEqual(['lead', 'lead', 'lead']);
    expect(answers(events)).toEqual([{ result: 'It is done.' }]);
  });

  test('is told what it is asked, and nothing of the conversation around it', async () => {
    const helper = agentOf('helper', ['ok']);
    const { run } = await setUp(caller(helper));
    await run();
    expect(modelOf(helper).requests[0]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'do it' }] }]);
  });

  test('stores its events on a branch of its own, which its caller does not see', async () => {
    const tool = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
    const helper = agentOf('helper', [{ text: 'secret', calls: [{ name: 'look' }] }, 'ok'], { tools: [tool] });
    const lead = caller(helper);
    const { run, session } = await setUp(lead);
    await run();
    const { events } = await session();
    expect(events.map((event) => [event.author, event.branch])).toEqual([
      ['user', undefined],
      ['lead', undefined],
      ['user', 'helper@c1'],
      ['helper', 'helper@c1'],
      ['helper', 'helper@c1'],
      ['helper', 'helper@c1'],
      ['lead', undefined],
      ['lead', undefined],
    ]);
    const contents = JSON.stringify(modelOf(lead).requests[1]?.request.contents);
    expect(contents).not.toContain('secret');
    expect(contents).toContain('"result":"ok"');
  });

  test('starts afresh at each call, also under an id that was there before', async () => {
    const helper = agentOf('helper', ['first', 'second']);
    const call = (request: string) => ({ calls: [{ name: 'helper', id: 'same', args: { request } }] });
    const tools = [new AgentTool({ agent: helper })];
    const { run } = await setUp(agentOf('lead', [call('one'), call('two'), 'done'], { tools }));
    expect(answers(await run())).toEqual([{ result: 'first' }, { result: 'second' }]);
    expect(modelOf(helper).requests[1]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'two' }] }]);
  });

  test('is kept apart from other calls of it at the same time', async () => {
    const echo = (request: { contents: { parts?: { text?: string }[] }[] }) =>
      `heard ${request.contents.map((each) => each.parts?.[0]?.text).join()}`;
    const helper = agentOf('helper', [echo, echo, echo]);
    const calls = ['a', 'b', 'c'].map((id) => ({ name: 'helper', id, args: { request: id } }));
    const lead = agentOf('lead', [{ calls }, 'done'], { tools: [new AgentTool({ agent: helper })] });
    const { run, session } = await setUp(lead);
    expect(answers(await run())).toEqual([{ result: 'heard a' }, { result: 'heard b' }, { result: 'heard c' }]);
    const branches = new Set((await session()).events.flatMap(({ branch }) => branch ?? []));
    expect(branches).toEqual(new Set(['helper@a', 'helper@b', 'helper@c']));
  });

  test('is asked by the next turn’s caller as if it had not been there', async () => {
    const lead = agentOf('lead', [{ calls: [{ name: 'helper', id: 'c1', args: { request: 'x' } }] }, 'done', 'next'], {
      tools: [new AgentTool({ agent: agentOf('helper', ['hidden words']) })],
    });
    const { run } = await setUp(lead);
    await run();
    await run();
    const texts = JSON.stringify(modelOf(lead).requests[2]?.request.contents);
    expect(texts.match(/hidden words/g)).toHaveLength(1);
    expect(texts).not.toContain('[helper]');
  });

  test('may be a tree of agents, in which they hand over and call each other', async () => {
    const deep = agentOf('deep', ['from the deep']);
    const second = agentOf(
      'second',
      [{ calls: [{ name: 'deep', id: 'd', args: { request: 'go' } }] }, 'second is done'],
      {
        tools: [new AgentTool({ agent: deep })],
      },
    );
    const first = agentOf('first', [{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'second' } }] }], {
      subAgents: [second],
    });
    const { run, session } = await setUp(caller(new SequentialAgent({ name: 'inner', subAgents: [first] })));
    expect(answers(await run())).toEqual([{ result: 'second is done' }]);
    const branches = (await session()).events.map(({ author, branch }) => `${author} ${branch ?? ''}`);
    expect(branches).toContain('deep inner@c1.deep@d');
  });

  test('knows no agent above it: it can hand over to nobody there', async () => {
    const helper = agentOf('helper', ['ok']);
    const model = new ScriptedModel([{ calls: [{ name: 'helper', id: 'c1', args: { request: 'x' } }] }, 'done']);
    const tools = [new AgentTool({ agent: helper })];
    const { run } = await setUp(
      new LlmAgent({ name: 'lead', model, tools, subAgents: [helper], globalInstruction: 'Outer.' }),
    );
    await run();
    const request = modelOf(helper).requests[0]?.request;
    expect(Object.keys(request?.toolsDict ?? {})).toEqual([]);
    expect(request?.config.systemInstruction).not.toContain('Outer.');
  });

  test('is a part of the call tree', async () => {
    const { run, session } = await setUp(caller(agentOf('helper', ['ok'])));
    await run();
    const [request] = groupByExecution((await session()).events);
    const [lead, ...others] = request?.executions ?? [];
    expect(others).toEqual([]);
    expect(lead?.executionId).toBe(request?.invocationId);
    expect(lead?.children.map(({ events }) => events.map((event) => event.author))).toEqual([['user', 'helper']]);
  });

  test('counts its model calls with those of the run', async () => {
    const { run } = await setUp(caller(agentOf('helper', ['ok'])));
    await expect(run({ maxLlmCalls: 2 })).rejects.toBeInstanceOf(LlmCallLimitError);
  });

  test('is watched by the plugins of the run, event by event', async () => {
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
    const { run } = await setUp(caller(agentOf('helper', ['ok']), { streamInner: true }), {
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

  test('is watched by the plugins of the run chunk by chunk, and each chunk once', async () => {
    const seen: string[] = [];
    class Watcher extends BasePlugin {
      override onEventCallback({ event }: { event: Event }): undefined {
        if (event.partial === true) seen.push(`${event.author} ${textOf(event)}`);
      }
    }
    const helper = agentOf('helper', [{ chunks: ['a', 'b'] }]);
    const { run } = await setUp(caller(helper, { streamInner: true }), { plugins: [new Watcher('w')] });
    await run({ streamingMode: 'sse' });
    expect(seen.filter((line) => line.startsWith('helper'))).toEqual(['helper a', 'helper b']);
  });

  test('whose events lack what they need has them filled in', async () => {
    const bare = new CustomAgent('bare', async function* () {
      yield createEvent({ content: { role: 'model', parts: [{ text: 'bare' }] } });
    });
    const { run, session } = await setUp(caller(bare));
    expect(answers(await run())).toEqual([{ result: 'bare' }]);
    const event = (await session()).events.find((each) => textOf(each) === 'bare');
    expect(event).toMatchObject({ author: 'bare', branch: 'bare@c1' });
  });

  test('ends for itself when it ends its invocation', async () => {
    const ending = new CustomAgent('ending', async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'enough' }] } });
      context.endInvocation();
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'last' }] } });
      expect.unreachable();
    });
    const { run } = await setUp(caller(ending));
    const events = await run();
    expect(answers(events)).toEqual([{ result: 'last' }]);
    expect(textOf(events.at(-1) ?? expect.unreachable())).toBe('done');
  });

  test('ends no loop around its caller when it leaves a loop of its own', async () => {
    const leave = { calls: [{ name: 'exit_loop' }] };
    const inner = new LoopAgent({
      name: 'inner',
      subAgents: [agentOf('worker', [leave, leave], { tools: [exitLoop] })],
    });
    const tools = [new AgentTool({ agent: inner, streamInner: true })];
    const call = { calls: [{ name: 'inner', args: { request: 'x' } }] };
    const lead = agentOf('lead', [call, 'one', call, 'two'], { tools });
    const { run } = await setUp(new LoopAgent({ name: 'outer', maxIterations: 2, subAgents: [lead] }));
    expect((await run()).filter((event) => event.author === 'lead').map(textOf)).toContain('two');
  });

  test('may be a parallel agent', async () => {
    const par = new ParallelAgent({ name: 'par', subAgents: [agentOf('a', ['from a']), agentOf('b', ['from b'])] });
    const { run, session } = await setUp(caller(par));
    expect(answers(await run())).toEqual([{ result: 'from b' }]);
    expect((await session()).events.map(({ branch }) => branch)).toContain('par@c1.par.a');
  });
});

describe('what it changes', () => {
  test('is there for its caller, and in the event of the answer', async () => {
    const helper = agentOf('helper', ['the answer'], { outputKey: 'found' });
    const lead = caller(helper);
    const { run, session } = await setUp(lead);
    const events = await run();
    expect(events[1]?.actions.stateDelta).toEqual({ found: 'the answer' });
    expect((await session()).state).toMatchObject({ found: 'the answer' });
  });

  test('includes keys it removed and artifacts it saved, and no signal of its own', async () => {
    const tool = new FunctionTool({
      name: 'work',
      description: '',
      execute: async (_, context) => {
        context.state.set('kept', 1);
        context.state.set('gone', 1);
        context.state.remove('gone');
        context.state.set('temp:note', 'hello');
        await context.saveArtifact('page.txt', { text: 'page' });
        context.actions.skipSummarization = true;
        context.actions.escalate = true;
      },
    });
    const helper = agentOf('helper', [{ calls: [{ name: 'work' }] }], { tools: [tool] });
    const lead = caller(helper);
    const { run, session } = await setUp(lead);
    const events = await run();
    expect(events[1]?.actions).toEqual({
      stateDelta: { kept: 1 },
      removedState: ['gone'],
      artifactDelta: { 'page.txt': 0 },
    });
    expect((await session()).state).toEqual({ kept: 1 });
  });

  test('is not written a second time with its answer: what somebody wrote since stays', async () => {
    const gate = new Gate();
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ actions: { stateDelta: { k: 'child', gone: 1 } } });
      yield context.createEvent({ actions: { removedState: ['gone'] } });
      await gate.pass(context.abortSignal);
    });
    const other = new CustomAgent('other', async function* (context) {
      await gate.reached;
      yield context.createEvent({ actions: { stateDelta: { k: 'newer', gone: 'back' } } });
      gate.open();
    });
    const { run, session } = await setUp(new ParallelAgent({ name: 'par', subAgents: [caller(helper), other] }));
    const events = await run();
    const told = events.find((event) => answers([event]).length > 0);
    expect((await session()).state).toEqual({ k: 'newer', gone: 'back' });
    // Who follows the stream has the state as it is.
    expect(told?.actions.stateDelta).toEqual({ k: 'newer', gone: 'back' });
    expect((await session()).events.find((event) => event.id === told?.id)?.actions.stateDelta).toEqual({});
  });

  test('of the user’s state is not written a second time over what another session wrote', async () => {
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ actions: { stateDelta: { 'user:balance': 10 } } });
      await elsewhere();
    });
    const { run, sessionService } = await setUp(caller(helper));
    const elsewhere = async (): Promise<void> => {
      const session = await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 'other' });
      await sessionService.appendEvent({
        session,
        event: createEvent({ author: 'x', actions: { stateDelta: { 'user:balance': 20 } } }),
      });
    };
    await run();
    expect((await sessionService.getSession(KEY))?.state).toEqual({ 'user:balance': 20 });
  });

  test('is told of an agent in an agent too', async () => {
    const deep = agentOf('deep', ['found it'], { outputKey: 'found' });
    const call = { calls: [{ name: 'deep', args: { request: 'x' } }] };
    const { run } = await setUp(caller(agentOf('middle', [call, 'm'], { tools: [new AgentTool({ agent: deep })] })));
    expect((await run())[1]?.actions.stateDelta).toEqual({ found: 'found it' });
  });

  test('is there for its own next step, committed', async () => {
    const tool = new FunctionTool({
      name: 'work',
      description: '',
      execute: (_, { state }) => state.set('mood', 'calm'),
    });
    const helper = agentOf('helper', [{ calls: [{ name: 'work' }] }, 'ok'], {
      tools: [tool],
      instruction: 'Be {mood?}.',
    });
    const { run } = await setUp(caller(helper));
    await run();
    const [before, after] = modelOf(helper).requests.map(({ request }) => request.config.systemInstruction);
    expect(before).toMatch(/^Be \./);
    expect(after).toMatch(/^Be calm\./);
  });
});

describe('its answer', () => {
  test('is the value of its output schema', async () => {
    const helper = agentOf('helper', ['{"count": 3}'], { outputSchema: z.object({ count: z.number() }) });
    const { run } = await setUp(caller(helper));
    expect(answers(await run())).toEqual([{ count: 3 }]);
  });

  test('is an error when it never matches its output schema', async () => {
    const helper = agentOf(
      'helper',
      Array.from({ length: 4 }, () => 'no'),
      { outputSchema: z.object({ count: z.number() }) },
    );
    const { run } = await setUp(caller(helper));
    expect(answers(await run())).toEqual([{ error: expect.stringContaining('does not match the schema') }]);
  });

  test('leaves thoughts out, and is empty when there is none', async () => {
    const { run } = await setUp(caller(agentOf('helper', [{ thought: 'hm', text: 'yes' }])));
    expect(answers(await run())).toEqual([{ result: 'yes' }]);
    const silent = new CustomAgent('silent', async function* () {});
    const second = await setUp(caller(silent));
    expect(answers(await second.run())).toEqual([{ result: '' }]);
  });

  test('is not what an agent says whom it asked itself', async () => {
    const deep = agentOf('deep', ['deep words']);
    const call = { calls: [{ name: 'deep', args: { request: 'x' } }] };
    const middle = agentOf('middle', [call, { parts: [] }], {
      tools: [new AgentTool({ agent: deep, streamInner: true })],
    });
    const { run } = await setUp(caller(middle));
    expect(answers(await run()).at(-1)).toEqual({ result: '' });
  });

  test('is an error when the agent fails, and the caller goes on', async () => {
    const { run } = await setUp(caller(agentOf('helper', [new TypeError('no network')])));
    const events = await run();
    expect(answers(events)).toEqual([{ error: 'no network' }]);
    expect(textOf(events.at(-1) ?? expect.unreachable())).toBe('done');
  });

  test('is an error when the agent would have to wait', async () => {
    const later = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
    const helper = agentOf('helper', [{ calls: [{ name: 'later', id: 'inner' }] }], { tools: [later] });
    const { run, runner } = await setUp(caller(helper));
    const events = await run();
    expect(answers(events)).toEqual([{ error: expect.stringContaining('helper waits for the result of later') }]);
    expect(events.some((event) => event.author === 'helper')).toBe(false);
    const newMessage = { parts: [{ functionResponse: { id: 'inner', name: 'later', response: {} } }] };
    await expect(runner.run({ userId: 'u', sessionId: 's', newMessage })).rejects.toThrow(
      'there is no call with the id "inner"',
    );
  });

  test('is an error when the model broke off without a word', async () => {
    const helper = agentOf('helper', [{ response: { finishReason: 'SAFETY' } }]);
    const { run } = await setUp(caller(helper));
    expect(answers(await run())).toEqual([{ error: 'the model stopped with SAFETY' }]);
  });

  test('is an error, with what there is of it, when the model broke off in the middle', async () => {
    const cutOff: ScriptedStep = {
      response: { finishReason: 'MAX_TOKENS', content: { parts: [{ text: 'The dose is 5' }] } },
    };
    const { run } = await setUp(caller(agentOf('helper', [cutOff])));
    expect(answers(await run())).toEqual([{ error: 'the model stopped with MAX_TOKENS', output: 'The dose is 5' }]);
  });

  test('ends the turn when it is not to be put into words', async () => {
    const { run } = await setUp(caller(agentOf('helper', ['as it is']), { skipSummarization: true }));
    const events = await run();
    expect(events).toHaveLength(2);
    expect(events[1]?.actions.skipSummarization).toBe(true);
  });
});

describe('requireConfirmation', () => {
  const asking = (events: readonly Event[]) =>
    events
      .flatMap((event) => event.content?.parts ?? [])
      .find(({ functionCall }) => functionCall?.name === 'adk_request_confirmation')?.functionCall?.id ?? '';
  const reply = (id: string, confirmed: boolean) => ({
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed } } }] },
  });

  test('has a person asked before the agent is run', async () => {
    const helper = agentOf('helper', ['It is done.']);
    const { run, runner } = await setUp(caller(helper, { requireConfirmation: true }));
    const id = asking(await run());
    expect(modelOf(helper).calls).toBe(0);
    expect(answers(await runner.run(reply(id, true)))).toEqual([{ result: 'It is done.' }]);
  });

  test('keeps an agent from being run that the person rejects', async () => {
    const { run, runner } = await setUp(caller(agentOf('helper', []), { requireConfirmation: () => true }));
    const id = asking(await run());
    expect(answers(await runner.run(reply(id, false)))).toEqual([{ error: 'This tool call is rejected.' }]);
  });

  test('asks nobody when it says so of the arguments', async () => {
    const requireConfirmation = (args: unknown): boolean => JSON.stringify(args) !== '{"request":"do it"}';
    const { run } = await setUp(caller(agentOf('helper', ['ok']), { requireConfirmation }));
    expect(answers(await run())).toEqual([{ result: 'ok' }]);
  });
});

describe('its arguments', () => {
  test('are those of the agent’s input schema, passed on as JSON', async () => {
    const helper = agentOf('helper', ['ok'], {
      inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
    });
    const lead = caller(helper, {}, { city: 'Rome' });
    const { run } = await setUp(lead);
    await run();
    expect(modelOf(helper).requests[0]?.request.contents[0]?.parts).toEqual([{ text: '{"city":"Rome","days":3}' }]);
    const tools = modelOf(lead).requests[0]?.request.config.tools;
    expect(tools).toMatchObject([
      {
        functionDeclarations: [{ name: 'helper', parametersJsonSchema: { properties: { city: { type: 'string' } } } }],
      },
    ]);
  });

  test.each([
    ['of the schema', { inputSchema: z.object({ city: z.string() }) }, { town: 'Rome' }],
    ['one text', {}, { request: 5 }],
  ])('that are not %s are told to the model, and the agent is not called', async (_, config, args) => {
    const helper = agentOf('helper', [], config);
    const { run } = await setUp(caller(helper, {}, args));
    expect(answers(await run())).toEqual([{ error: expect.stringContaining('the arguments of helper are not valid') }]);
  });
});

describe('streamInner', () => {
  test('passes the agent’s events on as they come, and its answer once: chunk by chunk', async () => {
    const tool = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
    const helper = agentOf('helper', [{ calls: [{ name: 'look' }] }, { chunks: ['It is ', 'fine.'] }], {
      tools: [tool],
    });
    const { run } = await setUp(caller(helper, { streamInner: true }));
    const events = await run({ streamingMode: 'sse' });
    const inner = events.filter((event) => event.author === 'helper');
    expect(inner.map(textOf).filter((text) => text !== undefined)).toEqual(['It is ', 'fine.']);
    const [, , whole] = inner.filter((event) => event.partial !== true);
    expect(whole?.content).toBeUndefined();
    expect(whole?.usageMetadata?.timingInfo).toBeDefined();
    expect(answers(events)).toContainEqual({ result: 'It is fine.' });
    expect(events.filter((event) => event.author === 'user')).toEqual([]);
  });

  test.each<[string, ScriptedStep[], string]>([
    ['was cut off', [{ chunks: ['The dose ', 'is 5'], response: { finishReason: 'MAX_TOKENS' } }], 'MAX_TOKENS'],
    ['broke', [{ chunks: ['The dose ', 'is 5'], error: new TypeError('cut') }], 'MODEL_ERROR'],
  ])('passes on what went wrong when the answer %s, and what there was of it', async (_, steps, errorCode) => {
    const { run } = await setUp(caller(agentOf('helper', steps), { streamInner: true }));
    const events = await run({ streamingMode: 'sse' });
    const inner = events.filter((event) => event.author === 'helper');
    expect(inner.map((event) => [textOf(event), event.errorCode])).toEqual([
      ['The dose ', undefined],
      ['is 5', undefined],
      ['The dose is 5', errorCode],
    ]);
  });

  test('passes on the whole of what is not the answer: an agent’s words before the last one’s', async () => {
    const first = agentOf('first', [{ chunks: ['o', 'ne'] }]);
    const second = agentOf('second', [{ chunks: ['t', 'wo'] }]);
    const pair = new SequentialAgent({ name: 'pair', subAgents: [first, second] });
    const { run } = await setUp(caller(pair, { streamInner: true }));
    const events = await run({ streamingMode: 'sse' });
    expect(events.filter(({ author }) => author !== 'lead').map((event) => `${event.author} ${textOf(event)}`)).toEqual(
      ['first o', 'first ne', 'first one', 'second t', 'second wo', 'second undefined'],
    );
    expect(answers(events)).toEqual([{ result: 'two' }]);
  });

  test('passes on the whole of what was said before the agent failed', async () => {
    const first = agentOf('first', [{ chunks: ['o', 'ne'] }]);
    const second = new CustomAgent('second', async function* () {
      throw new TypeError('no');
    });
    const pair = new SequentialAgent({ name: 'pair', subAgents: [first, second] });
    const { run } = await setUp(caller(pair, { streamInner: true }));
    const events = await run({ streamingMode: 'sse' });
    expect(events.filter((event) => event.author === 'first').map(textOf)).toEqual(['o', 'ne', 'one']);
    expect(answers(events)).toEqual([{ error: 'no' }]);
  });

  test('of a run that can be resumed shows the answer once as well', async () => {
    const { run } = await setUp(caller(agentOf('helper', [{ chunks: ['a', 'b'] }]), { streamInner: true }));
    const events = await run({ streamingMode: 'sse', resumable: true });
    expect(events.filter((event) => event.author === 'helper').flatMap((event) => textOf(event) ?? [])).toEqual([
      'a',
      'b',
    ]);
  });

  test('without streaming passes on whole events, and the answer among them', async () => {
    const { run } = await setUp(caller(agentOf('helper', [{ chunks: ['It is ', 'fine.'] }]), { streamInner: true }));
    expect((await run()).map((event) => [event.author, textOf(event)])).toEqual([
      ['lead', undefined],
      ['helper', 'It is fine.'],
      ['lead', undefined],
      ['lead', 'done'],
    ]);
  });

  test('is off by default: a model whose chunks nobody sees is not asked for any', async () => {
    const helper = agentOf('helper', [{ chunks: ['It is ', 'fine.'] }]);
    const { run } = await setUp(caller(helper));
    const events = await run({ streamingMode: 'sse' });
    expect(events.some((event) => event.author === 'helper')).toBe(false);
    expect(modelOf(helper).requests[0]?.stream).toBe(false);
  });

  test('lets events be seen while the agent works, each one once, and stores each once', async () => {
    const gate = new Gate();
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'working' }] } });
      await gate.pass(context.abortSignal);
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'ready' }] } });
    });
    const { runner, session } = await setUp(caller(helper, { streamInner: true }));
    const seen: (string | undefined)[] = [];
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
    })) {
      seen.push(textOf(event));
      if (textOf(event) === 'working') gate.open();
    }
    expect(seen).toEqual([undefined, 'working', 'ready', undefined, 'done']);
    const ids = (await session()).events.map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('holds the agent back to the pace of the reader', async () => {
    let made = 0;
    const helper = new CustomAgent('helper', async function* (context) {
      while (made < 50) {
        made++;
        yield context.createEvent({ content: { role: 'model', parts: [{ text: `${made}` }] } });
      }
    });
    const { runner } = await setUp(caller(helper, { streamInner: true }));
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
    })) {
      if (event.author === 'helper') expect(made).toBe(Number(textOf(event)));
    }
    expect(made).toBe(50);
  });

  test('of an agent in an agent reaches the reader through both', async () => {
    const deep = agentOf('deep', [{ chunks: ['d1', 'd2'] }]);
    const call = { calls: [{ name: 'deep', args: { request: 'x' } }] };
    const middle = agentOf('middle', [call, 'm'], { tools: [new AgentTool({ agent: deep, streamInner: true })] });
    const { run, session } = await setUp(caller(middle, { streamInner: true }));
    const events = await run({ streamingMode: 'sse' });
    expect(events.filter((event) => event.author === 'deep').map(textOf)).toEqual(['d1', 'd2', undefined]);
    const ids = (await session()).events.map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('when the run ends', () => {
  test('an agent under way is aborted with it, and stores nothing more', async () => {
    const controller = new AbortController();
    const gate = new Gate();
    let isClosed = false;
    const helper = new CustomAgent('helper', async function* (context) {
      try {
        await gate.pass(context.abortSignal);
        yield context.createEvent({ content: { role: 'model', parts: [{ text: 'late' }] } });
      } finally {
        isClosed = true;
      }
    });
    const { runner, session } = await setUp(caller(helper));
    const running = runner.run({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
      abortSignal: controller.signal,
    });
    await gate.reached;
    controller.abort();
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
    expect(isClosed).toBe(true);
    expect((await session()).events.map(textOf)).not.toContain('late');
  });

  test('an agent that does not listen stores nothing more either', async () => {
    const controller = new AbortController();
    const helper = new CustomAgent('helper', async function* (context) {
      controller.abort();
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'late' }] } });
    });
    const { runner, session } = await setUp(caller(helper));
    const running = runner.run({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
      abortSignal: controller.signal,
    });
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
    expect((await session()).events.map(textOf)).not.toContain('late');
  });

  test('because its reader left, an agent that streams is closed', async () => {
    const closed = Promise.withResolvers<void>();
    const helper = new CustomAgent('helper', async function* (context) {
      try {
        for (;;) yield context.createEvent({ content: { role: 'model', parts: [{ text: 'more' }] } });
      } finally {
        closed.resolve();
      }
    });
    const { runner } = await setUp(caller(helper, { streamInner: true }));
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
    })) {
      if (event.author === 'helper') break;
    }
    await closed.promise;
  });

  test('because the session was lost, the run fails and no error is told to a model', async () => {
    const helper = new CustomAgent('helper', async function* (context) {
      await takeSession();
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'too late' }] } });
    });
    const lead = caller(helper);
    const { run, sessionService } = await setUp(lead);
    const takeSession = async (): Promise<void> => {
      await sessionService.acquireLease({ ...KEY, onBusy: 'interrupt' });
    };
    await expect(run()).rejects.toBeInstanceOf(StaleWriterError);
    expect(modelOf(lead).calls).toBe(1);
  });
});

describe('a tool made of', () => {
  test.each([
    ['no agent', { agent: {} }, 'agent must be an agent'],
    ['an agent whose name models refuse', { agent: agentOf('$name', []) }, 'tool name "$name"'],
    [
      'a confirmation that is no rule',
      { agent: agentOf('helper', []), requireConfirmation: 'yes' },
      'tool "helper": requireConfirmation must be true, false or a function',
    ],
    ['an unknown option', { agent: agentOf('helper', []), stream: true }, 'tool "helper": has no option "stream"'],
    [
      'a schema that is none',
      { agent: agentOf('helper', [], { inputSchema: 5 as never }) },
      'tool "helper": the schema must be',
    ],
  ])('%s is a configuration error', (_, config, fault) => {
    expect(() => new AgentTool(config as AgentToolConfig)).toThrow(fault);
  });

  test('an agent closes it with the agents that have it', async () => {
    let isClosed = false;
    class Closing extends CustomAgent {
      override async close(): Promise<void> {
        isClosed = true;
      }
    }
    await caller(new Closing('helper', async function* () {})).close();
    expect(isClosed).toBe(true);
  });
});
