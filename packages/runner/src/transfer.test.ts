import {
  BaseAgent,
  type BaseAgentConfig,
  BasePlugin,
  type Event,
  groupByExecution,
  HandOverLimitError,
  hasTag,
  hideTransfers,
  type InvocationContext,
  isFinalResponse,
  LlmCallLimitError,
  type LlmRequest,
  RunAbortedError,
  type RunConfig,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(config: BaseAgentConfig, script: Script) {
    super(config);
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
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, ...config });
  const run = (text = 'hi', runConfig: RunConfig = {}): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text }] }, runConfig });
  const stored = async () => ((await sessionService.getSession(KEY)) ?? expect.unreachable()).events;
  return { run, stored, runner };
}

function agentOf(name: string, steps: ScriptedStep[], config: Partial<LlmAgentConfig> = {}): LlmAgent {
  return new LlmAgent({ name, model: new ScriptedModel(steps), ...config });
}

function transferTo(name: unknown): ScriptedStep {
  return { calls: [{ name: 'transfer_to_agent', args: { agent_name: name } }] };
}

/** Author and what it says or does. */
function told({ author, content }: Event): string {
  const part = content?.parts?.[0];
  const call = part?.functionCall ? `calls ${part.functionCall.name}` : undefined;
  const response = part?.functionResponse ? `answers ${JSON.stringify(part.functionResponse.response)}` : undefined;
  return `${author}: ${part?.text ?? call ?? response}`;
}

/** The tools and the instruction of a request. */
function offered({ config }: LlmRequest): { targets: unknown; instruction: unknown; names: unknown } {
  const declarations = (config.tools?.[0] as { functionDeclarations: Record<string, unknown>[] } | undefined)
    ?.functionDeclarations;
  const transfer = declarations?.find(({ name }) => name === 'transfer_to_agent');
  const schema = transfer?.['parametersJsonSchema'] as { properties: { agent_name: { enum: string[] } } } | undefined;
  return {
    targets: schema?.properties.agent_name.enum,
    instruction: config.systemInstruction,
    names: declarations?.map(({ name }) => name),
  };
}

test('an agent hands the conversation over, and the target answers', async () => {
  const helper = agentOf('helper', ['I can help.']);
  const { run, stored } = await setUp(agentOf('lead', [transferTo('helper')], { subAgents: [helper] }));
  const events = await run();
  expect(events.map(told)).toEqual([
    'lead: calls transfer_to_agent',
    'lead: answers {"transferredTo":"helper"}',
    'lead: Transferring control to agent: helper',
    'helper: I can help.',
  ]);
  expect(events.map((event) => hasTag(event, 'transfer'))).toEqual([true, true, true, false]);
  expect(events[1]?.actions.transferToAgent).toBe('helper');
  expect(events[2]).toMatchObject({ object: 'agent.transfer' });
  expect(events.map(isFinalResponse)).toEqual([false, false, false, true]);
  expect((await stored()).slice(1)).toEqual([events[0], events[1], events[3]]);
  expect(hideTransfers(events).map(told)).toEqual(['helper: I can help.']);
});

test('the target knows what was said, and nothing of the announcement', async () => {
  const model = new ScriptedModel(['I can help.']);
  const helper = new LlmAgent({ name: 'helper', model });
  const { run } = await setUp(agentOf('lead', [transferTo('helper')], { subAgents: [helper] }));
  await run('help me');
  const contents = JSON.stringify(model.requests[0]?.request.contents);
  expect(contents).toContain('help me');
  expect(contents).toContain('[lead] called tool `transfer_to_agent`');
  expect(contents).not.toContain('Transferring control');
});

test('an agent may hand over to its sub-agents, its parent and its peers, in this order', async () => {
  const model = new ScriptedModel(['done']);
  const below = agentOf('below', []);
  const middle = new LlmAgent({ name: 'middle', model, subAgents: [below], instruction: 'Be kind.' });
  const peers = [agentOf('left', []), middle, agentOf('right', [], { description: 'turns right' })];
  const { run } = await setUp(agentOf('top', [transferTo('middle')], { subAgents: peers, description: 'knows all' }));
  await run();
  const { targets, instruction } = offered(model.requests[0]?.request ?? expect.unreachable());
  expect(targets).toEqual(['below', 'top', 'left', 'right']);
  expect(instruction).toMatch(/^Be kind\.\n\nYou are an agent\. .*\n\n/);
  expect(instruction).toContain('- top: knows all');
  expect(instruction).toContain('- right: turns right');
  expect(instruction).toContain('hand over to `top`');
});

