import { type BaseAgent, type Event, getFunctionCalls, getFunctionResponses, type Part } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { findLooseEnds } from '@eventloom/runner';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import {
  AgentTool,
  FunctionTool,
  InMemoryRunner,
  JoinNode,
  LlmAgent,
  node,
  type NodeContext,
  type NodeLike,
  ParallelAgent,
  RequestInput,
  SequentialAgent,
  Workflow,
} from '../index.ts';

const CONFIRMATION = 'adk_request_confirmation';

/** A conversation with a workflow in which an agent, whose tool needs an approval, works beside another node. */
async function talkBeside(beside: NodeLike) {
  let payments = 0;
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    execute: () => `paid ${++payments}`,
  });
  const model = new ScriptedModel([{ calls: [{ name: 'pay' }] }, 'Done.']);
  const payer = new LlmAgent({ name: 'payer', model, tools: [pay] });
  const agent = new Workflow({ name: 'w', edges: [['START', [payer, beside], new JoinNode({ name: 'join' })]] });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const send = async (part: Part, onEvent?: (event: Event) => void): Promise<Event[]> => {
    const events: Event[] = [];
    const newMessage = { role: 'user', parts: [part] };
    for await (const event of runner.runAsync({ userId: 'u', sessionId, newMessage })) {
      events.push(event);
      onEvent?.(event);
    }
    return events;
  };
  return { send, payments: () => payments };
}

const respond = (name: string, id: string | undefined, response: Record<string, unknown>): Part => ({
  functionResponse: { name, response, ...(id === undefined ? {} : { id }) },
});
const confirmations = (events: readonly Event[]): (string | undefined)[] =>
  events
    .flatMap(getFunctionCalls)
    .filter(({ name }) => name === CONFIRMATION)
    .map(({ id }) => id);
const lastOutput = (events: readonly Event[]): unknown => events.findLast(({ output }) => output !== undefined)?.output;

test('an agent that waits for an approval gets it, if a node beside it ended later without an output', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const silent = node(() => promise, { name: 'silent' });
  const { send, payments } = await talkBeside(silent);
  const [id] = confirmations(
    await send({ text: 'go' }, (event) => {
      if (confirmations([event]).length > 0) resolve(undefined);
    }),
  );
  expect(lastOutput(await send(respond(CONFIRMATION, id, { confirmed: true })))).toEqual({ payer: 'Done.' });
  expect(payments()).toBe(1);
});

