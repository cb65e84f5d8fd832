import {
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  ModelError,
  type Part,
  ShuttingDownError,
} from '@eventloom/core';
import { Runner as CoreRunner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answer, KEY, talk } from '../fixtures/workflow-talk.ts';
import {
  AgentTool,
  AuthHandler,
  BasePlugin,
  type BaseTool,
  BaseToolset,
  createEvent,
  type EdgeItem,
  Edge,
  FunctionNode,
  isNodeErrorEvent,
  FunctionTool,
  InMemoryRunner,
  isNodeReportedError,
  JoinNode,
  LlmAgent,
  LongRunningFunctionTool,
  node,
  type NodeContext,
  NodeTool,
  RequestInput,
  type RunConfig,
  SequentialAgent,
  START,
  type ToolContext,
  Workflow,
} from '../index.ts';

const said = (events: readonly Event[]): string[] =>
  events.map(({ author, output, content }) => `${author}: ${JSON.stringify(output ?? content?.parts?.[0]?.text)}`);
const model = (...steps: ScriptedStep[]) => new ScriptedModel(steps);
const upper = node((_context: NodeContext, text: string) => text.toUpperCase(), { name: 'upper' });

describe('a question', () => {
  const ask = node(() => new RequestInput({ interruptId: 'city', message: 'Which city?' }), { name: 'ask' });

  test('pauses the workflow, and its answer is the output of the node', async () => {
    const { send } = await talk([['START', ask, upper]]);
    expect((await send('go')).flatMap(getFunctionCalls)).toMatchObject([{ id: 'city', name: 'adk_request_input' }]);
    expect(said(await send(answer('city', { result: 'Oslo' })))).toEqual(['upper: "OSLO"']);
  });

  test('leaves the nodes after an agent on their own branch when the workflow continues', async () => {
    const draft = new LlmAgent({ name: 'draft', model: model({ text: 'Dear Ann' }) });
    const review = node(
      ({ resumeInputs }: NodeContext) => resumeInputs['ok'] ?? new RequestInput({ interruptId: 'ok' }),
      {
        name: 'review',
        rerunOnResume: true,
      },
    );
    const { send } = await talk([['START', draft, review, upper]]);
    const [drafted] = await send('go');
    expect(drafted?.branch).toMatch(/^draft@w%2Edraft/);
    const events = await send(answer('ok', { result: 'yes' }));
    expect(said(events)).toEqual(['review: "yes"', 'upper: "YES"']);
    expect(events.map(({ branch }) => branch)).toEqual([undefined, undefined]);
  });

  test('is answered by the text of the next message', async () => {
    const { send } = await talk([['START', ask, upper]]);
    await send('go');
    expect(said(await send('Rome'))).toEqual(['upper: "ROME"']);
  });

  test.each([
    ['before another node', [upper]],
    ['of the last node', []],
  ])('%s cannot be answered twice', async (_title, rest) => {
    let charged = 0;
    const charge = node(() => void charged++, { name: 'charge' });
    const { send, stored } = await talk([[START, charge, ask, ...rest]]);
    await send('go');
    await send(answer('city', { result: 'Oslo' }));
    const { length } = await stored();
    await expect(send(answer('city', { result: 'Oslo' }))).rejects.toThrow('has already been answered');
    expect(await stored()).toHaveLength(length);
    expect(charged).toBe(1);
  });

  test('is yielded again by a message that does not answer it, because several are open', async () => {
    const ran: string[] = [];
    const asking = (id: string) =>
      node(
        () => {
          ran.push(id);
          return new RequestInput({ interruptId: id, message: `${id}?` });
        },
        { name: id },
      );
    const join = new JoinNode({ name: 'both' });
    const { send } = await talk([[START, [asking('city'), asking('day')], join]]);
    const asked = async (...parts: (string | Part)[]): Promise<(string | undefined)[]> =>
      (await send(...parts)).flatMap(getFunctionCalls).map(({ id }) => id);
    expect(await asked('go')).toEqual(['city', 'day']);
    expect(await asked('Oslo')).toEqual(['city', 'day']);
    expect(await asked('Oslo, I said')).toEqual(['city', 'day']);
    expect(await asked(answer('day', { result: 'today' }))).toEqual(['city']);
    expect(said(await send(answer('city', { result: 'Oslo' })))).toEqual(['both: {"city":"Oslo","day":"today"}']);
    expect(ran).toEqual(['city', 'day']);
  });

  test('is asked again by a message after the workflow has ended', async () => {
    const { send } = await talk([['START', ask, upper]]);
    await send('go');
    await send(answer('city', { result: 'Oslo' }));
    expect((await send('go')).flatMap(getFunctionCalls)).toMatchObject([{ id: 'city' }]);
    expect(said(await send(answer('city', { result: 'Bern' })))).toEqual(['upper: "BERN"']);
  });

  test('does not run completed nodes again, even those without an output', async () => {
    const runs: string[] = [];
    const silent = node(() => void runs.push('silent'), { name: 'silent' });
    const loud = node(() => runs.push('loud'), { name: 'loud' });
    const { send } = await talk([['START', silent, loud, ask, upper]]);
    await send('go');
    await send(answer('city', { result: 'Oslo' }));
    expect(runs).toEqual(['silent', 'loud']);
  });

  test('of a node with rerunOnResume is answered in resumeInputs, and the input is that of the first message', async () => {
    const review = node(
      function* (context: NodeContext, text: string) {
        const given = context.resumeInputs['ok'];
        if (given === undefined) yield new RequestInput({ interruptId: 'ok' });
        else yield `${text}: ${JSON.stringify(given)}`;
      },
      { name: 'review', rerunOnResume: true },
    );
    const { send } = await talk([['START', review]]);
    await send('draft');
    expect(said(await send('yes'))).toEqual(['review: "draft: \\"yes\\""']);
  });

  test('in a loop is asked again in each round', async () => {
    const review = node(
      function* (context: NodeContext) {
        const given = context.resumeInputs['ok'];
        if (given === undefined) yield new RequestInput({ interruptId: 'ok' });
        else yield createEvent({ route: given as string, output: given });
      },
      { name: 'review', rerunOnResume: true },
    );
    const drafts = node((context: NodeContext) => `draft ${context.runId}`, { name: 'draft' });
    const edges: EdgeItem[] = [
      ['START', drafts, review],
      [review, { again: drafts, done: upper }],
    ];
    const { send } = await talk(edges);
    await send('go');
    await send(answer('ok', { result: 'again' }));
    await send(answer('ok', { result: 'again' }));
    expect(said(await send(answer('ok', { result: 'done' })))).toEqual(['review: "done"', 'upper: "DONE"']);
  });

  test.each([
    ['with an output', true],
    ['without one', false],
  ])('in a loop is asked again, if the node before it %s only assigned its route', async (_title, hasOutput) => {
    const guess = node(() => new RequestInput({ message: 'Guess!' }), { name: 'guess' });
    const check = node(
      (context: NodeContext, text: string) => {
        context.route = text === '7' ? 'right' : 'wrong';
        return hasOutput ? text : undefined;
      },
      { name: 'check' },
    );
    const edges: EdgeItem[] = [
      [START, guess, check],
      [check, { wrong: guess, right: node(() => 'won', { name: 'end' }) }],
    ];
    const { send } = await talk(edges);
    for (const text of ['go', '3', '5']) expect((await send(text)).flatMap(getFunctionCalls)).toHaveLength(1);
    expect(said(await send('7')).at(-1)).toBe('end: "won"');
  });

  test('of a node that another node runs is answered there', async () => {
    const outer = node(async (context: NodeContext) => `got ${String((await context.runNode(ask)).output)}`, {
      name: 'outer',
      rerunOnResume: true,
    });
    const inner = new Workflow({ name: 'inner', edges: [['START', outer]] });
    const { send } = await talk([['START', inner]]);
    await send('go');
    expect(said(await send(answer('city', { result: 'Oslo' })))).toEqual(['outer: "got Oslo"']);
  });

  test('stays open if its answer does not match the schema and is refused', async () => {
    const choose = node(() => new RequestInput({ interruptId: 'n', responseSchema: z.object({ n: z.number() }) }), {
      name: 'choose',
    });
    const { send } = await talk([['START', choose]]);
    await send('go');
    await expect(send(answer('n', { n: 'x' }))).rejects.toMatchObject({ code: 'INVALID_MESSAGE' });
    expect(await send(answer('n', { n: 3 }))).toMatchObject([{ author: 'w', output: { n: 3 } }]);
  });

  test('of the ADK for JavaScript in an imported session is answered here', async () => {
    const asked = {
      functionCall: { id: 'city', name: 'adk_request_input', args: { interruptId: 'city', message: 'Which?' } },
    };
    const { send, sessionService } = await talk([['START', upper, ask, upper2]]);
    const session = await sessionService.getSession(KEY);
    const events = [
      createEvent({ author: 'user', invocationId: 'e-1', content: { role: 'user', parts: [{ text: 'go' }] } }),
      createEvent({
        author: 'upper',
        invocationId: 'e-1',
        output: 'GO',
        nodeInfo: { path: 'w.upper', outputFor: ['w.upper'] },
      }),
      createEvent({
        author: 'ask',
        invocationId: 'e-1',
        content: { role: 'model', parts: [asked] },
        longRunningToolIds: ['city'],
        nodeInfo: { path: 'w.ask' },
      }),
    ];
    if (session) for (const event of events) await sessionService.appendEvent({ session, event });
    expect(said(await send(answer('city', { result: 'Oslo' })))).toEqual(['upper2: "OSLO!"']);
  });
});