test.each<[string, Partial<LlmAgentConfig>, string[] | undefined]>([
  ['its parent', { disallowTransferToParent: true }, ['peer']],
  ['its peers', { disallowTransferToPeers: true }, ['top']],
  ['either', { disallowTransferToParent: true, disallowTransferToPeers: true }, undefined],
])('an agent that may not hand over to %s is not told of it', async (_, config, expected) => {
  const model = new ScriptedModel(['done']);
  const agent = new LlmAgent({ name: 'agent', model, ...config });
  const { run } = await setUp(agentOf('top', [transferTo('agent')], { subAgents: [agent, agentOf('peer', [])] }));
  await run();
  const { targets, instruction } = offered(model.requests[0]?.request ?? expect.unreachable());
  expect(targets).toEqual(expected);
  expect(String(instruction).includes('transfer_to_agent')).toBe(expected !== undefined);
});

test('an agent below a workflow agent may hand over to its own sub-agents and nobody else', async () => {
  const model = new ScriptedModel(['done']);
  const agent = new LlmAgent({ name: 'agent', model, subAgents: [agentOf('below', [])] });
  const { run } = await setUp(new SequentialAgent({ name: 'steps', subAgents: [agent, agentOf('next', ['too'])] }));
  await run();
  expect(offered(model.requests[0]?.request ?? expect.unreachable()).targets).toEqual(['below']);
});

test('the tool for it stands before the agent’s own', async () => {
  const model = new ScriptedModel(['done']);
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => '' });
  const agent = new LlmAgent({ name: 'agent', model, tools: [tool], subAgents: [agentOf('below', [])] });
  const { run } = await setUp(agent);
  await run();
  expect(offered(model.requests[0]?.request ?? expect.unreachable()).names).toEqual(['transfer_to_agent', 'f']);
});

test.each([['nobody'], ['lead'], [undefined], [5]])(
  'a hand-over to %j, who cannot be handed over to, is an error that the model is told of',
  async (name) => {
    const model = new ScriptedModel([transferTo(name), 'I do it myself.']);
    const lead = new LlmAgent({ name: 'lead', model, subAgents: [agentOf('helper', [])] });
    const { run } = await setUp(lead);
    const events = await run();
    expect(events.map((event) => event.author)).toEqual(['lead', 'lead', 'lead']);
    expect(told(events[1] ?? expect.unreachable())).toContain('agent_name is one of: helper');
    expect(events[1]?.actions.transferToAgent).toBeUndefined();
  },
);

test('a tool of one’s own may hand over to any agent of the tree', async () => {
  const go = (to: string) =>
    new FunctionTool({ name: 'go', description: '', execute: (_, { actions }) => void (actions.transferToAgent = to) });
  const deep = agentOf('deep', ['down here']);
  const middle = agentOf('middle', [], { subAgents: [deep] });
  const { run } = await setUp(
    agentOf('top', [{ calls: [{ name: 'go' }] }], { tools: [go('deep')], subAgents: [middle] }),
  );
  expect((await run()).map(told).slice(2)).toEqual(['top: Transferring control to agent: deep', 'deep: down here']);
});

test.each([
  ['gone', 'there is no agent of that name'],
  ['top', 'it has control already'],
])('a tool of one’s own that hands over to %s is answered with an error', async (to, fault) => {
  const tool = new FunctionTool({
    name: 'go',
    description: '',
    execute: (_, { actions }) => void (actions.transferToAgent = to),
  });
  const { run } = await setUp(agentOf('top', [{ calls: [{ name: 'go' }] }, 'I stay.'], { tools: [tool] }));
  const events = await run();
  expect(told(events[1] ?? expect.unreachable())).toContain(fault);
  expect(events.map(told).at(-1)).toBe('top: I stay.');
});

