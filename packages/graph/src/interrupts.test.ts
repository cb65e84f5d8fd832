import {
  type BaseSessionService,
  BaseTool,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  InvalidMessageError,
  type RunAsyncToolRequest,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { Runner, type RunnerConfig } from '@eventloom/runner';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type AnyNodes,
  type Channels,
  END,
  type GraphAgent,
  type NodeContext,
  node,
  START,
  StateGraph,
} from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };

/** Each message is taken by a runner of its own, with a graph of its own, as in another process. */
async function setUp(makeAgent: () => RunnerConfig['agent'], resumable = true) {
  const platform = fixedPlatform();
  const sessionService: BaseSessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const send = (parts: object[], options: object = {}) =>
    new Runner({ appName: 'app', agent: makeAgent(), sessionService, platform, resumable, ...options }).run({
      ...IDS,
      newMessage: { parts },
    });
  const ask = () => send([{ text: 'hi' }]);
  const answer = (...answers: [id: string | undefined, response: object][]) =>
    send(answers.map(([id = '', response]) => ({ functionResponse: { id, response } })));
  return { ask, answer, send, platform, sessionService };
}

const questionsIn = (events: readonly Event[]) =>
  events.flatMap((event) => getFunctionCalls(event).filter(({ id }) => event.longRunningToolIds?.includes(id ?? '')));
const answerOf = (events: readonly Event[]): unknown =>
  events.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState?.['output'];

type Work = (input: unknown, context: NodeContext) => unknown;

/** Nodes side by side, joined. */
function fanOut(works: Readonly<Record<string, Work>>, ran: string[] = []): () => GraphAgent {
  return () => {
    const graph = new StateGraph<Channels, AnyNodes>({ name: 'g' });
    graph.addNode('before', () => void ran.push('before')).addJoin('all');
    graph.addEdge(START, 'before').addEdge('all', END);
    for (const [name, work] of Object.entries(works)) {
      graph.addNode(name, (input: unknown, context) => work(input, context as unknown as NodeContext));
      graph.addEdge('before', name).addEdge(name, 'all');
    }
    return graph.compile();
  };
}

test('a node asks with a schema, and the answer goes on with the run in another process', async () => {
  const ran: string[] = [];
  const responseSchema = z.object({ approved: z.boolean(), by: z.string().default('nobody') });
  const { ask, answer } = await setUp(
    fanOut(
      {
        a: async (_, context) => {
          ran.push('a begins');
          return context.requestInput({ message: 'Good?', payload: { draft: 1 }, responseSchema });
        },
        b: () => void ran.push('b'),
      },
      ran,
    ),
  );
  const asked = await ask();
  const [question] = questionsIn(asked);
  expect(question).toMatchObject({
    name: 'adk_request_input',
    args: { message: 'Good?', payload: { draft: 1 }, response_schema: { type: 'object', required: ['approved'] } },
  });
  expect(asked.find(({ longRunningToolIds }) => longRunningToolIds)?.author).toBe('a');
  expect(ran).toEqual(['before', 'a begins', 'b']);
  await expect(answer([question?.id, { approved: 'maybe' }])).rejects.toThrow(InvalidMessageError);
  const events = await answer([question?.id, { approved: true }]);
  expect(events[0]?.invocationId).toBe(asked[0]?.invocationId);
  expect(answerOf(events)).toMatchObject({ a: { approved: true, by: 'nobody' } });
  // What was done is not done again; the node that asked begins anew.
  expect(ran).toEqual(['before', 'a begins', 'b', 'a begins']);
});

test('several nodes ask at once, and are answered together', async () => {
  const works = {
    a: (_: unknown, context: NodeContext) => context.requestInput(),
    b: (_: unknown, context: NodeContext) => context.requestInput(),
  };
  const { ask, answer } = await setUp(fanOut(works));
  const [a, b] = questionsIn(await ask());
  expect(a?.id).not.toBe(b?.id);
  expect(answerOf(await answer([b?.id, { result: 'for b' }], [a?.id, { result: 'for a' }]))).toEqual({
    a: 'for a',
    b: 'for b',
  });
});

test('several nodes ask at once, and are answered one after the other: each goes on with its own', async () => {
  const ran: string[] = [];
  const begun: string[] = [];
  const asks = (name: string) => async (_: unknown, context: NodeContext) => {
    begun.push(name);
    const answer = await context.requestInput();
    ran.push(name);
    return answer;
  };
  const { ask, answer } = await setUp(fanOut({ a: asks('a'), b: asks('b'), c: asks('c') }));
  const [a, b, c] = questionsIn(await ask());
  const second = await answer([b?.id, { result: 2 }]);
  expect([ran, questionsIn(second), answerOf(second)]).toEqual([['b'], [], undefined]);
  const third = await answer([a?.id, { result: 1 }]);
  expect([ran, questionsIn(third), answerOf(third)]).toEqual([['b', 'a'], [], undefined]);
  expect(answerOf(await answer([c?.id, { result: 3 }]))).toEqual({ a: 1, b: 2, c: 3 });
  // Nobody is run again for the answer of another.
  expect(begun).toEqual(['a', 'b', 'c', 'b', 'a', 'c']);
});