test('the approval that is still open is yielded again after the answer to another question, which cannot be given twice', async () => {
  const ask = node((_context: NodeContext) => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
  const { send, payments } = await talkBeside(ask);
  const open = confirmations(await send({ text: 'go' }));
  expect(open).toHaveLength(1);
  const city = respond('adk_request_input', 'city', { result: 'Oslo' });
  expect(confirmations(await send(city))).toEqual(open);
  await expect(send(city)).rejects.toThrow('the request "city" has already been answered');
  const events = await send(respond(CONFIRMATION, open[0], { confirmed: true }));
  expect(lastOutput(events)).toEqual({ payer: 'Done.', ask: 'Oslo' });
  expect(payments()).toBe(1);
});

test('an agent of a workflow in an AgentTool cannot wait, and the model that called the tool learns it', async () => {
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
  const payer = new LlmAgent({ name: 'payer', model: new ScriptedModel([{ calls: [{ name: 'pay' }] }]), tools: [pay] });
  const workflow = new Workflow({ name: 'w', edges: [['START', payer]] });
  const model = new ScriptedModel([{ calls: [{ name: 'w', args: { request: 'x' } }] }, 'It could not ask.']);
  const agent = new LlmAgent({ name: 'top', model, tools: [new AgentTool({ agent: workflow })] });
  const runner = new InMemoryRunner({ agent, appName: 'app', resumable: true });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const events = await runner.run({ userId: 'u', sessionId, newMessage: { parts: [{ text: 'go' }] } });
  const answers = events.flatMap(getFunctionResponses).filter(({ name }) => name === 'w');
  expect(answers).toMatchObject([{ response: { error: expect.stringContaining('inside an AgentTool') } }]);
  expect(await findLooseEnds(runner.sessionService, { appName: 'app', userId: 'u', sessionId })).toEqual([]);
});

/** Runs a workflow of an agent and a last node, and answers its questions one after the other. Returns what ran, in order, and the loose ends. */
async function answerEach(agentOf: (ran: string[]) => BaseAgent) {
  const ran: string[] = [];
  const last = node(() => void ran.push('last'), { name: 'last' });
  const agent = new Workflow({ name: 'w', edges: [['START', agentOf(ran), last]] });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { sessionService } = runner;
  const { id: sessionId } = await sessionService.createSession({ appName: 'app', userId: 'u' });
  const send = (part: Part) => runner.run({ userId: 'u', sessionId, newMessage: { role: 'user', parts: [part] } });
  const key = { appName: 'app', userId: 'u', sessionId };
  await send({ text: 'go' });
  for (let answers = 0; answers < 4; answers++) {
    const session = await sessionService.getSession(key);
    const question = new Calls(session?.events).waiting.find(({ call }) => call.name?.startsWith('adk_request_'));
    if (!question) break;
    await send(respond(question.call.name ?? '', question.id, { confirmed: true }));
  }
  return { ran, looseEnds: await findLooseEnds(sessionService, key) };
}

const buying = (name: string, ran: string[], calls: readonly string[]) =>
  new LlmAgent({
    name,
    model: new ScriptedModel([{ calls: calls.map((id) => ({ id, name: 'buy' })) }, 'Done.', 'Done.']),
    tools: [
      new FunctionTool({
        name: 'buy',
        description: 'Buys.',
        requireConfirmation: true,
        execute: (_, context) => ran.push(context?.functionCallId ?? ''),
      }),
    ],
  });
const asksAndEnds = (name: string, ran: string[]) =>
  new Workflow({
    name,
    edges: [
      [
        'START',
        node(() => new RequestInput({ interruptId: `${name}-q` }), { name: `${name}-ask` }),
        node(() => void ran.push(name), { name: `${name}-end` }),
      ],
    ],
  });

test.each<[string, (ran: string[]) => BaseAgent, readonly string[]]>([
  [
    'agents side by side',
    (ran) => new ParallelAgent({ name: 'both', subAgents: [buying('a', ran, ['a1']), buying('b', ran, ['b1'])] }),
    ['a1', 'b1'],
  ],
  [
    'two calls of an agent',
    (ran) => new SequentialAgent({ name: 'one', subAgents: [buying('a', ran, ['a1', 'a2'])] }),
    ['a1', 'a2'],
  ],
  [
    'agents that agents call',
    (ran) =>
      new ParallelAgent({
        name: 'both',
        subAgents: ['a', 'b'].map((name) => {
          const inner = buying(`${name}-inner`, ran, [`${name}1`]);
          const model = new ScriptedModel([{ calls: [{ name: inner.name, args: { request: 'x' } }] }, 'Done.']);
          return new LlmAgent({ name, model, tools: [new AgentTool({ agent: inner })] });
        }),
      }),
    ['a1', 'b1'],
  ],
  [
    'workflows side by side',
    (ran) => new ParallelAgent({ name: 'both', subAgents: [asksAndEnds('x', ran), asksAndEnds('y', ran)] }),
    ['x', 'y'],
  ],
  [
    'workflows one after the other',
    (ran) => new SequentialAgent({ name: 'all', subAgents: [asksAndEnds('x', ran), asksAndEnds('y', ran)] }),
    ['x', 'y'],
  ],
])(
  'a node with an agent that runs others is done once all questions are answered: of %s',
  async (_title, agentOf, all) => {
    const { ran, looseEnds } = await answerEach(agentOf);
    expect(ran).toEqual([...all, 'last']);
    expect(looseEnds).toEqual([]);
  },
);