test('other calls of the same reply run, and the hand-over follows', async () => {
  const tool = new FunctionTool({ name: 'note', description: '', execute: () => 'noted' });
  const calls = [{ name: 'note' }, { name: 'transfer_to_agent', args: { agent_name: 'helper' } }];
  const lead = agentOf('lead', [{ calls }], { tools: [tool], subAgents: [agentOf('helper', ['done'])] });
  const { run } = await setUp(lead);
  const events = await run();
  expect(events[1]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    { result: 'noted' },
    { transferredTo: 'helper' },
  ]);
  expect(events[1]?.tags).toEqual(['transfer']);
  expect(told(events[3] ?? expect.unreachable())).toBe('helper: done');
});

test('control goes back and forth as long as there are model calls left, and no longer', async () => {
  const ping: LlmAgent = agentOf(
    'ping',
    Array.from({ length: 9 }, () => transferTo('pong')),
  );
  const pong: LlmAgent = agentOf(
    'pong',
    Array.from({ length: 9 }, () => transferTo('ping')),
  );
  const { run, stored } = await setUp(agentOf('top', [transferTo('ping')], { subAgents: [ping, pong] }));
  await expect(run('hi', { maxLlmCalls: 6 })).rejects.toBeInstanceOf(LlmCallLimitError);
  const events = await stored();
  expect(events.filter((event) => event.actions.transferToAgent)).toHaveLength(6);
  expect(events.at(-1)).toMatchObject({ author: 'pong', errorCode: 'LLM_CALL_LIMIT' });
});

/** Two agents of one's own that hand over to each other for good; too often when that seems to have no end. */
function pingPong(): BaseAgent {
  let handOvers = 0;
  const handTo = (name: string): Script =>
    async function* (context) {
      if (++handOvers > 10_000) throw new RangeError('nothing ends it');
      yield context.createEvent({ actions: { transferToAgent: name } });
    };
  const subAgents = [
    new CustomAgent({ name: 'ping' }, handTo('pong')),
    new CustomAgent({ name: 'pong' }, handTo('ping')),
  ];
  return new CustomAgent({ name: 'top', subAgents }, handTo('ping'));
}

test.each([
  ['at the top', pingPong],
  ['in a sequence', () => new SequentialAgent({ name: 'steps', subAgents: [pingPong()] })],
])('agents without a model that hand over to each other %s fail the run when that has no end', async (_, create) => {
  const { run, stored } = await setUp(create());
  await expect(run('hi', { maxLlmCalls: 80 })).rejects.toBeInstanceOf(HandOverLimitError);
  const events = await stored();
  expect(events.filter((event) => event.actions.transferToAgent)).toHaveLength(81);
  expect(events.at(-1)).toMatchObject({ errorCode: 'HAND_OVER_LIMIT' });
});

test('hand-overs count as long as no model was asked: those before a model call are forgotten', async () => {
  const rounds = 3;
  let round = 0;
  const relay = new CustomAgent({ name: 'relay' }, async function* (context) {
    if (++round < rounds) yield context.createEvent({ actions: { transferToAgent: 'lead' } });
  });
  const lead = agentOf(
    'lead',
    Array.from({ length: rounds }, () => transferTo('relay')),
    { subAgents: [relay] },
  );
  const { run } = await setUp(lead);
  expect((await run('hi', { maxLlmCalls: rounds })).filter((event) => event.object === 'agent.transfer')).toHaveLength(
    5,
  );
});

test('hand-overs without a bound let the rest of the process go on, and can be aborted', async () => {
  const controller = new AbortController();
  const { runner } = await setUp(pingPong());
  const running = runner.run({
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ text: 'hi' }] },
    runConfig: { maxLlmCalls: 0 },
    abortSignal: controller.signal,
  });
  setTimeout(() => controller.abort());
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
});

