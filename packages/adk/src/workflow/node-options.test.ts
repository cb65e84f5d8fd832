import { getFunctionCalls } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { talk } from '../fixtures/workflow-talk.ts';
import {
  AuthHandler,
  BaseNode,
  createEvent,
  type EdgeItem,
  FunctionNode,
  FunctionTool,
  InMemoryRunner,
  JoinNode,
  LlmAgent,
  node,
  type NodeContext,
  RequestInput,
  ToolNode,
  type WorkflowConfig,
  Workflow,
} from '../index.ts';

/** Runs a workflow of these edges. Returns its events, and the state of its session afterwards. */
async function play(edges: EdgeItem[], options: Partial<WorkflowConfig> = {}) {
  const { sendToFailure, read } = await talk(new Workflow({ name: 'w', edges, ...options }));
  return { ...(await sendToFailure('go')), state: (await read()).state };
}

describe('stateSchema refuses', () => {
  const stateSchema = z.object({ ok: z.number() });
  const agent = (outputKey: string) =>
    new LlmAgent({ name: 'agent', model: new ScriptedModel([{ text: 'said' }]), outputKey });

  test.each([
    ['a key that it does not declare in an event of a node', { nope: 1 }],
    ['a value of another type in an event of a node', { ok: 'text' }],
  ])('%s', async (_what, stateDelta) => {
    const work = node(() => createEvent({ output: 1, actions: { stateDelta } }), { name: 'work' });
    const { thrown, state } = await play([['START', work]], { stateSchema });
    expect(thrown).toMatchObject({ code: 'ADK_STATE_SCHEMA' });
    expect(state).toEqual({});
  });

  test('the outputKey of an agent that it does not declare', async () => {
    const { thrown, state } = await play([['START', agent('nope')]], { stateSchema });
    expect(thrown).toMatchObject({ code: 'ADK_STATE_SCHEMA' });
    expect(state).toEqual({});
  });

  test('no keys with a prefix, and no declared ones', async () => {
    const actions = { stateDelta: { ok: 1, 'user:tea': true } };
    const work = node(() => createEvent({ output: 1, actions }), { name: 'work' });
    const { thrown, state } = await play([['START', work, agent('user:said')]], { stateSchema });
    expect(thrown).toBeUndefined();
    expect(state).toEqual({ ok: 1, 'user:tea': true, 'user:said': 'said' });
  });
});

test('the events of state that callbacks of an agent in a node write are yielded', async () => {
  const agent = new LlmAgent({
    name: 'agent',
    model: new ScriptedModel([{ text: 'said' }]),
    beforeAgentCallback: ({ state }) => state.set('before', 1),
    afterAgentCallback: ({ state }) => state.set('after', 2),
  });
  const { events } = await play([['START', agent]]);
  expect(events.map(({ actions, output }) => [actions.stateDelta, output])).toEqual([
    [{ before: 1 }, undefined],
    [{}, 'said'],
    [{ after: 2 }, undefined],
  ]);
});

describe('node(other, options)', () => {
  const authConfig = {
    authScheme: { type: 'apiKey', name: 'X-Key', in: 'header' },
    rawAuthCredential: { authType: 'apiKey' },
    credentialKey: 'key',
  } as const;

  test('asks for the credential of its authConfig before the function of the other node runs', async () => {
    let runs = 0;
    const work = node(() => ++runs, { name: 'work', description: 'Works.' });
    const guarded = node(work, { authConfig });
    expect(guarded.description).toBe('Works.');
    const { events } = await play([['START', guarded]]);
    expect(events.flatMap(getFunctionCalls)).toMatchObject([{ name: 'adk_request_credential', id: 'key' }]);
    expect(runs).toBe(0);
  });

  test('takes the key itself as the answer to its request for an API key, and stores it in no event', async () => {
    const work = node(({ state }: NodeContext) => new AuthHandler(authConfig).getAuthResponse(state)?.apiKey, {
      name: 'work',
    });
    const agent = new Workflow({ name: 'w', edges: [['START', node(work, { authConfig })]] });
    const runner = new InMemoryRunner({ agent, appName: 'app' });
    const key = { appName: 'app', userId: 'u', sessionId: 's' };
    await runner.sessionService.createSession(key);
    const [asked] = await runner.run({ ...key, newMessage: { role: 'user', parts: [{ text: 'go' }] } });
    expect(asked?.content?.parts?.[0]?.functionCall?.args).toMatchObject({ message: 'Please provide your API key.' });
    const functionResponse = { id: 'key', name: 'adk_request_credential', response: { result: 'no-secret-1' } };
    const events = await runner.run({ ...key, newMessage: { role: 'user', parts: [{ functionResponse }] } });
    expect(events.at(-1)?.output).toBe('no-secret-1');
    const stored = (await runner.sessionService.getSession(key))?.events.filter(({ output }) => output === undefined);
    expect(JSON.stringify(stored)).not.toContain('no-secret-1');
  });

  test('refuses an authConfig for work that would not ask for the credential', () => {
    const tool = new FunctionTool({ name: 'pay', description: 'Pays.', execute: () => 'paid' });
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
    for (const other of [tool, agent, new JoinNode({ name: 'join' })])
      expect(() => node(other, { authConfig })).toThrow(
        `node: authConfig: only the node of a function asks for a credential, and "${other.name}" would run without it`,
      );
  });

  test('is the author of the events of a function and of other nodes, except for agents', async () => {
    const work = node(() => 'done', { name: 'work' });
    const join = new JoinNode({ name: 'join' });
    const { events } = await play([['START', node(work, { name: 'first' }), node(join, { name: 'second' })]]);
    expect(events.map(({ author, nodeInfo }) => [author, nodeInfo?.path])).toEqual([
      ['first', 'w.first'],
      ['second', 'w.second'],
    ]);
  });
});