const upper2 = node((_context: NodeContext, text: string) => `${text.toUpperCase()}!`, { name: 'upper2' });

test('a tool in a workflow that asks for input gets the answer by the key of its request', async () => {
  const order = new FunctionTool({
    name: 'order',
    description: 'Orders.',
    execute: (_, context) => {
      const size = context?.getInput('size');
      return size === undefined ? context?.requestInput({ key: 'size', message: 'Which size?' }) : { ordered: size };
    },
  });
  const { send } = await talk(
    new Workflow({ name: 'w', edges: [['START', node(() => ({}), { name: 'begin' }), order]] }),
  );
  const [call] = (await send('go')).flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
  expect(call?.args).toMatchObject({ key: 'size' });
  const events = await send(answer(call?.id ?? '', { result: 'L' }));
  expect(events.findLast(({ output }) => output !== undefined)?.output).toEqual({ ordered: 'L' });
});

describe('an agent in a workflow', () => {
  const pay = new FunctionTool({ name: 'pay', description: 'Pays.', requireConfirmation: true, execute: () => 'paid' });

  test('waits for a confirmation, and continues where it was', async () => {
    const bot = model({ calls: [{ id: 'c1', name: 'pay' }] }, 'Done.');
    const payer = new LlmAgent({ name: 'payer', model: bot, tools: [pay] });
    const { send } = await talk([['START', upper, payer, upper2]]);
    const [call] = (await send('go'))
      .flatMap(getFunctionCalls)
      .filter(({ name }) => name === 'adk_request_confirmation');
    const events = await send(answer(call?.id ?? '', { confirmed: true }, 'adk_request_confirmation'));
    expect(said(events).slice(-2)).toEqual(['payer: "Done."', 'upper2: "DONE.!"']);
    bot.assertConsumed();
  });

  test.each(['none', 'default'] as const)(
    'with includeContents: %s waits for the result of a long-running call with a first response, and reads it',
    async (includeContents) => {
      const job = new LongRunningFunctionTool({
        name: 'job',
        description: 'J.',
        execute: () => ({ status: 'pending' }),
      });
      const waiting = model({ calls: [{ name: 'job', id: 'c1' }] }, { text: 'Waiting.' }, { text: 'Approved.' });
      const agent = new LlmAgent({ name: 'a', model: waiting, tools: [job], includeContents });
      const { send } = await talk([[START, agent, upper]]);
      const [call, ...first] = await send('go');
      expect(said(first)).toEqual(['a: undefined', 'a: "Waiting."']);
      expect(first.map(({ output }) => output)).toEqual([undefined, undefined]);
      const [{ id = '' } = {}] = call ? getFunctionCalls(call) : [];
      expect(said(await send(answer(id, { status: 'approved' }, 'job')))).toEqual([
        'a: "Approved."',
        'upper: "APPROVED."',
      ]);
      const newest = waiting.requests.at(-1)?.request.contents.at(-1)?.parts?.at(-1)?.functionResponse;
      expect(newest?.response).toEqual({ status: 'approved' });
    },
  );

  test('runs a tool that asks by itself again after the approval, before the next node', async () => {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      execute: (_args: unknown, toolContext: ToolContext) => {
        if (toolContext.toolConfirmation) return { paid: toolContext.toolConfirmation.confirmed };
        toolContext.requestConfirmation({ hint: 'Pay?' });
        return { status: 'asked' };
      },
    });
    const payer = model({ calls: [{ name: 'pay' }] }, { text: 'I asked.' }, { text: 'Paid.' });
    const agent = new LlmAgent({ name: 'a', model: payer, tools: [pay] });
    const { send } = await talk([[START, agent, upper]]);
    const first = await send('go');
    expect(said(first.slice(-1))).toEqual(['a: "I asked."']);
    const { id = '', name } = first.flatMap(getFunctionCalls).at(-1) ?? {};
    const second = await send(answer(id, { confirmed: true }, name));
    expect(second.flatMap(getFunctionResponses)).toMatchObject([{ response: { paid: true } }]);
    expect(said(second.slice(1))).toEqual(['a: "Paid."', 'upper: "PAID."']);
  });

  test.each([
    ['transfers to its sub-agent, whose answer is the output of the node', (agent: LlmAgent) => agent, 'two'],
    [
      'in a sequence transfers to its sub-agent',
      (agent: LlmAgent) => new SequentialAgent({ name: 's', subAgents: [agent] }),
      undefined,
    ],
  ])('%s', async (_title, place, output) => {
    const second = new LlmAgent({ name: 'b', model: model({ text: 'two' }) });
    const first = model({ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'b' } }] });
    const agent = new LlmAgent({ name: 'a', model: first, subAgents: [second] });
    const { send } = await talk([[START, place(agent)]]);
    const events = await send('go');
    expect(events.map(({ author }) => author)).toEqual(['a', 'a', 'b']);
    expect(events.at(-1)?.output).toBe(output);
    expect(events.at(-1)?.content?.parts).toEqual([{ text: 'two' }]);
  });

  test('runs a tool of the agent that it transferred to after the approval', async () => {
    const second = model({ calls: [{ id: 'c1', name: 'pay' }] }, 'Done.');
    const payer = new LlmAgent({ name: 'payer', model: second, tools: [pay] });
    const first = model({ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'payer' } }] });
    const agent = new LlmAgent({ name: 'a', model: first, subAgents: [payer] });
    const { send } = await talk([[START, agent, upper]]);
    const { id = '', name } = (await send('go')).flatMap(getFunctionCalls).at(-1) ?? {};
    const events = await send(answer(id, { confirmed: true }, name));
    expect(events.flatMap(getFunctionResponses)).toMatchObject([{ response: { result: 'paid' } }]);
    expect(said(events).slice(-2)).toEqual(['payer: "Done."', 'upper: "DONE."']);
  });

  test('has its toolsets closed after the run', async () => {
    let closed = 0;
    class Tools extends BaseToolset {
      override async getTools(): Promise<BaseTool[]> {
        return [pay];
      }
      override async close(): Promise<void> {
        closed++;
      }
    }
    const agent = new LlmAgent({ name: 'a', model: model('Done.'), tools: [new Tools()] });
    const { send } = await talk([[START, node(agent, { name: 'other' })]]);
    await send('go');
    expect(closed).toBe(1);
  });

  test('gives no output with an answer that does not match its outputSchema', async () => {
    const outputSchema = z.object({ n: z.number() });
    const agent = new LlmAgent({ name: 'a', model: model({ text: '{"n":"x"}' }, { text: '{"n":2}' }), outputSchema });
    const { send } = await talk([[START, agent]]);
    expect((await send('go')).map(({ errorCode, output }) => ({ errorCode, output }))).toEqual([
      { errorCode: 'OUTPUT_SCHEMA', output: undefined },
      { errorCode: undefined, output: { n: 2 } },
    ]);
  });

  test('that asks in a run that cannot be resumed gets an error', async () => {
    const bot = model({ calls: [{ id: 'c1', name: 'pay' }] }, 'It cannot be paid.');
    const agent = new Workflow({
      name: 'w',
      edges: [['START', new LlmAgent({ name: 'payer', model: bot, tools: [pay] })]],
    });
    const runner = new CoreRunner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
    await runner.sessionService.createSession(KEY);
    const events = await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'go' }] } });
    expect(JSON.stringify(events)).toContain('which an agent that is a tool can wait in a resumable run only');
  });

  test('sees only its input, and the events of all agents are stored with the path of their node', async () => {
    const bot = model('one', 'two');
    const first = new LlmAgent({ name: 'first', model: bot });
    const second = new LlmAgent({ name: 'second', model: bot });
    const { send, stored } = await talk([['START', first, second]]);
    await send('go');
    expect(bot.requests.map(({ request }) => request.contents)).toEqual([
      [{ role: 'user', parts: [{ text: 'go' }] }],
      [{ role: 'user', parts: [{ text: 'one' }] }],
    ]);
    const paths = (await stored()).flatMap(({ nodeInfo, content }) => (content && nodeInfo ? [nodeInfo.path] : []));
    expect(paths).toEqual(['w.first', 'w.second']);
  });
});