test('of several hand-overs in one reply the first one happens, and the others are answered with an error', async () => {
  const note = new FunctionTool({
    name: 'go',
    description: '',
    execute: (_, { actions, state }) => {
      state.set('noted', true);
      actions.transferToAgent = 'second';
    },
  });
  const calls = [
    { name: 'transfer_to_agent', args: { agent_name: 'first' } },
    { name: 'go' },
    { name: 'transfer_to_agent', args: { agent_name: 'second' } },
  ];
  const subAgents = [agentOf('first', ['done']), agentOf('second', [])];
  const { run } = await setUp(agentOf('lead', [{ calls }], { tools: [note], subAgents }));
  const events = await run();
  const error = 'cannot hand over to "second": an earlier call hands over to "first"';
  expect(events[1]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    { transferredTo: 'first' },
    { error },
    { error },
  ]);
  expect(events[1]?.actions).toMatchObject({ transferToAgent: 'first', stateDelta: { noted: true } });
  expect(told(events.at(-1) ?? expect.unreachable())).toBe('first: done');
});

test.each<[string, Partial<LlmAgentConfig>, string, string | undefined]>([
  ['its parent', { disallowTransferToParent: true }, 'top', 'those above it'],
  ['one further above', { disallowTransferToParent: true }, 'root', 'those above it'],
  ['a peer', { disallowTransferToPeers: true }, 'peer', 'none beside it'],
  ['one elsewhere in the tree', { disallowTransferToPeers: true }, 'far', 'none beside it'],
  ['a peer, which only its parent may not be', { disallowTransferToParent: true }, 'peer', undefined],
  ['one below it', { disallowTransferToParent: true, disallowTransferToPeers: true }, 'below', undefined],
])('a tool of one’s own that hands over to %s keeps to the rules of its agent', async (_, config, to, refusal) => {
  const tool = new FunctionTool({
    name: 'go',
    description: '',
    execute: (_args, { actions }) => void (actions.transferToAgent = to),
  });
  const below = agentOf('below', ['below']);
  const agent = agentOf('agent', [{ calls: [{ name: 'go' }] }, 'I stay.'], {
    ...config,
    tools: [tool],
    subAgents: [below],
  });
  const top = agentOf('top', [transferTo('agent')], { subAgents: [agent, agentOf('peer', ['peer'])] });
  const root = agentOf('root', [transferTo('top')], { subAgents: [top, agentOf('far', [])] });
  const { run } = await setUp(root);
  const events = (await run()).map(told);
  expect(events.at(-1)).toBe(refusal === undefined ? `${to}: ${to}` : 'agent: I stay.');
  if (refusal !== undefined) expect(events.at(-2)).toContain(refusal);
});

test('each hand-over is an execution of its own, started by who handed over', async () => {
  const second = agentOf('second', ['done']);
  const first = agentOf('first', [transferTo('second')], { subAgents: [second] });
  const { run, stored } = await setUp(agentOf('top', [transferTo('first')], { subAgents: [first] }));
  await run();
  const [request] = groupByExecution(await stored());
  const [top] = request?.executions ?? [];
  expect(top?.executionId).toBe(request?.invocationId);
  expect(top?.events.map((event) => event.author)).toEqual(['user', 'top', 'top']);
  expect(top?.children.map(({ events }) => events.map((event) => event.author))).toEqual([['first', 'first']]);
  expect(top?.children[0]?.children.map(({ events }) => events.map(told))).toEqual([['second: done']]);
});

test('who hands over is done before the target begins: its callback after comes first', async () => {
  const helper = agentOf('helper', ['helped']);
  const { run } = await setUp(
    agentOf('lead', [transferTo('helper')], {
      subAgents: [helper],
      afterAgentCallback: () => ({ parts: [{ text: 'over to you' }] }),
    }),
  );
  expect((await run()).map(told).slice(1)).toEqual([
    'lead: answers {"transferredTo":"helper"}',
    'lead: over to you',
    'lead: Transferring control to agent: helper',
    'helper: helped',
  ]);
});

test('a hand-over that a plugin takes out of the event does not happen', async () => {
  class Keeper extends BasePlugin {
    override onEventCallback({ event }: { event: Event }): Event | undefined {
      if (event.actions.transferToAgent === undefined) return undefined;
      const { transferToAgent: _, ...actions } = event.actions;
      return { ...event, actions };
    }
  }
  const lead = agentOf('lead', [transferTo('helper')], { subAgents: [agentOf('helper', [])] });
  const { run } = await setUp(lead, { plugins: [new Keeper('keeper')] });
  expect((await run()).map((event) => event.author)).toEqual(['lead', 'lead']);
});

