import { type Event, type Part, ShuttingDownError } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { findLooseEnds } from '@eventloom/runner';
import { answer, callIdsOf as questions, KEY, outputsOf as outputs, talk } from '../fixtures/workflow-talk.ts';
import {
  createEvent,
  InMemorySessionService,
  JoinNode,
  LlmAgent,
  LongRunningFunctionTool,
  LoopAgent,
  ParallelAgent,
  node,
  type NodeContext,
  NodeTool,
  RequestInput,
  Runner,
  SequentialAgent,
  Workflow,
} from '../index.ts';

const end = node((_context: NodeContext, input: unknown) => `end ${JSON.stringify(input)}`, { name: 'end' });

describe('nodes that ask beside each other with one id', () => {
  const asking = (name: string) => node(() => new RequestInput({ interruptId: 'ok', message: `${name}?` }), { name });
  const list = node(() => ['a', 'b'], { name: 'list' });
  const worker = node((_context: NodeContext, item: string) => new RequestInput({ interruptId: 'ok', message: item }), {
    name: 'worker',
    parallelWorker: true,
  });

  test.each([
    ['nodes', ['START', [asking('a'), asking('b')], new JoinNode({ name: 'join' }), end], 'end {"a":"yes","b":"yes"}'],
    ['runs of a parallel worker', ['START', list, worker, end], 'end ["yes","yes"]'],
  ] as const)('all get its answer: %s', async (_title, edge, last) => {
    const { send } = await talk([edge]);
    expect(questions(await send('go'))).toEqual(['ok', 'ok']);
    expect(outputs(await send(answer('ok', { result: 'yes' }))).at(-1)).toBe(last);
    await expect(send(answer('ok', { result: 'yes' }))).rejects.toMatchObject({ code: 'INVALID_MESSAGE' });
    expect(questions(await send('go'))).toEqual(['ok', 'ok']);
    expect(outputs(await send('yes')).at(-1)).toBe(last);
  });
});

describe('a session of the ADK whose workflow waits continues', () => {
  const said = (author: string, path: string, fields: Partial<Event>): Event =>
    createEvent({ author, invocationId: 'e-1', nodeInfo: { path }, ...fields });
  const asked = (path: string, branch?: string): Event =>
    said('ask', path, {
      content: { role: 'model', parts: [{ functionCall: { id: 'city', name: 'adk_request_input', args: {} } }] },
      longRunningToolIds: ['city'],
      ...(branch === undefined ? {} : { branch }),
    });
  const waits = (path: string): Event => said(path.split('.').at(-1) ?? '', path, { longRunningToolIds: ['city'] });
  const begun = createEvent({
    author: 'user',
    invocationId: 'e-1',
    content: { role: 'user', parts: [{ text: 'go' }] },
  });
  const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
  const beside = node(() => 'beside', { name: 'beside' });

  const WAITING = {
    'after a question': () => [
      new Workflow({ name: 'w', edges: [['START', ask, end]] }),
      [asked('w.ask'), waits('w')],
      'end "Oslo"',
    ],
    'after a question of an inner workflow': () => [
      new Workflow({ name: 'w', edges: [['START', new Workflow({ name: 'in', edges: [['START', ask]] }), end]] }),
      [asked('w.in.ask'), waits('w.in'), waits('w')],
      'end "Oslo"',
    ],
    'after a question beside another node': () => [
      new Workflow({ name: 'w', edges: [['START', [ask, beside], new JoinNode({ name: 'join' }), end]] }),
      [asked('w.ask', 'ask@1'), said('beside', 'w.beside', { output: 'beside', branch: 'beside@1' }), waits('w')],
      'end {"ask":"Oslo","beside":"beside"}',
    ],
  } satisfies Record<string, () => [Workflow, Event[], string]>;

  test.each(
    Object.entries(WAITING).flatMap(([title, make]) => [
      [`${title}, with a text`, make, 'Oslo'] as const,
      [`${title}, with a function response`, make, answer('city', { result: 'Oslo' })] as const,
    ]),
  )('%s', async (_title, make, message) => {
    const [workflow, events, last] = make();
    const { send } = await talk(workflow, { stored: [begun, ...events] });
    expect(outputs(await send(message)).at(-1)).toBe(last);
  });
});

