import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { answer, authoredOutputsOf as outputsOf, callIdsOf, talk } from '../fixtures/workflow-talk.ts';
import {
  createEvent,
  type EdgeItem,
  FunctionTool,
  InMemoryRunner,
  JoinNode,
  LlmAgent,
  node,
  type NodeContext,
  RequestInput,
  Workflow,
} from '../index.ts';

const say = (name: string) =>
  node((_context: NodeContext, input: unknown) => `${name}: ${JSON.stringify(input)}`, { name });

describe('a JoinNode', () => {
  test('in a loop waits in each round for the nodes that the round reached, and not for their outputs before', async () => {
    let round = 0;
    const fastRan = Promise.withResolvers<void>();
    const head = node(() => ++round, { name: 'head' });
    const fast = node(
      (_context: NodeContext, at: number) => {
        if (at === 2) fastRan.resolve();
        return `fast ${at}`;
      },
      { name: 'fast' },
    );
    const slow = node(
      async (_context: NodeContext, at: number) => {
        if (at === 2) await fastRan.promise;
        return `slow ${at}`;
      },
      { name: 'slow' },
    );
    const join = new JoinNode({ name: 'join' });
    const check = node(
      (_context: NodeContext, output: unknown) => createEvent({ output, route: round < 2 ? 'again' : 'end' }),
      { name: 'check' },
    );
    const end = node((_context: NodeContext, output: unknown) => output, { name: 'end' });
    const { send } = await talk([
      ['START', head, [fast, slow], join, check],
      [check, { again: head, end }],
    ]);
    const joined = outputsOf(await send('go')).filter(([author]) => author === 'join' || author === 'end');
    expect(joined).toEqual([
      ['join', { fast: 'fast 1', slow: 'slow 1' }],
      ['join', { fast: 'fast 2', slow: 'slow 2' }],
      ['end', { fast: 'fast 2', slow: 'slow 2' }],
    ]);
  });

  test('waits also for a node of the round that cannot start yet because of maxConcurrency', async () => {
    let round = 0;
    const head = node(() => ++round, { name: 'head' });
    const left = node((_context: NodeContext, at: number) => at, { name: 'left' });
    const right = node((_context: NodeContext, at: number) => at, { name: 'right' });
    const join = new JoinNode({ name: 'join' });
    const check = node(() => createEvent({ output: round, route: round < 2 ? 'again' : 'end' }), { name: 'check' });
    const end = node(() => 'done', { name: 'end' });
    const edges: EdgeItem[] = [
      ['START', head, [left, right], join, check],
      [check, { again: head, end }],
    ];
    const { send } = await talk(new Workflow({ name: 'w', edges, maxConcurrency: 1 }));
    const joined = outputsOf(await send('go')).filter(([author]) => author === 'join');
    expect(joined).toEqual([
      ['join', { left: 1, right: 1 }],
      ['join', { left: 2, right: 2 }],
    ]);
  });

  test('with an edge from START runs at once with the input of the workflow', async () => {
    const { send } = await talk([['START', new JoinNode({ name: 'join' }), say('z')]]);
    expect(outputsOf(await send('go'))).toEqual([
      ['join', 'go'],
      ['z', 'z: "go"'],
    ]);
  });
});

test('nodes that follow one on a branch of its own stay on that branch', async () => {
  const [a, b, c, d] = [say('a'), say('b'), say('c'), say('d')];
  const join = new JoinNode({ name: 'join' });
  const nothing = node(() => undefined, { name: 'nothing' });
  const { send } = await talk([
    ['START', [a, b]],
    [a, [c, d], join],
    [b, nothing],
  ]);
  const branches = Object.fromEntries((await send('go')).map(({ author, branch }) => [author, branch]));
  expect(branches).toMatchObject({ a: 'a@1', b: 'b@1', c: 'a@1', d: 'a@1', join: 'a@1' });
});

describe('another attempt of a workflow', () => {
  test('repeats no node that is done, also within a workflow in it', async () => {
    let charges = 0;
    let mails = 0;
    const charge = new FunctionTool({
      name: 'charge',
      description: 'Charges.',
      execute: () => ({ charge: ++charges }),
    });
    const plan = new LlmAgent({ name: 'plan', model: new ScriptedModel([{ text: 'planned' }]) });
    const mail = node(
      (_context: NodeContext, input: unknown) => {
        mails++;
        if (mails < 3) throw new Error('no connection');
        return { mailed: input };
      },
      { name: 'mail' },
    );
    const inner = new Workflow({
      name: 'inner',
      edges: [['START', plan, node(() => ({}), { name: 'empty' }), charge, mail]],
    });
    const outer = new Workflow({
      name: 'outer',
      edges: [['START', inner]],
      retryConfig: { maxAttempts: 3, initialDelay: 0 },
    });
    const { send } = await talk([['START', outer]]);
    const events = await send('go');
    expect([charges, mails]).toEqual([1, 3]);
    expect(outputsOf(events).at(-1)).toEqual(['mail', { mailed: { charge: 1 } }]);
    expect(events.filter(({ author }) => author === 'charge')).toHaveLength(1);
  });

  test('runs an agent that failed as if it had not run', async () => {
    const model = new ScriptedModel([new TypeError('lost'), { text: 'done' }]);
    const agent = new LlmAgent({ name: 'agent', model });
    const first = say('first');
    const flaky = new Workflow({
      name: 'flaky',
      edges: [['START', first, agent]],
      retryConfig: { maxAttempts: 2, initialDelay: 0 },
    });
    const { send } = await talk([['START', flaky]]);
    expect(outputsOf(await send('go'))).toEqual([
      ['first', 'first: "go"'],
      ['agent', 'done'],
    ]);
    expect(model.requests.map(({ request }) => request.contents)).toEqual([
      [{ role: 'user', parts: [{ text: 'first: "go"' }] }],
      [{ role: 'user', parts: [{ text: 'first: "go"' }] }],
    ]);
  });
});