test.each([
  ['a text and an image', [{ text: 'look' }], 'For context: [show] said: look'],
  ['an image only', [], 'For context:'],
])('an agent after a node that shows %s reads the image', async (_title, texts, said) => {
  const inlineData = { mimeType: 'image/png', data: 'aGk=' };
  const show = node(() => ({ role: 'model', parts: [...texts, { inlineData }] }), { name: 'show' });
  const viewer = model({ text: 'seen' });
  const { send } = await talk(
    new Workflow({ name: 'w', edges: [[START, show, new LlmAgent({ name: 'viewer', model: viewer })]] }),
  );
  await send('go');
  const parts = viewer.requests[0]?.request.contents.flatMap((content) => content.parts ?? []) ?? [];
  expect(parts.flatMap(({ text = [] }) => text).join(' ')).toBe(said);
  expect(parts.at(-1)).toEqual({ inlineData });
});

test('an agent after one that answered with an image only reads the image', async () => {
  const inlineData = { mimeType: 'image/png', data: 'aGk=' };
  const viewer = model({ text: 'seen' });
  const edges: EdgeItem[] = [
    [
      START,
      new LlmAgent({ name: 'painter', model: model({ parts: [{ inlineData }] }) }),
      new LlmAgent({ name: 'viewer', model: viewer }),
    ],
  ];
  await (await talk(edges)).send('go');
  expect(viewer.requests[0]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'For context:' }, { inlineData }] },
  ]);
});