test.each([
  ['before', true],
  ['after', false],
])(
  'an answer reaches a node that another node has reached already, if the question stands %s that node',
  async (_title, isFirst) => {
    const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
    const work = node(() => 'work', { name: 'work' });
    const ran: unknown[] = [];
    const collect = node((_context: NodeContext, input: string) => void ran.push(input), { name: 'collect' });
    const before = isFirst ? [ask, work] : [work, ask];
    const { send } = await talk([['START', before, collect]]);
    await send('go');
    await send(answer('city', { result: 'Oslo' }));
    expect(ran).toEqual(['work', 'Oslo']);
  },
);

test('a question with an empty id is refused, because no response could answer it', () => {
  expect(() => new RequestInput({ interruptId: '' })).toThrow(
    "RequestInput: interruptId: expected a text that is not empty, got a string; write interruptId: 'city'",
  );
});

describe('a message to a workflow that waits', () => {
  const city = node(() => new RequestInput({ interruptId: 'city' }), { name: 'city' });
  const day = node(() => new RequestInput({ interruptId: 'day' }), { name: 'day' });
  /** Sends messages one after the other, and returns their events and the loose ends of the session. */
  async function play(agent: Workflow, messages: readonly (string | Part)[]) {
    const { send, runner, sessionService } = await talk(agent);
    const runs: Event[][] = [];
    for (const message of messages) runs.push(await send(message));
    return { runner, send, runs, looseEnds: () => findLooseEnds(sessionService, KEY) };
  }

  test('continues its run if it is the answer, which cannot be given again', async () => {
    const { send, runs, looseEnds } = await play(new Workflow({ name: 'w', edges: [['START', city, end]] }), [
      'go',
      'Oslo',
    ]);
    expect(runs.map(outputs)).toEqual([[], ['end "Oslo"']]);
    expect(new Set(runs.flat().map(({ invocationId }) => invocationId)).size).toBe(1);
    await expect(send(answer('city', { result: 'Rome' }))).rejects.toMatchObject({ code: 'INVALID_MESSAGE' });
    expect(await looseEnds()).toEqual([]);
  });

  test('is the same request if it is sent again, and another one with another text', async () => {
    const { runner } = await play(new Workflow({ name: 'w', edges: [['START', city, end]] }), []);
    const send = (requestId: string, text: string) =>
      runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text }] }, requestId, ifKnown: 'follow' });
    for (let count = 0; count < 2; count++) expect(questions(await send('first', 'go'))).toEqual(['city']);
    for (let count = 0; count < 2; count++) expect(outputs(await send('second', '7'))).toEqual(['end "7"']);
    await expect(send('second', '8')).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' });
  });

  test('stays the text that it is, also if it is JSON', async () => {
    const { runs } = await play(new Workflow({ name: 'w', edges: [['START', city, end]] }), ['go', '{"a":1}']);
    expect(outputs(runs[1] ?? [])).toEqual([`end ${JSON.stringify('{"a":1}')}`]);
  });

  test('is shown its questions again if there are several, which only the run that asked takes answers to', async () => {
    const ends: unknown[] = [];
    const book = node((_context: NodeContext, input: unknown) => void ends.push(input), { name: 'book' });
    const edges = [['START', [city, day], new JoinNode({ name: 'join' }), book]] as const;
    const { runs, looseEnds } = await play(new Workflow({ name: 'w', edges }), [
      'go',
      'Oslo',
      answer('city', { result: 'Rome' }),
      answer('day', { result: 'Monday' }),
    ]);
    expect(runs.slice(0, 3).map(questions)).toEqual([['city', 'day'], ['city', 'day'], ['day']]);
    expect(ends).toEqual([{ city: 'Rome', day: 'Monday' }]);
    expect(await looseEnds()).toEqual([]);
  });

  test.each([
    ['runs nothing after the workflow in a sequence', SequentialAgent, {}],
    ['shows the questions once in a loop', LoopAgent, { maxIterations: 2 }],
  ] as const)('%s, if it is no answer', async (_title, Group, options) => {
    const asking = new Workflow({ name: 'w', edges: [['START', [city, day], new JoinNode({ name: 'join' })]] });
    const says = new LlmAgent({ name: 'says', model: new ScriptedModel(['Hello.']) });
    const { send } = await talk(new Group({ name: 'group', subAgents: [asking, says], ...options }));
    await send('go');
    const events = await send('what?');
    expect(events.map(({ author }) => author)).toEqual(['city', 'day']);
  });

  test('is shown its questions again, also if its process was lost before it was', async () => {
    const edges = [['START', [city, day], new JoinNode({ name: 'join' }), end]] as const;
    const { runner, send, runs, looseEnds } = await play(new Workflow({ name: 'w', edges }), ['go']);
    const shutDown = new AbortController();
    const ids = { userId: 'u', sessionId: 's' };
    const newMessage = { parts: [{ text: 'Oslo' }] };
    const lost = runner.runAsync({ ...ids, newMessage, abortSignal: shutDown.signal });
    for await (const _ of lost) shutDown.abort(new ShuttingDownError('bye'));
    expect(await runner.run({ ...ids, invocationId: lost.invocationId })).toEqual(runs[0]);
    await send(answer('city', { result: 'Rome' }));
    expect(outputs(await send(answer('day', { result: 'Monday' })))).toContain('end {"city":"Rome","day":"Monday"}');
    expect(await looseEnds()).toEqual([]);
  });

  test('starts the workflow again after its question was cancelled', async () => {
    const { runner, send, runs } = await play(new Workflow({ name: 'w', edges: [['START', city, end]] }), ['go']);
    await runner.cancelRun({ userId: 'u', sessionId: 's', invocationId: runs[0]?.[0]?.invocationId ?? '' });
    const events = await send('Oslo');
    expect([outputs(events), questions(events)]).toEqual([[], ['city']]);
  });

  test('starts the workflow again if only the result of a long-running call is missing, which its run takes later', async () => {
    const work = new LongRunningFunctionTool({ name: 'work', description: '', execute: () => ({ status: 'pending' }) });
    const call = (id: string) => ({ calls: [{ id, name: 'work' }] });
    const model = new ScriptedModel([call('c1'), 'Wait.', call('c2'), 'Wait.', 'Done.']);
    const agent = new LlmAgent({ name: 'agent', model, tools: [work] });
    const { send, runs, looseEnds } = await play(new Workflow({ name: 'w', edges: [['START', agent, end]] }), [
      'first',
      'second',
    ]);
    expect(runs.map(outputs)).toEqual([[], []]);
    expect(model.requests[2]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'second' }] }]);
    expect(await looseEnds()).toEqual([]);
    const result: Part = { functionResponse: { id: 'c1', name: 'work', response: { status: 'done' } } };
    expect(outputs(await send(result))).toEqual(['Done.', 'end "Done."']);
  });
});