test('endInvocation at a hand-over ends the run there', async () => {
  class Ender extends BasePlugin {
    override onEventCallback({ invocationContext, event }: { invocationContext: InvocationContext; event: Event }) {
      if (event.actions.transferToAgent !== undefined) invocationContext.endInvocation();
      return undefined;
    }
  }
  const lead = agentOf('lead', [transferTo('helper')], { subAgents: [agentOf('helper', [])] });
  const { run } = await setUp(lead, { plugins: [new Ender('ender')] });
  expect((await run()).map((event) => event.author)).toEqual(['lead', 'lead']);
});

test('an agent of one’s own hands over by an event of its own', async () => {
  const helper = agentOf('helper', ['helped']);
  const lead = new CustomAgent({ name: 'lead', subAgents: [helper] }, async function* (context) {
    yield context.createEvent({ actions: { transferToAgent: 'helper' } });
  });
  const { run } = await setUp(lead);
  expect((await run()).map(told).slice(1)).toEqual(['lead: Transferring control to agent: helper', 'helper: helped']);
});

test('an agent that hands over and then ends the invocation hands over to nobody', async () => {
  const lead = new CustomAgent({ name: 'lead', subAgents: [agentOf('helper', [])] }, async function* (context) {
    yield context.createEvent({ actions: { transferToAgent: 'helper' } });
    context.endInvocation();
  });
  const { run } = await setUp(lead);
  expect((await run()).map((event) => event.author)).toEqual(['lead']);
});

test('an agent of one’s own that hands over to nobody who exists fails the run', async () => {
  const lead = new CustomAgent({ name: 'lead' }, async function* (context) {
    yield context.createEvent({ actions: { transferToAgent: 'gone' } });
  });
  const { run } = await setUp(lead);
  await expect(run()).rejects.toThrow('agent "lead": asked to hand over to "gone"');
});

test('an agent that is run by one of one’s own may hand over, and the caller goes on after the target', async () => {
  const helper = agentOf('helper', ['helped']);
  const asker = agentOf('asker', [transferTo('helper')], { subAgents: [helper] });
  const lead = new CustomAgent({ name: 'lead', subAgents: [asker] }, async function* (context) {
    yield* asker.runAsync(context);
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'and done' }] } });
  });
  const { run } = await setUp(lead);
  expect((await run()).map(told).slice(2)).toEqual([
    'asker: Transferring control to agent: helper',
    'helper: helped',
    'lead: and done',
  ]);
});

test('chunks of the target come through as they are, and the call of a hand-over is no chunk to show', async () => {
  const helper = agentOf('helper', [{ chunks: ['I ', 'can'] }]);
  const { run } = await setUp(agentOf('lead', [transferTo('helper')], { subAgents: [helper] }));
  const events = await run('hi', { streamingMode: 'sse' });
  const texts = events.filter((event) => event.author === 'helper').map((event) => [event.partial, told(event)]);
  expect(texts).toEqual([
    [true, 'helper: I '],
    [true, 'helper: can'],
    [undefined, 'helper: I can'],
  ]);
  expect(hideTransfers(events).every((event) => event.author === 'helper')).toBe(true);
});

test('one tree of agents serves a thousand conversations at once, and no run changes an agent', async () => {
  const speak = (request: LlmRequest): ScriptedStep => `I heard ${JSON.stringify(request.contents[0]?.parts)}`;
  const always = (step: ScriptedStep): ScriptedStep[] => Array.from({ length: 1000 }, () => step);
  const helper = agentOf(
    'helper',
    always(async (request) => speak(request) as string),
  );
  const root = agentOf('lead', always(transferTo('helper')), { subAgents: [helper] });
  for (const agent of [root, helper]) {
    // What is computed for all requests is kept where it belongs, in an object of its own.
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
    return told(events.at(-1) ?? expect.unreachable());
  });
  const answers = await Promise.all(runs);
  expect(answers).toEqual(answers.map((_, index) => `helper: I heard [{"text":"hello ${index}"}]`));
});