test.each([
  ['a tool that throws', () => Promise.reject(new Error('no connection')), {}],
  ['arguments that the tool does not accept', () => 'paid', { amount: 'all' }],
])('the output of a tool node is the error for %s, and the next node reads it', async (_what, execute, input) => {
  const parameters = z.object({ amount: z.number().optional() });
  const pay = new FunctionTool({ name: 'pay', description: 'Pays.', parameters, execute });
  const { events, thrown } = await play([
    ['START', node(() => input, { name: 'first' }), pay, node((_context, output) => output, { name: 'last' })],
  ]);
  expect(thrown).toBeUndefined();
  expect(events.at(-1)?.output).toEqual({ error: expect.stringMatching(/no connection|amount/) });
  expect(events.at(-2)?.content?.parts).toMatchObject([
    { functionResponse: { name: 'pay', response: { error: expect.anything() } } },
  ]);
});

test.each<[string, (tool: FunctionTool) => unknown, string]>([
  [
    'FunctionNode',
    () => new FunctionNode('work', () => 1, { timout: 3 } as object),
    'FunctionNode "work": has no option "timout"',
  ],
  [
    'FunctionNode',
    () => new FunctionNode('work', () => 1, { rerunOnResume: 'no' } as object),
    'FunctionNode "work": rerunOnResume: expected',
  ],
  ['ToolNode', (tool) => new ToolNode(tool, { timout: 3 } as object), 'ToolNode "pay": has no option "timout"'],
])('a misspelt or wrong option of a %s is refused', (_class, create, message) => {
  expect(() => create(new FunctionTool({ name: 'pay', description: 'Pays.', execute: () => 'paid' }))).toThrow(message);
});

test('a misspelt option of runNode is refused', async () => {
  const inner = node(() => 1, { name: 'inner' });
  const outer = node(
    async (context: NodeContext) => (await context.runNode(inner, 1, { runID: 'x' } as object)).output,
    { name: 'outer' },
  );
  const { thrown } = await play([['START', outer]]);
  expect(thrown).toMatchObject({
    message: expect.stringContaining('runNode "inner": has no option "runID"; did you mean "runId"?'),
  });
});

test.each(['subAgents', 'calledAgents'])(
  'a node class with a field %s of another kind than a list of agents is refused',
  (field) => {
    class Panel extends BaseNode {
      constructor() {
        super({ name: 'panel' });
        Object.defineProperty(this, field, { value: { left: 1 } });
      }
      protected override async *runImpl(): AsyncGenerator<unknown, void, void> {
        yield 'shown';
      }
    }
    expect(() => new Workflow({ name: 'w', edges: [['START', new Panel()]] })).toThrow(
      `Workflow "w": node "panel": ${field}: expected a list of agents, as BaseNode has it; give the field of your class another name`,
    );
  },
);

test('chunks of a node reach the reader of a run without streaming, and the request of a node has null for what it does not ask', async () => {
  const chunk = createEvent({ content: { role: 'model', parts: [{ text: 'Hel' }] }, partial: true });
  const speaks = node(() => chunk, { name: 'speaks' });
  const asks = node(() => new RequestInput({ interruptId: 'city', message: 'Which city?' }), { name: 'asks' });
  const { events } = await play([['START', speaks, asks]]);
  expect(events.filter(({ partial }) => partial).map(({ author }) => author)).toEqual(['speaks']);
  expect(events.flatMap(getFunctionCalls)[0]?.args).toEqual({
    interruptId: 'city',
    message: 'Which city?',
    payload: null,
    response_schema: null,
  });
});