test('a question of a workflow beside an agent that fails is cancelled with their run', async () => {
  const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
  const asking = new Workflow({ name: 'w', edges: [['START', ask, end]] });
  // Its second call comes after the question.
  const model = new ScriptedModel([{ text: 'working' }, new TypeError('broken')]);
  const working = new LoopAgent({
    name: 'loop',
    maxIterations: 2,
    subAgents: [new LlmAgent({ name: 'broken', model })],
  });
  const { send } = await talk(new ParallelAgent({ name: 'both', subAgents: [asking, working] }));
  await send('go').catch(() => undefined);
  await expect(send(answer('city', { result: 'Oslo' }))).rejects.toThrow('was cancelled with its run');
});

test('a result that comes again, or a question that its node did not need, does not start a workflow whose run has ended', async () => {
  let charges = 0;
  const charge = node(() => `charge ${++charges}`, { name: 'charge' });
  const work = new LongRunningFunctionTool({ name: 'work', description: '', execute: () => undefined });
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'work' }] }, 'Done.']);
  const agent = new LlmAgent({ name: 'agent', model, tools: [work] });
  const { send } = await talk([['START', charge, agent]]);
  await send('go');
  const result: Part = { functionResponse: { id: 'c1', name: 'work', response: { status: 'done' } } };
  expect(outputs(await send(result))).toEqual(['Done.']);
  await expect(send(result)).rejects.toThrow('takes an answer only in its run, which has ended');

  const either = node(
    function* ({ resumeInputs }: NodeContext) {
      const given = resumeInputs['one'];
      if (given !== undefined) yield createEvent({ output: given });
      else for (const interruptId of ['one', 'two']) yield new RequestInput({ interruptId });
    },
    { name: 'either', rerunOnResume: true },
  );
  const other = await talk([['START', charge, either, end]]);
  await other.send('go');
  await other.send(answer('one', { result: 'Oslo' }));
  await expect(other.send(answer('two', { result: 'Rome' }))).rejects.toMatchObject({ code: 'INVALID_MESSAGE' });
  expect(charges).toBe(2);
});