test.each([
  ['an agent', (agent: LlmAgent) => agent],
  ['an agent with another name', (agent: LlmAgent) => node(agent, { name: 'other' })],
])('onEventCallback of a plugin gets the event of %s in a workflow once, and no bookkeeping', async (_title, place) => {
  const seen: unknown[] = [];
  class Watcher extends BasePlugin {
    override async onEventCallback({ event }: { event: Event }): Promise<undefined> {
      seen.push([event.author, event.output]);
    }
  }
  const agent = new Workflow({ name: 'w', edges: [[START, place(new LlmAgent({ name: 'a', model: model('one') }))]] });
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [new Watcher('watcher')] });
  await runner.sessionService.createSession(KEY);
  const newMessage = { role: 'user', parts: [{ text: 'go' }] };
  const events = await runner.run({ ...KEY, newMessage });
  expect(said(events)).toEqual(['a: "one"']);
  expect(seen).toEqual([['a', 'one']]);
});

test('an AgentTool of a workflow returns the answer of an agent in its last node', async () => {
  const inner = new LlmAgent({ name: 'inner', model: model({ text: 'the answer' }) });
  const agent = new Workflow({ name: 'w', description: 'Works.', edges: [[START, inner]] });
  const caller = model({ parts: [{ functionCall: { name: 'w', args: { request: 'go' } } }] }, { text: 'done' });
  const { send } = await talk(new LlmAgent({ name: 'root', model: caller, tools: [new AgentTool({ agent })] }));
  const [, response] = await send('go');
  expect(response && getFunctionResponses(response)).toMatchObject([{ response: { result: 'the answer' } }]);
});

describe("an agent with includeContents: 'default' in a workflow", () => {
  const textsOf = (asked: ScriptedModel): string[][] =>
    asked.requests.map(({ request }) =>
      request.contents.map(({ parts = [] }) => parts.map(({ text = '' }) => text).join(' ')),
    );

  test('reads what the agents of other nodes said, in this turn and in earlier ones', async () => {
    const second = model({ text: 'two' }, { text: 'four' });
    const first = new LlmAgent({ name: 'a', model: model({ text: 'one' }, { text: 'three' }) });
    const edges: EdgeItem[] = [[START, first, new LlmAgent({ name: 'b', model: second, includeContents: 'default' })]];
    const { send } = await talk(edges);
    await send('go');
    await send('go on');
    expect(textsOf(second)).toEqual([
      ['go', 'For context: [a] said: one'],
      ['go', 'For context: [a] said: one', 'two', 'go on', 'For context: [a] said: three'],
    ]);
  });

  test('reads what an agent in another isolationScope answered as its input', async () => {
    const first = new LlmAgent({
      name: 'a',
      model: model({ text: 'one' }),
      includeContents: 'default',
      isolationScope: 'inner',
    });
    const second = model({ text: 'two' });
    const edges: EdgeItem[] = [[START, first, new LlmAgent({ name: 'b', model: second, includeContents: 'default' })]];
    await (await talk(edges)).send('go');
    expect(textsOf(second)).toEqual([['go', 'one']]);
  });

  test('reads its input as a message if nobody said it, and only such agents do', async () => {
    const reader = model({ text: 'read' }, { text: 'read again' });
    const b = new LlmAgent({ name: 'b', model: reader, includeContents: 'default' });
    const other = model({ text: 'alone' });
    const c = new LlmAgent({ name: 'c', model: other });
    const dynamicEntry = async (context: NodeContext): Promise<unknown> => {
      await context.runNode(b, { rows: 3 });
      await context.runNode(c, 'your turn');
      return (await context.runNode(b, 'again')).output;
    };
    const { send, stored } = await talk(new Workflow({ name: 'w', dynamicEntry }));
    expect(said(await send('go'))).toEqual(['b: "read"', 'c: "alone"', 'b: "read again"']);
    expect(textsOf(reader)).toEqual([
      ['go', '{"rows":3}'],
      ['go', '{"rows":3}', 'read', 'For context: [c] said: alone', 'again'],
    ]);
    expect(textsOf(other)).toEqual([['your turn']]);
    expect((await stored()).filter(({ author }) => author === 'user')).toHaveLength(1);
  });

  test('reads the conversation beside other nodes too, but not what these say, and all of it after them', async () => {
    const [left, right, last] = [
      model({ text: 'l1' }, { text: 'l2' }),
      model({ text: 'r1' }, { text: 'r2' }),
      model({ text: 'e1' }, { text: 'e2' }),
    ];
    const agentOf = (name: string, asked: ScriptedModel): LlmAgent =>
      new LlmAgent({ name, model: asked, includeContents: 'default' });
    const edges: EdgeItem[] = [
      [START, [agentOf('left', left), agentOf('right', right)], new JoinNode({ name: 'join' }), agentOf('last', last)],
    ];
    const { send } = await talk(edges);
    await send('go');
    await send('go on');
    expect(textsOf(left)[0]).toEqual(['go']);
    expect(textsOf(right)[0]).toEqual(['go']);
    expect(textsOf(left)[1]).toEqual([
      'go',
      'l1',
      '{"left":"l1","right":"r1"}',
      'For context: [last] said: e1',
      'go on',
    ]);
    const [before = []] = textsOf(last);
    expect(before.slice(0, 3).toSorted()).toEqual([
      'For context: [left] said: l1',
      'For context: [right] said: r1',
      'go',
    ]);
    expect(before[3]).toBe('{"left":"l1","right":"r1"}');
  });

  test('reads the result of a node that it calls as a tool, and not the events of the node', async () => {
    const inner = new LlmAgent({ name: 'inner', model: model({ text: 'draft' }) });
    const work = node(async (context: NodeContext) => (await context.runNode(inner, 'write')).output, {
      name: 'work',
      inputSchema: z.object({}),
    });
    const caller = model({ parts: [{ functionCall: { name: 'work', args: {} } }] }, { text: 'done' });
    const agent = new LlmAgent({ name: 'root', model: caller, tools: [work], includeContents: 'default' });
    const { send } = await talk(agent);
    await send('go');
    const [, { request } = expect.unreachable()] = caller.requests;
    expect(request.contents.map(({ role }) => role)).toEqual(['user', 'model', 'user']);
  });
});