test.each([{ includeContents: 'default' }, { mode: 'task' }, {}] as const)(
  'an agent runs its approved tool in each round of a loop, and reads its input once: %o',
  async (options) => {
    let runs = 0;
    const work = new FunctionTool({
      name: 'work',
      description: 'Works.',
      requireConfirmation: true,
      execute: () => `run ${++runs}`,
    });
    const last = 'mode' in options ? { calls: [{ name: 'finish_task', args: { result: 'done' } }] } : 'done';
    const rounds = [1, 2, 3].flatMap(() => [{ calls: [{ name: 'work' }] }, last]);
    const model = new ScriptedModel(rounds);
    const agent = new LlmAgent({ name: 'agent', model, tools: [work], ...options });
    const check = node(
      (_context: NodeContext, output: unknown) => createEvent({ output, route: runs < 3 ? 'again' : 'end' }),
      { name: 'check' },
    );
    const { send } = await talk([
      ['START', agent, check],
      [check, { again: agent, end: say('end') }],
    ]);
    let events = await send('go');
    for (const round of [1, 2, 3]) {
      const id = callIdsOf(events).at(-1) ?? '';
      events = await send(answer(id, { confirmed: true }, 'adk_request_confirmation'));
      expect(runs).toBe(round);
    }
    expect(outputsOf(events).at(-1)?.[0]).toBe('end');
    const { contents = [] } = model.requests.at(-1)?.request ?? {};
    expect(contents.at(-1)?.parts).toMatchObject([{ functionResponse: { response: { result: 'run 3' } } }]);
    const texts = contents.flatMap(({ role, parts }) => (role === 'user' ? (parts?.[0]?.text ?? []) : []));
    expect(texts).toHaveLength(1);
  },
);

test('a node that asks in each round of a loop repeats no earlier round after an answer', async () => {
  const ask = node((_context: NodeContext, said: string) => new RequestInput({ message: said }), { name: 'ask' });
  let replies = 0;
  const reply = node(
    (_context: NodeContext, said: string) => createEvent({ output: `${++replies}: ${said}`, route: 'again' }),
    { name: 'reply' },
  );
  const { send } = await talk([
    ['START', ask, reply],
    [reply, { again: ask }],
  ]);
  await send('go');
  for (const round of [1, 2, 3, 4])
    expect(outputsOf(await send(`answer ${round}`))).toEqual([['reply', `${round}: answer ${round}`]]);
});

describe('a text answers the only question of a workflow', () => {
  const ask = node(() => new RequestInput({ interruptId: 'city', message: 'Which city?' }), { name: 'ask' });

  test.each(['an event that the program appended', 'a run of another agent'])('after %s', async (what) => {
    const { send, read, sessionService } = await talk([['START', say('a'), ask, say('z')]]);
    await send('go');
    if (what.startsWith('an event')) {
      const session = await read();
      const actions = { stateDelta: { seen: true } };
      await sessionService.appendEvent({ session, event: createEvent({ author: 'system', actions }) });
    } else {
      const agent = new LlmAgent({ name: 'other', model: new ScriptedModel([{ text: 'Hello.' }]) });
      const other = new InMemoryRunner({ agent, appName: 'app' });
      Object.assign(other, { sessionService });
      await other.run({ userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'Hi.' }] } });
    }
    expect(outputsOf(await send('Oslo'))).toEqual([['z', 'z: "Oslo"']]);
  });

  test('in a workflow that an agent in a node calls as a tool, after many events', async () => {
    const talkative = node(
      function* () {
        for (let count = 0; count < 250; count++)
          yield createEvent({ content: { role: 'model', parts: [{ text: 'Hm.' }] } });
      },
      { name: 'talkative' },
    );
    const flow = new Workflow({
      name: 'flow',
      inputSchema: { type: 'object' },
      edges: [['START', talkative, ask, say('z')]],
    });
    const caller = new LlmAgent({
      name: 'caller',
      model: new ScriptedModel([{ calls: [{ name: 'flow' }] }, 'Done.']),
      tools: [flow],
    });
    const { send } = await talk([['START', caller, say('end')]]);
    await send('go');
    expect(outputsOf(await send('Oslo'))).toEqual([
      ['z', 'z: "Oslo"'],
      ['caller', 'Done.'],
      ['end', 'end: "Done."'],
    ]);
  });
});
