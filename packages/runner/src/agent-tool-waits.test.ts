import {
  BaseAgent,
  BaseLlm,
  BaseToolset,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, type AgentToolConfig, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { CustomAgent, textEvent } from './fixtures/custom-agent.ts';
import { restarting } from './fixtures/restarted-run.ts';
import { saying, scenario, scripted } from './fixtures/scenario.ts';
import { dying } from './stored-runs/fixtures/dying-service.ts';

async function setUp() {
  const { run, stored } = await restarting({ resumable: true });
  const paid: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (args) => {
      paid.push(args);
      return { paid: args };
    },
  });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const agentOf = (name: string, steps: readonly ScriptedStep[], config: object = {}) =>
    scripted(name, steps, { tools: [pay, wait], ...config });
  return { run, stored, agentOf, paid };
}

const PAY = { calls: [{ id: 'c1', name: 'pay', args: { n: 1 } }] } satisfies ScriptedStep;
const WAIT = { calls: [{ id: 'c1', name: 'wait' }] } satisfies ScriptedStep;

const TRANSFER = {
  calls: [{ id: 't1', name: 'transfer_to_agent', args: { agentName: 'helper' } }],
} satisfies ScriptedStep;
/** A toolset without tools: with one, the tree does not say which agents it has as tools. */
class NoTools extends BaseToolset {
  override getTools(): Promise<[]> {
    return Promise.resolve([]);
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

type Agents = Awaited<ReturnType<typeof setUp>>['agentOf'];

/** Returns a reply that calls agents of these names; ids are unique only among the calls of one reply. */
const ask = (...names: string[]): ScriptedStep => ({
  calls: names.map((name, index) => ({ id: `c${index + 1}`, name, args: { request: 'x' } })),
});

const toolOf = (agent: BaseAgent, config: Partial<AgentToolConfig> = {}) => ({
  tools: [new AgentTool({ agent, ...config })],
});

const questions = (events: readonly Event[]) =>
  events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');

const responses = (events: readonly Event[]) =>
  events.flatMap(getFunctionResponses).map(({ name, response }) => [name, response]);

function answer(events: readonly Event[], id = questions(events)[0]?.id ?? '', response: object = { confirmed: true }) {
  const invocationId = events[0]?.invocationId ?? '';
  return { invocationId, newMessage: { parts: [{ functionResponse: { id, response: { ...response } } }] } };
}

test.each([
  ['pay', false],
  ['wait', false],
  ['pay', true],
  ['wait', true],
])(
  'a call of %s that waits is cancelled when an agent beside it fails (inside another tool: %j)',
  async (name, isDeep) => {
    const { run, stored, agentOf, paid } = await setUp();
    const leadWith = () => {
      const asks = agentOf('asks', [{ calls: [{ id: 'c9', name }] }, 'never']);
      const fails = new CustomAgent('fails', async function* (context) {
        while (!(await stored()).some(({ longRunningToolIds }) => longRunningToolIds))
          yield textEvent(context, 'not yet');
        // The agents around the call pause meanwhile.
        for (let turn = 0; turn < 20; turn++) yield textEvent(context, 'not yet');
        throw new TypeError('broken');
      });
      const asking = isDeep ? agentOf('mid', [ask('asks'), 'never'], toolOf(asks)) : asks;
      const both = new ParallelAgent({ name: 'both', subAgents: [asking, fails] });
      return agentOf('lead', [ask('both'), 'done', 'again'], toolOf(both));
    };
    const events = await run(leadWith());
    const asked = events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
    const cancelled = events
      .flatMap(getFunctionResponses)
      .filter(({ response }) => response?.['error'] === 'cancelled');
    expect(cancelled.map(({ id }) => id)).toEqual(asked);
    expect(responses(events).slice(asked.length)).toEqual([['both', { error: 'broken' }]]);
    expect((await stored()).at(-1)?.object).toBe('runner.end');
    expect(new Calls(await stored()).waiting).toEqual([]);
    const id = events.findLast(({ longRunningToolIds }) => longRunningToolIds)?.longRunningToolIds?.[0];
    const { newMessage } = answer(events, id);
    await expect(run(leadWith(), { newMessage })).rejects.toThrow('was cancelled with its run or its agent');
    expect(paid).toEqual([]);
  },
);

describe('an AgentTool in a resumable run', () => {
  test.each([false, true])(
    'requests a confirmation and continues with the answer (streamInner %s)',
    async (streamInner) => {
      const { run, agentOf, paid, stored } = await setUp();
      const tree = (lead: ScriptedStep[], helper: ScriptedStep[], last: ScriptedStep[]) =>
        new SequentialAgent({
          name: 'flow',
          subAgents: [agentOf('lead', lead, toolOf(agentOf('helper', helper), { streamInner })), agentOf('last', last)],
        });
      const first = await run(tree([ask('helper')], [PAY], []), saying());
      expect(questions(first)).toHaveLength(1);
      expect(responses(first).filter(([name]) => name === 'helper')).toEqual([]);
      const rest = await run(tree(['done'], ['It is paid.'], ['the end']), answer(first));
      expect(paid).toEqual([{ n: 1 }]);
      expect(responses(rest)).toContainEqual(['helper', { result: 'It is paid.' }]);
      expect(textsOf(rest).slice(-2)).toEqual(['done', 'the end']);
      const reply = (await stored()).find(
        ({ author, content }) => author === 'user' && content?.parts?.[0]?.functionResponse,
      );
      expect(reply?.branch).toBe('helper@c1');
    },
  );

  test('continues if the answer does not name the run', async () => {
    const { run, agentOf } = await setUp();
    const first = await run(agentOf('lead', [ask('helper')], toolOf(agentOf('helper', [PAY]))), saying());
    const { newMessage } = answer(first);
    const rest = await run(agentOf('lead', ['done'], toolOf(agentOf('helper', ['It is paid.']))), { newMessage });
    expect(responses(rest)).toContainEqual(['helper', { result: 'It is paid.' }]);
    expect(textsOf(rest)).toContain('done');
  });

  test('answers its caller if the person refuses', async () => {
    const { run, agentOf, paid } = await setUp();
    const first = await run(agentOf('lead', [ask('helper')], toolOf(agentOf('helper', [PAY]))), saying());
    const rest = await run(
      agentOf('lead', ['done'], toolOf(agentOf('helper', ['Not paid.']))),
      answer(first, undefined, { confirmed: false }),
    );
    expect(paid).toEqual([]);
    expect(responses(rest)).toContainEqual(['helper', { result: 'Not paid.' }]);
  });

  test('waits for the result of a long-running call', async () => {
    const { run, agentOf } = await setUp();
    const first = await run(agentOf('lead', [ask('helper')], toolOf(agentOf('helper', [WAIT]))), saying());
    const rest = await run(
      agentOf('lead', ['done'], toolOf(agentOf('helper', ['It is there.']))),
      answer(first, 'c1', { ready: true }),
    );
    expect(responses(rest)).toContainEqual(['helper', { result: 'It is there.' }]);
    expect(textsOf(rest)).toContain('done');
  });

  test('repeats all changes in its response, including those from before it waited', async () => {
    const { run, agentOf } = await setUp();
    const note = new FunctionTool({ name: 'note', description: '', execute: (_, { state }) => state.set('noted', 1) });
    const config = {
      tools: [note, new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined })],
    };
    const asking = agentOf('helper', [{ calls: [{ name: 'note' }] }, WAIT], config);
    const first = await run(agentOf('lead', [ask('helper')], toolOf(asking)), saying());
    const helper = agentOf('helper', ['It is there.'], { ...config, outputKey: 'found' });
    const rest = await run(agentOf('lead', ['done'], toolOf(helper)), answer(first, 'c1', {}));
    const responded = rest.find((event) => responses([event]).length > 0);
    expect(responded?.actions.stateDelta).toEqual({ noted: 1, found: 'It is there.' });
  });

  test('keeps waiting if the run is resumed without the answer', async () => {
    const { run, agentOf } = await setUp();
    const tree = () => agentOf('lead', [], toolOf(agentOf('helper', [])));
    const first = await run(agentOf('lead', [ask('helper')], toolOf(agentOf('helper', [PAY]))), saying());
    const again = await run(tree(), { invocationId: first[0]?.invocationId });
    expect(responses(again)).toEqual([]);
    const rest = await run(agentOf('lead', ['done'], toolOf(agentOf('helper', ['ok']))), answer(first));
    expect(textsOf(rest)).toContain('done');
  });

  test('beside others continues with its own answer, and the caller with all', async () => {
    const { run, agentOf, paid } = await setUp();
    const tree = (lead: ScriptedStep[], one: ScriptedStep[], two: ScriptedStep[]) =>
      agentOf('lead', lead, {
        tools: [
          new AgentTool({ agent: agentOf('one', one) }),
          new AgentTool({ agent: agentOf('two', two) }),
          new AgentTool({ agent: agentOf('three', ['three is done']) }),
        ],
      });
    const first = await run(tree([ask('one', 'two', 'three')], [PAY], [PAY]), saying());
    const [one, two] = questions(first);
    expect(responses(first)).toContainEqual(['three', { result: 'three is done' }]);
    const second = await run(tree([], [], ['two is done']), answer(first, two?.id));
    expect(responses(second).filter(([name]) => name !== 'pay')).toEqual([['two', { result: 'two is done' }]]);
    const third = await run(tree(['all done'], ['one is done'], []), answer(first, one?.id));
    expect(responses(third).filter(([name]) => name !== 'pay')).toEqual([['one', { result: 'one is done' }]]);
    expect(textsOf(third)).toContain('all done');
    expect(paid).toHaveLength(2);
  });

  test('may be nested in agents, sequences and parallel branches', async () => {
    const { run, agentOf, paid } = await setUp();
    const tree = (lead: ScriptedStep[], middle: ScriptedStep[], deep: ScriptedStep[]) => {
      const inner = new SequentialAgent({ name: 'steps', subAgents: [agentOf('deep', deep)] });
      const around = new ParallelAgent({ name: 'par', subAgents: [agentOf('middle', middle, toolOf(inner))] });
      return agentOf('lead', lead, toolOf(around));
    };
    const first = await run(tree([ask('par')], [ask('steps')], [PAY]), saying());
    expect(questions(first)).toHaveLength(1);
    const rest = await run(tree(['done'], ['middle is done'], ['deep is done']), answer(first));
    expect(paid).toHaveLength(1);
    expect(responses(rest)).toContainEqual(['par', { result: 'middle is done' }]);
    expect(textsOf(rest)).toContain('done');
  });

  test('may need a confirmation itself and then request another', async () => {
    const { run, agentOf, paid } = await setUp();
    const tree = (lead: ScriptedStep[], helper: ScriptedStep[]) =>
      agentOf('lead', lead, toolOf(agentOf('helper', helper), { requireConfirmation: true }));
    const first = await run(tree([ask('helper')], []), saying());
    const second = await run(tree([], [PAY]), answer(first));
    expect(questions(second)).toHaveLength(1);
    const third = await run(tree(['done'], ['It is paid.']), answer(second));
    expect(paid).toHaveLength(1);
    expect(responses(third)).toContainEqual(['helper', { result: 'It is paid.' }]);
    expect(textsOf(third)).toContain('done');
  });

  test.each<[string, (agentOf: Agents, helper: BaseAgent, calls: boolean) => BaseAgent]>([
    ['called', (agentOf, helper, calls) => agentOf('lead', [calls ? ask('helper') : 'done'], toolOf(helper))],
    [
      'called within another one',
      (agentOf, helper, calls) => {
        const desk = agentOf('desk', [calls ? ask('helper') : 'done'], toolOf(helper));
        return agentOf('lead', [calls ? ask('desk') : 'done'], toolOf(desk));
      },
    ],
    ['transferred to', (agentOf, helper) => agentOf('lead', [TRANSFER], { subAgents: [helper] })],
    ['run in a sequence', (_, helper) => new SequentialAgent({ name: 'lead', subAgents: [helper] })],
    ['run in parallel', (_, helper) => new ParallelAgent({ name: 'lead', subAgents: [helper] })],
    [
      'called within another one, beside a toolset',
      (agentOf, helper, calls) => {
        const desk = agentOf('desk', [calls ? ask('helper') : 'done'], {
          tools: [new AgentTool({ agent: helper }), new NoTools()],
        });
        return agentOf('lead', [calls ? ask('desk') : 'done'], toolOf(desk));
      },
    ],
    ['run in a loop', (_, helper) => new LoopAgent({ name: 'lead', maxIterations: 1, subAgents: [helper] })],
  ])('refuses an answer for an agent that was %s and renamed, and stores nothing', async (_, treeOf) => {
    const { run, agentOf, paid, stored } = await setUp();
    const first = await run(treeOf(agentOf, agentOf('helper', [PAY]), true), saying());
    const before = await stored();
    for (const { newMessage, ...of } of [answer(first), { ...answer(first), invocationId: undefined }]) {
      const refused = run(treeOf(agentOf, agentOf('renamed', []), false), { newMessage, ...of });
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_MESSAGE',
        message: expect.stringContaining(
          'newMessage: answers calls of the agent "helper", and no agent has that name; send a message',
        ),
      });
    }
    expect(await stored()).toEqual(before);
    await run(treeOf(agentOf, agentOf('helper', ['It is paid.']), false), answer(first));
    expect(paid).toEqual([{ n: 1 }]);
  });

  test('refuses the result of a long-running call of an agent that was renamed, and stores nothing', async () => {
    const { run, agentOf, stored } = await setUp();
    const treeOf = (name: string, steps: ScriptedStep[]) =>
      new ParallelAgent({ name: 'lead', subAgents: [agentOf(name, steps)] });
    const first = await run(treeOf('helper', [WAIT]), saying());
    const before = await stored();
    const refused = run(treeOf('renamed', []), answer(first, 'c1', { done: true }));
    await expect(refused).rejects.toThrow('answers calls of the agent "helper", and no agent has that name');
    expect(await stored()).toEqual(before);
  });

  test('refuses an answer if an agent that called the agent was renamed, and stores nothing', async () => {
    const { run, agentOf, paid, stored } = await setUp();
    const treeOf = (name: string, calls: boolean, helper: ScriptedStep[]) => {
      const desk = agentOf(name, [calls ? ask('helper') : 'done'], toolOf(agentOf('helper', helper)));
      return agentOf('lead', [calls ? ask(name) : 'done'], toolOf(desk));
    };
    const first = await run(treeOf('desk', true, [PAY]), saying());
    const before = await stored();
    const refused = run(treeOf('office', false, []), answer(first));
    await expect(refused).rejects.toThrow('newMessage: answers calls of the agent "desk", and no agent has that name');
    expect(await stored()).toEqual(before);
    await run(treeOf('desk', false, ['It is paid.']), answer(first));
    expect(paid).toEqual([{ n: 1 }]);
  });

  test.each<[string, (name: string, deep: BaseAgent) => BaseAgent]>([
    ['a sequence', (name, deep) => new SequentialAgent({ name, subAgents: [deep] })],
    ['a loop', (name, deep) => new LoopAgent({ name, maxIterations: 1, subAgents: [deep] })],
    ['a parallel agent', (name, deep) => new ParallelAgent({ name, subAgents: [deep] })],
  ])('refuses an answer if %s around the agent was renamed, and stores nothing', async (_, around) => {
    const { run, agentOf, paid, stored } = await setUp();
    const treeOf = (name: string, first: ScriptedStep[], deep: ScriptedStep[]) =>
      new SequentialAgent({ name: 'lead', subAgents: [agentOf('first', first), around(name, agentOf('deep', deep))] });
    const first = await run(treeOf('steps', ['one'], [PAY]), saying());
    const before = await stored();
    const refused = run(treeOf('stages', [], []), answer(first));
    await expect(refused).rejects.toThrow('newMessage: answers calls of the agent "steps", and no agent has that name');
    expect(await stored()).toEqual(before);
    await run(treeOf('steps', [], ['It is paid.']), answer(first));
    expect(paid).toEqual([{ n: 1 }]);
  });

  test('takes an answer for an agent whose tool a callback added, and tells the model that the tool is missing', async () => {
    const { run, agentOf, paid } = await setUp();
    const treeOf = (lead: ScriptedStep[], helper: ScriptedStep[]) => {
      const tool = new AgentTool({ agent: agentOf('helper', helper) });
      const beforeModelCallback = ({ request }: { readonly request: LlmRequest }) => {
        request.toolsDict = { ...request.toolsDict, helper: tool };
      };
      return agentOf('lead', lead, { beforeModelCallback });
    };
    const first = await run(treeOf([ask('helper')], [PAY]), saying());
    const rest = await run(treeOf(['done'], []), answer(first));
    const error = 'there is no tool named "helper"; the tools are: pay, wait';
    expect(responses(rest)).toEqual([['helper', { error }]]);
    expect(textsOf(rest)).toEqual(['done']);
    expect(paid).toEqual([]);
  });

  test('takes an answer for an agent that another agent creates in each run', async () => {
    const { run, agentOf, paid } = await setUp();
    class Creating extends BaseAgent {
      readonly #steps: ScriptedStep[];
      constructor(steps: ScriptedStep[]) {
        super({ name: 'lead' });
        this.#steps = steps;
      }
      protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        yield* context.runAgent(agentOf('created', this.#steps));
      }
    }
    const first = await run(new Creating([PAY]), saying());
    await run(new Creating(['It is paid.']), answer(first));
    expect(paid).toEqual([{ n: 1 }]);
  });

  test('rejects the result of its long-running call after it has ended, also while its run waits', async () => {
    const { run, stored, agentOf } = await setUp();
    const order = new LongRunningFunctionTool({
      name: 'order',
      description: '',
      execute: () => ({ status: 'ordered' }),
    });
    const helper = agentOf('helper', [{ calls: [{ id: 'o1', name: 'order' }] }, 'It is ordered.'], { tools: [order] });
    const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
    const tools = [new AgentTool({ agent: helper }), wait];
    const first = await run(
      agentOf('lead', [ask('helper'), { calls: [{ id: 'w1', name: 'wait' }] }], { tools }),
      saying(),
    );
    const before = await stored();
    const lead = () => agentOf('lead', ['done'], { tools });
    for (const { newMessage, invocationId } of [answer(first, 'o1', { status: 'there' })])
      for (const ids of [{}, { invocationId }])
        await expect(run(lead(), { newMessage, ...ids })).rejects.toThrow(/the id "o1" .* that takes an answer/);
    expect(await stored()).toEqual(before);
    expect(textsOf(await run(lead(), answer(first, 'w1', { ready: true })))).toEqual(['done']);
  });

  test('rejects answers after its run has ended', async () => {
    const { run, agentOf } = await setUp();
    const first = await run(agentOf('lead', [ask('helper')], toolOf(agentOf('helper', [WAIT]))), saying());
    await run(agentOf('lead', ['done'], toolOf(agentOf('helper', ['ok']))), answer(first, 'c1', {}));
    const { newMessage } = answer(first, 'c1', {});
    const late = run(agentOf('lead', [], toolOf(agentOf('helper', []))), { newMessage });
    await expect(late).rejects.toThrow('the call "c1" has already been answered');
  });
});