describe('a failure', () => {
  const secret = new FunctionNode('secret', () => {
    throw new TypeError('password hunter2');
  });

  test('is thrown unchanged, and its event leaves out the text', async () => {
    const { send, stored } = await talk([['START', secret]]);
    await expect(send('go')).rejects.toThrow(TypeError);
    const failed = (await stored()).filter(({ errorCode }) => errorCode !== undefined);
    expect(failed).toMatchObject([{ author: 'secret', errorCode: 'UNKNOWN_ERROR', nodeInfo: { path: 'w.secret' } }]);
    expect(JSON.stringify(failed)).not.toContain('hunter2');
  });

  test('has the number of attempts in its event', async () => {
    const failing = new FunctionNode(
      'failing',
      () => {
        throw new TypeError('no');
      },
      { retryConfig: { maxAttempts: 3, initialDelay: 0 } },
    );
    const { send, stored } = await talk([['START', failing]]);
    await expect(send('go')).rejects.toThrow(TypeError);
    expect((await stored()).filter(isNodeErrorEvent).map(({ attemptCount }) => attemptCount)).toEqual([3]);
  });

  test('of a node that another node runs does not have its text in an event either', async () => {
    const outer = node((context: NodeContext) => context.runNode(secret), { name: 'outer' });
    const { send, stored } = await talk([['START', outer]]);
    await expect(send('go')).rejects.toMatchObject({ code: 'ADK_DYNAMIC_NODE', error: expect.any(TypeError) });
    expect(JSON.stringify(await stored())).not.toContain('hunter2');
  });

  test('stops the other nodes', async () => {
    const signals: AbortSignal[] = [];
    const waits = node(
      (context: NodeContext) => {
        signals.push(context.abortSignal);
        return new Promise(() => {});
      },
      { name: 'waits' },
    );
    const { send } = await talk([['START', [waits, secret]]]);
    await expect(send('go')).rejects.toThrow(TypeError);
    expect(signals[0]?.aborted).toBe(true);
  });
});

test.each([
  ['a text', 'fine'],
  ['a response', answer('q', { result: 'fine' })],
])('a node that completed without an output does not run again when %s answers a question', async (_title, reply) => {
  let runs = 0;
  const charge = node(
    function* () {
      runs += 1;
      yield createEvent({ actions: { stateDelta: { charged: true } } });
    },
    { name: 'charge' },
  );
  const silent = node(() => void (runs += 1), { name: 'silent' });
  const ask = node(() => new RequestInput({ interruptId: 'q' }), { name: 'ask' });
  const { send } = await talk([['START', charge, silent, ask, upper]]);
  await send('go');
  expect(said(await send(reply))).toEqual(['upper: "FINE"']);
  expect(runs).toBe(2);
});

test('a workflow that starts again also runs its nodes without an output again', async () => {
  let runs = 0;
  const silent = node(() => void (runs += 1), { name: 'silent' });
  const ask = node(() => new RequestInput({ interruptId: 'q' }), { name: 'ask' });
  const { send } = await talk([['START', silent, ask, upper]]);
  await send('go');
  await send('fine');
  await send('go again');
  expect(runs).toBe(2);
});

describe('a question of a node that an agent calls as a tool', () => {
  const approve = node(
    ({ resumeInputs }: NodeContext, { sum }: { sum: number }) =>
      resumeInputs['ok'] === undefined
        ? new RequestInput({ interruptId: 'ok', message: `Pay ${sum}?` })
        : `${JSON.stringify(resumeInputs['ok'])} to ${sum}`,
    { name: 'approve', inputSchema: z.object({ sum: z.number() }), rerunOnResume: true },
  );
  const call = { calls: [{ id: 'c1', name: 'approve', args: { sum: 5 } }] };
  const responses = (events: readonly Event[]): unknown[] =>
    events.flatMap(({ content }) => content?.parts?.flatMap((part) => part.functionResponse?.response ?? []) ?? []);

  test.each([
    ['a text', 'yes'],
    ['a response', answer('ok', { result: 'yes' })],
  ])('pauses the run until %s answers it', async (_title, reply) => {
    const { send } = await talk(new LlmAgent({ name: 'payer', model: model(call, 'Paid.'), tools: [approve] }));
    expect(getFunctionCalls((await send('pay')).at(-1) as Event)).toMatchObject([{ id: 'ok' }]);
    const events = await send(reply);
    expect(responses(events)).toEqual([{ result: '"yes" to 5' }]);
    expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Paid.' }]);
  });

  test('is not answered by a text once another run has followed, or while another question is open', async () => {
    const payer = new LlmAgent({ name: 'payer', model: model(call, 'Why?', 'Hm.'), tools: [approve] });
    const first = await talk(payer);
    await first.send('pay');
    await first.send({ inlineData: { mimeType: 'image/png', data: 'AAAA' } });
    expect(responses(await first.send('yes'))).toEqual([]);
    const asked = node(({ resumeInputs }: NodeContext) => resumeInputs['b'] ?? new RequestInput({ interruptId: 'b' }), {
      name: 'asked',
      inputSchema: z.object({}),
      rerunOnResume: true,
    });
    const both = { calls: [...call.calls, { id: 'c2', name: 'asked', args: {} }] };
    const agent = new LlmAgent({ name: 'payer', model: model(both, 'Which?'), tools: [approve, asked] });
    const second = await talk(agent);
    await second.send('pay');
    expect(responses(await second.send('yes'))).toEqual([]);
  });

  test('fails the call in a run that cannot wait, and is not asked', async () => {
    const agent = new LlmAgent({ name: 'payer', model: model(call, 'Not paid.'), tools: [approve] });
    const runner = new InMemoryRunner({ agent, appName: 'app', resumable: false });
    await runner.sessionService.createSession(KEY);
    const newMessage = { role: 'user', parts: [{ text: 'pay' }] };
    const events = await runner.run({ userId: 'u', sessionId: 's', newMessage });
    expect(responses(events)).toEqual([{ error: expect.stringContaining('write resumable: true') }]);
    expect(events.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual(['approve']);
  });
});

test('a tool node calls its tool once, also when the run is continued', async () => {
  let calls = 0;
  const count = new FunctionTool({ name: 'count', description: '', execute: () => ({ calls: ++calls }) });
  const ask = node(() => new RequestInput({ interruptId: 'q' }), { name: 'ask' });
  const args = node(() => ({}), { name: 'args' });
  const { send } = await talk([['START', args, count, ask]]);
  expect((await send('go')).find(({ author }) => author === 'count')?.output).toEqual({ calls: 1 });
  await send(answer('q', { result: 'x' }));
  expect(calls).toBe(1);
});

test('a tool node whose tool needs a confirmation waits for it', async () => {
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: () => ({ paid: true }),
  });
  const args = node(() => ({}), { name: 'args' });
  const { send } = await talk([['START', args, pay]]);
  const [call] = (await send('go')).flatMap(getFunctionCalls);
  expect(call?.name).toBe('adk_request_confirmation');
  const events = await send(answer(call?.id ?? '', { confirmed: true }, 'adk_request_confirmation'));
  expect(events.at(-1)?.output).toEqual({ paid: true });
});