test('a node asks for several things, at once and one after the other, each under a key', async () => {
  const { ask, answer } = await setUp(
    fanOut({
      a: async (_, context) => {
        const both = await Promise.all([context.requestInput({ key: 'x' }), context.requestInput({ key: 'y' })]);
        return [...both, await context.requestInput({ key: 'z' })];
      },
      b: () => 'b',
    }),
  );
  const [x, y, ...more] = questionsIn(await ask());
  expect([x?.args?.['key'], y?.args?.['key'], more]).toEqual(['x', 'y', []]);
  const next = await answer([x?.id, { result: 1 }], [y?.id, { result: 2 }]);
  const [z] = questionsIn(next);
  expect(z?.args?.['key']).toBe('z');
  expect(answerOf(await answer([z?.id, { result: 3 }]))).toEqual({ a: [1, 2, 3], b: 'b' });
});

test('a node that handles what stops it waits all the same', async () => {
  const { ask, answer } = await setUp(
    fanOut({ a: (_, context) => context.requestInput().catch(() => 'nobody'), b: () => 'b' }),
  );
  const asked = await ask();
  expect(answerOf(asked)).toBeUndefined();
  expect(answerOf(await answer([questionsIn(asked)[0]?.id, { result: 'me' }]))).toEqual({ a: 'me', b: 'b' });
});

test('an answer that comes too late is none: the node asks anew', async () => {
  const { ask, send, platform } = await setUp(fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' }));
  const [first] = questionsIn(await ask());
  platform.advance(1001);
  const late = await send([{ functionResponse: { id: first?.id ?? '', response: { result: 'late' } } }], {
    requestTtlMs: 1000,
  });
  const [second] = questionsIn(late);
  expect(second?.id).not.toBe(first?.id);
  const events = await send([{ functionResponse: { id: second?.id ?? '', response: { result: 'in time' } } }], {
    requestTtlMs: 1000,
  });
  expect(answerOf(events)).toEqual({ a: 'in time', b: 'b' });
});

test('in a loop each round asks anew', async () => {
  const makeAgent = () =>
    new StateGraph({ name: 'g' })
      .addNode('ask', (_: unknown, context) => context.requestInput())
      .addEdge(START, 'ask')
      .addConditionalEdges('ask', (output) => (output === 'stop' ? 'stop' : 'more'), { more: 'ask', stop: END })
      .compile();
  const { ask, answer } = await setUp(makeAgent);
  let events = await ask();
  for (const result of ['one', 'two', 'stop']) {
    expect(questionsIn(events)).toHaveLength(1);
    events = await answer([questionsIn(events)[0]?.id, { result }]);
  }
  expect(answerOf(events)).toBe('stop');
});

test('in a run that cannot be resumed nobody can be asked, and the error says what to do', async () => {
  const { ask } = await setUp(fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' }), false);
  await expect(ask()).rejects.toThrow(/node "a".*resumable: true/);
});

test('a node in a sub-graph asks, and so does one that another node runs; neither does again what was done', async () => {
  const ran: string[] = [];
  const makeAgent = () => {
    const sub = new StateGraph({ name: 'sub' })
      .addNode('first', () => void ran.push('sub first'))
      .addNode('ask', (_: unknown, context) => context.requestInput({ message: 'sub' }))
      .addEdge(START, 'first')
      .addEdge('first', 'ask')
      .addEdge('ask', END)
      .compile();
    const plain = node('plain', () => void ran.push('plain'));
    const asks = node('asks', (_: unknown, context) => context.requestInput({ message: 'inner' }));
    return new StateGraph({ name: 'g' })
      .addNode('sub', sub)
      .addNode('runs', async (_: unknown, context) => {
        await context.runNode(plain, null);
        return context.runNode(asks, null);
      })
      .addJoin('all')
      .addEdge(START, ['sub', 'runs'])
      .addEdge('sub', 'all')
      .addEdge('runs', 'all')
      .addEdge('all', END)
      .compile();
  };
  const { ask, answer } = await setUp(makeAgent);
  const questions = questionsIn(await ask());
  expect(new Set(questions.map(({ args }) => args?.['message']))).toEqual(new Set(['inner', 'sub']));
  for (const { id, args } of questions.slice(0, 1)) await answer([id, { result: args?.['message'] }]);
  const [, last] = questions;
  const events = await answer([last?.id, { result: last?.args?.['message'] }]);
  expect(answerOf(events)).toEqual({ sub: 'sub', runs: 'inner' });
  expect(ran.toSorted()).toEqual(['plain', 'sub first']);
});

test('a tool that must be confirmed is run when it is, and answers that it was rejected when it is not', async () => {
  let paid = 0;
  const makeAgent = () => {
    const pay = new FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      execute: () => ({ paid: ++paid }),
    });
    return new StateGraph({ name: 'g' })
      .addNode('amount', () => ({ amount: 3 }))
      .addNode('pay', pay)
      .addEdge(START, 'amount')
      .addEdge('amount', 'pay')
      .addEdge('pay', END)
      .compile();
  };
  for (const confirmed of [false, true]) {
    const { ask, answer } = await setUp(makeAgent);
    const [question] = questionsIn(await ask());
    expect(question).toMatchObject({
      name: 'adk_request_confirmation',
      args: { originalFunctionCall: { name: 'pay', args: { amount: 3 } } },
    });
    const events = await answer([question?.id, { confirmed }]);
    expect(answerOf(events)).toEqual(confirmed ? { paid: 1 } : { error: 'This tool call is rejected.' });
    expect(paid).toBe(confirmed ? 1 : 0);
  }
});