test('a tool call that would wait gives its model an error in a run that is not resumable, and answers its caller', async () => {
  const { run, agentOf, paid } = await setUp();
  const helper = agentOf('helper', [PAY, 'I could not ask.']);
  const events = await run(agentOf('lead', [ask('helper'), 'done'], toolOf(helper)), saying(), false);
  expect(questions(events)).toEqual([]);
  expect(responses(events)).toEqual([['helper', { result: 'I could not ask.' }]]);
  expect(paid).toEqual([]);
});

test.each([false, true])(
  'requests its answer once after a kill at any commit, and readers of the run get the request (streamInner %s)',
  async (streamInner) => {
    const pay = new FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      idempotent: true,
      execute: () => 'paid',
    });
    /** A model that calls the tool `name` once. */
    class CallingModel extends BaseLlm {
      readonly #name: string;

      constructor(name: string) {
        super({ model: 'calling' });
        this.#name = name;
      }

      override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
        const isAnswered = contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse) === true;
        const call = { id: `call-${this.#name}`, name: this.#name, args: { request: 'x' } };
        yield { content: { role: 'model', parts: [isAnswered ? { text: 'done' } : { functionCall: call }] } };
      }
    }
    const helper = new LlmAgent({ name: 'helper', model: new CallingModel('pay'), tools: [pay] });
    const tools = [new AgentTool({ agent: helper, streamInner })];
    const agent = new LlmAgent({ name: 'lead', model: new CallingModel('helper'), tools });
    const request = { requestId: 'r-1', ifKnown: 'resume' } as const;
    for (let commit = 1, isLast = false; !isLast; commit++) {
      for (const isAfter of [false, true]) {
        const { restart, sessionService, platform } = await scenario({ agent, resumable: true });
        const { service, commits } = dying(sessionService, commit, isAfter);
        const killed = { agent, sessionService: service };
        await restart(killed)
          .run('hi', request)
          .catch(() => undefined);
        isLast = commits() < commit;
        platform.advance(60_000);
        const { run } = restart({ agent });
        const place = [commit, isAfter];
        for (const events of [await run('hi', request), await run('hi', request)]) {
          expect([...place, questions(events).length]).toEqual([...place, 1]);
          expect([...place, textsOf(events)]).toEqual([...place, []]);
        }
      }
    }
  },
);

function textsOf(events: readonly Event[]): string[] {
  return events.flatMap(({ content }) => content?.parts?.flatMap(({ text }) => text ?? []) ?? []);
}