test('a function with authConfig asks for the credential once, and no event contains it', async () => {
  const authConfig = {
    authScheme: { type: 'apiKey' },
    credentialKey: 'weather',
    rawAuthCredential: { authType: 'apiKey' },
  };
  const read = node(
    (context: NodeContext) => new AuthHandler(authConfig).getAuthResponse(context.state)?.apiKey?.length,
    {
      name: 'read',
      authConfig,
      rerunOnResume: true,
    },
  );
  const { send, stored } = await talk([['START', read]]);
  const [call] = (await send('go')).flatMap(getFunctionCalls);
  expect(call).toMatchObject({ name: 'adk_request_credential', id: 'weather', args: { functionCallId: 'weather' } });
  const given = answer('weather', { authType: 'apiKey', apiKey: 'hunter2' }, 'adk_request_credential');
  expect((await send(given)).at(-1)?.output).toBe(7);
  expect((await send('again')).at(-1)?.output).toBe(7);
  expect(JSON.stringify(await stored())).not.toContain('hunter2');
});

test('a workflow whose process was lost continues after the completed nodes, and its agents continue where they were', async () => {
  const runs: string[] = [];
  const controller = new AbortController();
  const look = new FunctionTool({ name: 'look', description: '', execute: () => runs.push('look') });
  const bot = model({ calls: [{ id: 'c1', name: 'look' }] }, 'seen');
  const seer = new LlmAgent({
    name: 'seer',
    model: bot,
    tools: [look],
    beforeModelCallback: () => {
      if (runs.length < 2 || controller.signal.aborted) return undefined;
      controller.abort(new ShuttingDownError('bye'));
      return undefined;
    },
  });
  const first = node(() => void runs.push('first'), { name: 'first' });
  const { runner } = await talk([['START', first, seer, upper]]);
  const key = { userId: 'u', sessionId: 's' };
  const run = runner.runAsync({ ...key, newMessage: { parts: [{ text: 'go' }] }, abortSignal: controller.signal });
  const { invocationId } = run;
  for await (const _ of run);
  expect(await runner.listOpenRuns()).toMatchObject({ runs: [{ invocationId }] });
  expect(said(await runner.run({ ...key, invocationId })).slice(-2)).toEqual(['seer: "seen"', 'upper: "SEEN"']);
  expect(runs).toEqual(['first', 'look']);
  bot.assertConsumed();
});

test.each([
  ['plain', FunctionTool],
  ['long-running', LongRunningFunctionTool],
] as const)(
  'a workflow whose process was lost in a %s tool of an agent stores and yields that the call was interrupted',
  async (_kind, Tool) => {
    const controller = new AbortController();
    const execute = (): Promise<never> => {
      controller.abort(new ShuttingDownError('bye'));
      return new Promise(() => {});
    };
    const pay = new Tool({ name: 'pay', description: '', execute });
    const bot = model({ calls: [{ id: 'c1', name: 'pay' }] }, 'sorry');
    const payer = new LlmAgent({ name: 'payer', model: bot, tools: [pay] });
    const { runner, stored } = await talk([['START', payer, upper]]);
    const key = { userId: 'u', sessionId: 's' };
    const run = runner.runAsync({ ...key, newMessage: { parts: [{ text: 'go' }] }, abortSignal: controller.signal });
    for await (const _ of run);
    const events = await runner.run({ ...key, invocationId: run.invocationId });
    const interrupted = [{ id: 'c1', name: 'pay', response: { error: 'interrupted' } }];
    expect(events.flatMap(getFunctionResponses)).toMatchObject(interrupted);
    expect((await stored()).flatMap(getFunctionResponses)).toMatchObject(interrupted);
    expect(said(events).at(-1)).toBe('upper: "SORRY"');
  },
);

/**
 * Runs a workflow in which an agent is called twice, loses its process in the tool call of the second time, and resumes the run.
 * @param edgesOf the edges of the workflow around the agent
 * @returns the events of the resumed run
 */
async function loseSecondCall(includeContents: 'none' | 'default', edgesOf: (worker: LlmAgent) => EdgeItem[]) {
  const controller = new AbortController();
  let calls = 0;
  const execute = (): string | Promise<never> => {
    if (++calls === 1) return 'done';
    controller.abort(new ShuttingDownError('bye'));
    return new Promise(() => {});
  };
  const work = new FunctionTool({ name: 'work', description: '', execute });
  const call = (id: string) => ({ calls: [{ id, name: 'work' }] });
  const steps = model(call('c1'), 'one', call('c2'), 'two');
  const worker = new LlmAgent({ name: 'worker', model: steps, tools: [work], includeContents });
  const { runner } = await talk(new Workflow({ name: 'w', edges: edgesOf(worker) }));
  const key = { userId: 'u', sessionId: 's' };
  const run = runner.runAsync({ ...key, newMessage: { parts: [{ text: 'go' }] }, abortSignal: controller.signal });
  for await (const _ of run);
  const events = await runner.run({ ...key, invocationId: run.invocationId });
  steps.assertConsumed();
  return events;
}

test.each(['none', 'default'] as const)(
  'a loop of a workflow whose process was lost in its second round continues there, with includeContents: %s',
  async (includeContents) => {
    const check = node((_: NodeContext, text: string) => createEvent({ output: text, route: text }), { name: 'check' });
    const events = await loseSecondCall(includeContents, (worker) => [
      ['START', worker, check],
      [check, { one: worker, two: upper }],
    ]);
    expect(events.flatMap(getFunctionResponses)).toMatchObject([{ id: 'c2', response: { error: 'interrupted' } }]);
    const outputs = events.flatMap(({ author, output }) =>
      output === undefined ? [] : [`${author}: ${JSON.stringify(output)}`],
    );
    expect(outputs).toEqual(['worker: "two"', 'check: "two"', 'upper: "TWO"']);
    expect(events.filter(({ author }) => author === 'check')).toHaveLength(1);
  },
);