const AUTH = {
  authScheme: { type: 'oauth2' },
  credentialKey: 'bank',
  rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'us', clientSecret: 'hush' } },
} as const;

/** A graph whose one tool does this; it counts how often. */
function toolGraph(ran: string[], work: (context: ToolContext) => unknown): () => GraphAgent {
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    execute: (_: object, context: ToolContext) => {
      ran.push('pay');
      return work(context);
    },
  });
  return () =>
    new StateGraph({ name: 'g' })
      .addNode('args', () => ({}))
      .addNode('pay', pay)
      .addEdge(START, 'args')
      .addEdge('args', 'pay')
      .addEdge('pay', END)
      .compile();
}

test('a tool whose user gives no credential is not run again, as under a model', async () => {
  const ran: string[] = [];
  const makeAgent = toolGraph(ran, (context) => context.requestCredential(AUTH));
  const options = { credentialService: new InMemoryCredentialService(), requestTtlMs: 1000 };
  for (const isLate of [false, true]) {
    const { send, platform } = await setUp(makeAgent);
    const [question] = questionsIn(await send([{ text: 'hi' }], options));
    expect(question?.name).toBe('adk_request_credential');
    if (isLate) platform.advance(1001);
    const response = isLate ? { ...AUTH, exchangedAuthCredential: AUTH.rawAuthCredential } : {};
    const events = await send([{ functionResponse: { id: question?.id ?? '', response } }], options);
    const why = isLate ? 'it was answered too late' : 'no credential was given';
    expect(answerOf(events)).toEqual({ error: `This tool call was not run: ${why}.` });
  }
  expect(ran).toEqual(['pay', 'pay']);
});

test('what is secret in a credential that a tool asks for by hand is in no event', async () => {
  const makeAgent = toolGraph([], (context) => {
    context.actions.requestedAuthConfigs = { [context.functionCallId]: AUTH };
  });
  const { send, sessionService } = await setUp(makeAgent);
  const options = { credentialService: new InMemoryCredentialService() };
  const [question] = questionsIn(await send([{ text: 'hi' }], options));
  expect(question).toMatchObject({ args: { authConfig: { credentialKey: 'bank' } } });
  expect(JSON.stringify((await sessionService.getSession(KEY))?.events)).not.toContain('hush');
  await expect(send([{ text: 'hi' }])).rejects.toThrow(/credentialService/);
});

test('a tool is given what the person confirmed with the hint that it asked with', async () => {
  const told: unknown[] = [];
  const makeAgent = toolGraph([], (context) => {
    if (context.toolConfirmation) told.push(context.toolConfirmation);
    else context.requestConfirmation({ hint: 'Pay?' });
  });
  const { ask, answer } = await setUp(makeAgent);
  const [question] = questionsIn(await ask());
  await answer([question?.id, { confirmed: true, payload: 3 }]);
  expect(told).toEqual([{ hint: 'Pay?', confirmed: true, payload: 3 }]);
});