describe('an answer that comes after the time limit', () => {
  const first = node(() => void 0, { name: 'first' });
  const last = node((_context: NodeContext, input: unknown) => `got ${JSON.stringify(input)}`, { name: 'last' });
  const ask = (options: { rerunOnResume?: boolean } = {}) =>
    node(
      ({ resumeInputs }: NodeContext) =>
        'size' in resumeInputs ? resumeInputs['size'] : new RequestInput({ interruptId: 'size' }),
      { name: 'ask', ...options },
    );

  const outer = async (context: NodeContext) => (await context.runNode(ask())).output;
  const caller = (): LlmAgent => {
    const tool = new NodeTool(
      node(async (context: NodeContext) => outer(context), {
        name: 'tool',
        inputSchema: { type: 'object' },
        rerunOnResume: true,
      }),
    );
    const model = new ScriptedModel([{ calls: [{ name: 'tool' }] }, 'M']);
    return new LlmAgent({ name: 'caller', model, tools: [tool] });
  };

  test.each([
    ['a node whose answer is its output', [ask(), last]],
    ['a node that runs again', [ask({ rerunOnResume: true }), last]],
    ['a node in an inner workflow', [new Workflow({ name: 'inner', edges: [['START', ask()]] }), last]],
    ['a node that another one runs', [node((context) => outer(context), { name: 'outer', rerunOnResume: true }), last]],
    ['a node that an agent calls as a tool', [caller(), last]],
  ])('is for no node: %s asks again, and takes the next answer', async (_title, nodes) => {
    const platform = fixedPlatform();
    const agent = new Workflow({ name: 'w', edges: [['START', first, ...nodes]] });
    const sessionService = new InMemorySessionService();
    const runner = new Runner({ appName: 'app', agent, sessionService, platform, requestTtlMs: 1000 });
    await sessionService.createSession(KEY);
    const send = (part: Part) =>
      runner.run({ userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [part] } });
    await send({ text: 'go' });
    platform.advance(5000);
    const late = await send(answer('size', { result: 'L' }));
    expect(questions(late)).toEqual(['size']);
    expect(outputs(late)).toEqual([]);
    expect(outputs(await send(answer('size', { result: 'M' }))).at(-1)).toBe('got "M"');
  });
});