/** Workflows in which a node runs the worker with `runNode`, twice, in different ways. */
const LOOPS: Record<string, (worker: LlmAgent) => EdgeItem[]> = {
  'by one run of a node': (worker) => {
    const rounds = async (context: NodeContext) => {
      const outputs = [];
      for (const input of ['a', 'b']) outputs.push((await context.runNode(worker, input)).output);
      return outputs.join();
    };
    return [['START', node(rounds, { name: 'rounds', rerunOnResume: true }), upper]];
  },
  'by two runs of a node': (worker) => {
    const round = async (context: NodeContext, text: string) => {
      const { output } = await context.runNode(worker, text);
      return createEvent({ output, route: output as string });
    };
    const rounds = node(round, { name: 'round', rerunOnResume: true });
    return [
      ['START', rounds],
      [rounds, { one: rounds, two: upper }],
    ];
  },
  'by a node that a node runs': (worker) => {
    const inner = node(async (context: NodeContext, text: string) => (await context.runNode(worker, text)).output, {
      name: 'inner',
      rerunOnResume: true,
    });
    const rounds = async (context: NodeContext, text: string) => {
      const { output: first } = await context.runNode(inner, text);
      return `${first as string},${(await context.runNode(inner, first)).output as string}`;
    };
    return [['START', node(rounds, { name: 'outer', rerunOnResume: true }), upper]];
  },
};

describe.each(Object.keys(LOOPS))('an agent that is run %s', (name) => {
  test.each(['none', 'default'] as const)(
    'continues in its second run if its process was lost there, with includeContents: %s',
    async (includeContents) => {
      const events = await loseSecondCall(includeContents, (worker) => LOOPS[name]?.(worker) ?? []);
      expect(events.flatMap(getFunctionResponses)).toMatchObject([{ id: 'c2', response: { error: 'interrupted' } }]);
      expect(events.filter(({ author, output }) => author === 'worker' && output !== undefined)).toMatchObject([
        { output: 'two' },
      ]);
      expect(said(events).at(-1)).toMatch(/upper: "(ONE,)?TWO"/);
    },
  );
});

/** A session service that shuts the run down as soon as a finished tool call is recorded. */
class StoppingService extends InMemorySessionService {
  readonly controller = new AbortController();

  override recordToolCall(...[lease, entry]: Parameters<InMemorySessionService['recordToolCall']>) {
    const recorded = super.recordToolCall(lease, entry);
    if (entry.status === 'finished') this.controller.abort(new ShuttingDownError('bye'));
    return recorded;
  }
}

test('a tool node whose process was lost after its tool finished keeps the state changes and the question of the tool', async () => {
  const runs: unknown[] = [];
  const execute = (_: unknown, context: ToolContext): string => {
    context.state.set('seen', true);
    if (!context.toolConfirmation) context.requestConfirmation({ hint: 'Sure?' });
    runs.push(context.toolConfirmation?.confirmed);
    return 'done';
  };
  const tool = new FunctionTool({ name: 'look', description: '', execute });
  const service = new StoppingService();
  const { runner, stored } = await talk([['START', node(tool)]], { sessionService: service });
  const key = { userId: 'u', sessionId: 's' };
  const run = runner.runAsync({
    ...key,
    newMessage: { parts: [{ text: '{}' }] },
    abortSignal: service.controller.signal,
  });
  for await (const _ of run);
  const events = await runner.run({ ...key, invocationId: run.invocationId });
  expect(events.flatMap(getFunctionCalls)).toMatchObject([{ name: 'adk_request_confirmation' }]);
  expect((await service.getSession(KEY))?.state).toEqual({ seen: true });
  const [question] = (await stored()).flatMap(getFunctionCalls);
  const last = await runner.run({
    ...key,
    newMessage: { parts: [answer(question?.id ?? '', { confirmed: true }, 'adk_request_confirmation')] },
  });
  expect(last.at(-1)?.output).toEqual({ result: 'done' });
  expect(runs).toEqual([undefined, true]);
});

const circular: Record<string, unknown> = {};
circular['self'] = circular;

test.each<[title: string, work: (context: NodeContext) => unknown, message: string]>([
  [
    'a context',
    (context) => context.runNode(upper, 'a'),
    'node "host" returned a context; return (await context.runNode(…)).output',
  ],
  ['a circular object', () => circular, 'node "host": returned an output that has no JSON (Converting circular'],
  ['a list with NaN', () => [1, Number.NaN], 'node "host": output.1 is NaN, which JSON cannot represent; return plain'],
  [
    'an event with a map',
    () => createEvent({ output: { counts: new Map([['a', 1]]) } }),
    'node "host": output.counts is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map)); return plain',
  ],
])('a node whose output is %s fails and says what to return', async (_title, work, message) => {
  const host = node(work, { name: 'host', rerunOnResume: true });
  const { send } = await talk([['START', host]]);
  await expect(send('go')).rejects.toThrow(message);
});

test('a node whose output has undefined in it stores the JSON of the output', async () => {
  const host = node(() => ['a', undefined, { b: undefined }], { name: 'host' });
  const next = node((_: NodeContext, list: unknown[]) => list.length, { name: 'next' });
  const { send } = await talk([['START', host, next]]);
  expect((await send('go')).map(({ author, output }) => [author, output])).toEqual([
    ['host', ['a', null, {}]],
    ['next', 3],
  ]);
});

test('maxConcurrency limits the nodes that run at the same time', async () => {
  let running = 0;
  let most = 0;
  const work = (name: string) =>
    node(
      async () => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
        return name;
      },
      { name },
    );
  const all = [work('a'), work('b'), work('c')];
  const edges: EdgeItem[] = [['START', all, new JoinNode({ name: 'join' })]];
  const { send } = await talk(new Workflow({ name: 'w', edges, maxConcurrency: 2 }));
  expect((await send('go')).at(-1)?.output).toEqual({ a: 'a', b: 'b', c: 'c' });
  expect(most).toBe(2);
});

test('state that the schema does not declare is refused', async () => {
  const write = node((context: NodeContext) => context.state.set('other', 1), {
    name: 'write',
    stateSchema: z.object({ count: z.number() }),
  });
  const { send } = await talk([['START', write]]);
  await expect(send('go')).rejects.toMatchObject({ code: 'ADK_STATE_SCHEMA' });
});

test('a node that a model calls as a tool asks a person, and the model gets its output', async () => {
  const ask = node(
    function* (context: NodeContext, { tier }: { tier: string }) {
      if (context.resumeInputs['sure'] === undefined) yield new RequestInput({ interruptId: 'sure' });
      else yield `${tier}: ${context.resumeInputs['sure'] as string}`;
    },
    { name: 'ask', inputSchema: z.object({ tier: z.string() }), rerunOnResume: true },
  );
  const bot = model({ calls: [{ id: 'c1', name: 'ask', args: { tier: 'gold' } }] }, 'Thanks.');
  const agent = new LlmAgent({ name: 'bot', model: bot, tools: [ask] });
  const runner = new InMemoryRunner({ agent, appName: 'app', resumable: true });
  await runner.sessionService.createSession(KEY);
  const run = (part: Part) => runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [part] } });
  await run({ text: 'go' });
  const events = await run(answer('sure', { result: 'yes' }));
  const responses = events.flatMap(
    ({ content }) => content?.parts?.flatMap((part) => part.functionResponse ?? []) ?? [],
  );
  expect(responses).toMatchObject([{ id: 'c1', response: { result: 'gold: yes' } }]);
  expect(events.some(({ content }) => content?.parts?.[0]?.text === 'Thanks.')).toBe(true);
});