test('a tool asks for input, and an agent in a node confirms its tools', async () => {
  const makeAgent = () => {
    const size = new FunctionTool({
      name: 'size',
      description: '',
      execute: (_: object, context: ToolContext) =>
        context.getInput() ?? context.requestInput({ message: 'Which size?' }),
    });
    const act = new FunctionTool({ name: 'act', description: '', requireConfirmation: true, execute: () => 'acted' });
    const model = new ScriptedModel([{ calls: [{ name: 'act' }] }, 'did it']);
    const after = new ScriptedModel(['did it']);
    return {
      size,
      agent: (isAfter: boolean) => new LlmAgent({ name: 'actor', model: isAfter ? after : model, tools: [act] }),
    };
  };
  let processes = 0;
  const { ask, answer } = await setUp(() => {
    const { size, agent } = makeAgent();
    const none = node('none', () => ({}));
    return new StateGraph({ name: 'g' })
      .addNode(none)
      .addNode('size', size)
      .addNode('actor', agent(processes++ > 0))
      .addJoin('all')
      .addEdge(START, 'none')
      .addEdge('none', ['size', 'actor'])
      .addEdge('size', 'all')
      .addEdge('actor', 'all')
      .addEdge('all', END)
      .compile();
  });
  const questions = questionsIn(await ask());
  expect(new Set(questions.map(({ name }) => name))).toEqual(
    new Set(['adk_request_confirmation', 'adk_request_input']),
  );
  const events = await answer(
    ...questions.map(({ id, name }): [string | undefined, object] => [
      id,
      name === 'adk_request_input' ? { result: 'XL' } : { confirmed: true },
    ]),
  );
  expect(answerOf(events)).toEqual({ size: 'XL', actor: 'did it' });
});

test('in a run that cannot be resumed a tool that waits is an error too', async () => {
  class Waiting extends BaseTool {
    override runAsync({ toolContext }: RunAsyncToolRequest): Promise<unknown> {
      toolContext.pause();
      return Promise.resolve(undefined);
    }
  }
  const makeAgent = () =>
    new StateGraph({ name: 'g' })
      .addNode('none', () => ({}))
      .addNode('waiting', new Waiting({ name: 'waiting', description: '' }))
      .addEdge(START, 'none')
      .addEdge('none', 'waiting')
      .addEdge('waiting', END)
      .compile();
  const { ask } = await setUp(makeAgent, false);
  await expect(ask()).rejects.toThrow(/node "waiting".*resumable: true/);
});

test('a sequence waits for a graph in it, and goes on behind it', async () => {
  const said: string[] = [];
  const graph = () => fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' })();
  const after = () =>
    new StateGraph({ name: 'after' })
      .addNode('end', () => void said.push('end'))
      .addEdge(START, 'end')
      .addEdge('end', END)
      .compile();
  const { ask, answer } = await setUp(() => new SequentialAgent({ name: 'seq', subAgents: [graph(), after()] }));
  const asked = await ask();
  expect(said).toEqual([]);
  await answer([questionsIn(asked)[0]?.id, { result: 1 }]);
  expect(said).toEqual(['end']);
});

test('a graph that is called as a tool asks, and goes on in its call', async () => {
  const ran: string[] = [];
  let processes = 0;
  const { ask, answer } = await setUp(() => {
    const graph = new StateGraph({ name: 'order' })
      .addNode('check', (input: string) => {
        ran.push(`check ${input}`);
        return input;
      })
      .addNode('size', (_: unknown, context) => context.requestInput({ message: 'Which size?' }))
      .addEdge(START, 'check')
      .addEdge('check', 'size')
      .addEdge('size', END)
      .compile();
    const call = { calls: [{ name: 'order', args: { request: 'a shirt' } }] };
    const model = new ScriptedModel(processes++ === 0 ? [call] : ['ordered']);
    return new LlmAgent({ name: 'shop', model, tools: [new AgentTool({ agent: graph })] });
  });
  const [question] = questionsIn(await ask());
  expect(question?.args?.['message']).toBe('Which size?');
  const events = await answer([question?.id, { result: 'XL' }]);
  expect(events.flatMap(getFunctionResponses).map(({ name, response }) => [name, response])).toEqual([
    ['order', { result: 'XL' }],
  ]);
  expect(events.flatMap(({ content }) => content?.parts?.map(({ text }) => text) ?? [])).toContain('ordered');
  expect(ran).toEqual(['check a shirt']);
});

test('an answer to a run that was given up is refused, and runs nothing', async () => {
  const ran: string[] = [];
  const makeAgent = fanOut({ a: (_, context) => context.requestInput(), b: () => 'b' }, ran);
  const { ask, answer, sessionService, platform } = await setUp(makeAgent);
  const asked = await ask();
  const runner = new Runner({ appName: 'app', agent: makeAgent(), sessionService, platform });
  await runner.closeRun({ ...IDS, invocationId: asked[0]?.invocationId ?? '', reason: 'given up' });
  await expect(answer([questionsIn(asked)[0]?.id, { result: 1 }])).rejects.toThrow(
    /graph "g": the run that asked this is over/,
  );
  expect(ran).toEqual(['before']);
});