test.each<[string, () => unknown, string]>([
  [
    'edges and an entry are missing',
    () => new Workflow({ name: 'w' }),
    "edges are missing; write edges: [['START', first]]",
  ],
  [
    'two nodes have one name',
    () => new Workflow({ name: 'w', edges: [['START', upper, node(() => 1, { name: 'upper' })]] }),
    'two nodes have the name "upper"',
  ],
  [
    'a node is not reached',
    () =>
      new Workflow({
        name: 'w',
        edges: [
          ['START', upper],
          new Edge(
            upper2,
            node(() => 1, { name: 'x' }),
          ),
        ],
      }),
    'no edge leads from START to the node "upper2"',
  ],
  [
    'a cycle has no route',
    () => new Workflow({ name: 'w', edges: [['START', upper, upper2, upper]] }),
    'cycle without a route',
  ],
  [
    'an edge leads to START',
    () =>
      new Workflow({
        name: 'w',
        edges: [
          ['START', upper],
          [upper, START],
        ],
      }),
    'to START, where no edge can lead; remove it',
  ],
  [
    'two edges are equal',
    () =>
      new Workflow({
        name: 'w',
        edges: [
          ['START', upper],
          ['START', upper],
        ],
      }),
    'there are two equal edges',
  ],
  [
    'an edge is not a node',
    () => new Workflow({ name: 'w', edges: [['START', 7 as never]] }),
    "expected a node, an agent, a tool, a function or 'START'",
  ],
  [
    'routes are empty',
    () =>
      new Workflow({
        name: 'w',
        edges: [
          ['START', upper],
          [upper, {}],
        ],
      }),
    'routes are empty',
  ],
  [
    'a function has no name',
    () =>
      node(
        (
          () => () =>
            1
        )(),
      ),
    "write node(work, { name: 'work' })",
  ],
  [
    'a node has a negative time limit',
    () => node(upper, { timeout: -1 }),
    'timeout: expected a number of seconds above 0, at most 24 days, got the number -1; write timeout: 30',
  ],
  [
    'a retry is not a number',
    () => node(upper, { retryConfig: { maxAttempts: NaN } }),
    'retryConfig: maxAttempts: expected a number of at least 0',
  ],
  ['a tool node has no input schema', () => new NodeTool(upper), 'has no inputSchema'],
  ['the root is not a node', () => new InMemoryRunner({ agent: 7 as never }), 'agent: expected an agent, a workflow'],
])('a mistake is named when %s', (_title, make, message) => {
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(message) }));
});

test('the events of a node that is a tool are on a branch with the name of the tool', async () => {
  const discount = node(() => 20, { name: 'discount', inputSchema: z.object({ tier: z.string() }) });
  const call = { calls: [{ id: 'c1', name: 'find_discount', args: { tier: 'gold' } }] };
  const tools = [new NodeTool(discount, 'find_discount')];
  const { send } = await talk(new LlmAgent({ name: 'shop', model: model(call, { text: '20 %' }), tools }));
  const events = await send('My discount?');
  expect(events.find(({ author }) => author === 'discount')?.branch).toBe('find_discount@c1');
});

describe('an agent in a node whose model fails', () => {
  const failure = (): ModelError => new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' });
  const read = async (agent: Workflow, runConfig?: RunConfig): Promise<{ codes: unknown[]; thrown: unknown }> => {
    const runner = new InMemoryRunner({ agent, appName: 'app' });
    await runner.sessionService.createSession(KEY);
    const codes: unknown[] = [];
    const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
    try {
      for await (const { author, errorCode, output } of runner.runAsync({ ...KEY, newMessage, runConfig }))
        codes.push([author, errorCode ?? output]);
      return { codes, thrown: undefined };
    } catch (thrown) {
      return { codes, thrown };
    }
  };

  test('yields one error event, and throws a NodeReportedError', async () => {
    const agent = new LlmAgent({ name: 'one', model: new ScriptedModel([failure()]) });
    const { codes, thrown } = await read(new Workflow({ name: 'w', edges: [[START, agent]] }));
    expect(codes).toEqual([['one', 'UNAVAILABLE']]);
    expect(isNodeReportedError(thrown)).toBe(true);
    expect(thrown).toMatchObject({ nodeName: 'one', errorCode: 'UNAVAILABLE', cause: { code: 'MODEL' } });
  });

  test('throws a NodeReportedError after the error event of the limit of model calls', async () => {
    const agent = new LlmAgent({ name: 'one', model: model({ text: '1' }) });
    const other = new LlmAgent({ name: 'two', model: model({ text: '2' }) });
    const runConfig = { maxLlmCalls: 1 };
    const { codes, thrown } = await read(new Workflow({ name: 'w', edges: [[START, agent, other]] }), runConfig);
    expect(codes).toEqual([
      ['one', '1'],
      ['two', 'LLM_CALL_LIMIT'],
    ]);
    expect(isNodeReportedError(thrown)).toBe(true);
    expect(thrown).toMatchObject({ nodeName: 'two', errorCode: 'LLM_CALL_LIMIT', cause: { code: 'LLM_CALL_LIMIT' } });
  });

  test('is retried if exceptions name NodeReportedError', async () => {
    const agent = new LlmAgent({ name: 'one', model: new ScriptedModel([failure(), 'Hello.']) });
    const retryConfig = { maxAttempts: 2, initialDelay: 0, exceptions: ['NodeReportedError'] };
    const { codes, thrown } = await read(new Workflow({ name: 'w', edges: [[START, node(agent, { retryConfig })]] }));
    expect(thrown).toBeUndefined();
    expect(codes).toEqual([
      ['one', 'UNAVAILABLE'],
      ['one', 'Hello.'],
    ]);
  });

  test('throws the error itself if it is not one of the service', async () => {
    const agent = new LlmAgent({ name: 'one', model: new ScriptedModel([new TypeError('the password is 1234')]) });
    const { thrown } = await read(new Workflow({ name: 'w', edges: [[START, agent]] }));
    expect(isNodeReportedError(thrown)).toBe(false);
    expect(thrown).toMatchObject({ message: expect.stringContaining('the password is 1234') });
  });
});
