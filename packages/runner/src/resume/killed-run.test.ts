import {
  BaseAgent,
  BaseLlm,
  type BaseSessionService,
  type CallbackContext,
  type Event,
  EventloomError,
  getFunctionCalls,
  getFunctionResponses,
  InvalidRequestError,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
  type Part,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, exitLoop, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { Runner } from '../runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const HI = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };

/** Says what its script has for the number of replies that the history has of it: the same in every process. */
class HistoryModel extends BaseLlm {
  readonly #script: readonly (readonly Part[])[];

  constructor(script: readonly (readonly Part[])[]) {
    super({ model: 'history' });
    this.#script = script;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const said = contents.filter(({ role }) => role === 'model').length;
    const parts = this.#script[said] ?? [{ text: `nothing left to say after ${said}` }];
    yield { content: { role: 'model', parts: structuredClone([...parts]) }, finishReason: 'STOP' };
  }
}

const say = (text: string): Part[] => [{ text }];
/** Every reply numbers its calls alike, as some models do. */
const calls = (...named: [name: string, args?: Record<string, unknown>][]): Part[] =>
  named.map(([name, args = {}], index) => ({ functionCall: { id: `call-${index}`, name, args } }));

class KilledError extends EventloomError {
  static override readonly code = 'KILLED';
}

/** Stores nothing any more from the commit with this number on, counted from 1; `isAfter` stores that one and then dies. */
function dying(service: BaseSessionService, at: number, isAfter: boolean) {
  let commits = 0;
  const guarded = async (work: () => Promise<unknown>): Promise<unknown> => {
    commits++;
    if (commits > at || (commits === at && !isAfter)) throw new KilledError('killed');
    const result = await work();
    if (commits >= at) throw new KilledError('killed');
    return result;
  };
  const proxy = new Proxy(service, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      const bound = found.bind(target) as (...given: unknown[]) => Promise<unknown>;
      if (name !== 'appendEvent' && name !== 'recordToolCall') return bound;
      return (...given: unknown[]) => guarded(() => bound(...given));
    },
  });
  return { service: proxy, commits: () => commits };
}

type Tool = (name: string) => FunctionTool;

const agent = (name: string, script: Part[][], config: object = {}) =>
  new LlmAgent({ name, model: new HistoryModel(script), ...config });

/** Agents of all kinds, in each other, that call tools, each other, and hand over. */
function flowTree(tool: Tool): BaseAgent {
  const worker = agent('worker', [calls(['work']), say('worked'), calls(['work']), say('worked more')], {
    tools: [tool('work')],
  });
  const critic = agent('critic', [say('again'), calls(['exit_loop'])], { tools: [exitLoop] });
  const left = agent('left', [calls(['turn'], ['lift']), say('left')], { tools: [tool('turn'), tool('lift')] });
  const right = agent('right', [say('right')], { outputKey: 'right' });
  const helper = agent('helper', [calls(['dig'], ['sift']), say('found')], { tools: [tool('dig'), tool('sift')] });
  const asker = agent(
    'asker',
    [calls(['helper', { request: 'dig' }], ['ask']), calls(['helper', { request: 'again' }]), say('asked')],
    {
      tools: [new AgentTool({ agent: helper }), tool('ask')],
      beforeAgentCallback: ({ state }: CallbackContext) => state.set('begun', Number(state.get('begun') ?? 0) + 1),
      afterAgentCallback: () => ({ parts: [{ text: 'asked all' }] }),
    },
  );
  const flow = new SequentialAgent({
    name: 'flow',
    subAgents: [
      new LoopAgent({ name: 'loop', maxIterations: 5, subAgents: [worker, critic] }),
      new ParallelAgent({ name: 'par', subAgents: [left, right] }),
      asker,
    ],
  });
  return agent('front', [calls(['look'], ['listen']), calls(['go'], ['transfer_to_agent', { agent_name: 'flow' }])], {
    tools: [tool('look'), tool('listen'), tool('go')],
    subAgents: [flow],
  });
}

/** Runs what is below it, one after the other, and stores nothing of that but its last word. */
class Custom extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (context.agentState?.['said'] === true) return;
    for (const child of this.subAgents) yield* child.runAsync(context);
    yield context.createEvent({ content: { parts: [{ text: 'all done' }] }, actions: { agentState: { said: true } } });
  }
}

/** An agent of one's own, and answers in a shape: of the model, and of an agent that is called as a tool. */
function customTree(tool: Tool): BaseAgent {
  const outputSchema = { type: 'object', properties: { size: { type: 'number' } }, required: ['size'] };
  const measure = agent('measure', [calls(['look']), calls(['set_model_response', { size: 2 }])], {
    tools: [tool('look')],
    outputSchema,
    outputKey: 'measured',
  });
  const first = agent('first', [calls(['measure', { request: 'x' }], ['work']), say('one')], {
    tools: [new AgentTool({ agent: measure }), tool('work')],
  });
  const second = agent('second', [say('no shape'), calls(['dig']), calls(['set_model_response', { size: 3 }])], {
    tools: [tool('dig')],
    outputSchema,
    outputKey: 'right',
  });
  return new Custom({ name: 'custom', subAgents: [first, second] });
}

function setUp(idempotent: boolean, makeTree = flowTree) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const ran: string[] = [];
  const tool = (name: string) =>
    new FunctionTool({
      name,
      description: '',
      idempotent,
      execute: (_, context) => {
        ran.push(`${context.agentName}/${name}`);
        context.state.set(`did_${name}`, true);
        return { [name]: 'done' };
      },
    });
  const runnerOn = (service: BaseSessionService) =>
    new Runner({ appName: 'app', agent: makeTree(tool), sessionService: service, platform, resumable: true });
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return { sessionService, runnerOn, stored, ran };
}

/** What an event says, without ids and times; its execution by the agents that lead to it. */
function told(events: readonly Event[]): Map<string, unknown[]> {
  const authors = new Map<string, string>();
  for (const { executionId = '', parentExecutionId, author } of events) {
    if (!authors.has(executionId) || author !== 'user')
      authors.set(executionId, `${authors.get(parentExecutionId ?? '') ?? ''}/${author}`);
  }
  const byBranch = new Map<string, unknown[]>();
  for (const { author, branch = '', content, actions, object, parentExecutionId = '' } of events) {
    const list = byBranch.get(branch) ?? [];
    byBranch.set(branch, list);
    list.push({ author, content, actions, object, from: authors.get(parentExecutionId) });
  }
  return new Map([...byBranch].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Runs until the run is killed; false when it came to its end before. */
async function runUntilKilled(runner: Runner): Promise<boolean> {
  try {
    await runner.run(HI);
    return false;
  } catch (error) {
    if (!KilledError.isInstance(error)) throw error;
    return true;
  }
}

async function undisturbed(idempotent: boolean, makeTree = flowTree) {
  const { sessionService, runnerOn, stored, ran } = setUp(idempotent, makeTree);
  await sessionService.createSession(KEY);
  const counted = dying(sessionService, Infinity, false);
  await runnerOn(counted.service).run(HI);
  return { events: await stored(), ran, commits: counted.commits() };
}

describe.each([false, true])('a run that is killed, right after the commit: %s', (isAfter) => {
  test.each([
    ['agents of all kinds', flowTree, 60],
    ["an agent of one's own, and answers in a shape", customTree, 25],
  ])('%s come to the same end with idempotent tools, and finished tools do not run again', async (_, tree, commits) => {
    const whole = await undisturbed(true, tree);
    expect(whole.commits).toBeGreaterThan(commits);
    for (let at = 1; at <= whole.commits; at++) {
      const { sessionService, runnerOn, stored, ran } = setUp(true, tree);
      await sessionService.createSession(KEY);
      expect(await runUntilKilled(runnerOn(dying(sessionService, at, isAfter).service)), `killed at ${at}`).toBe(true);
      const [first] = await stored();
      if (!first) continue;
      const { invocationId } = first;
      const cutOff = (await sessionService.listToolCalls({ ...KEY, invocationId })).filter(
        ({ status, name }) => status === 'started' && name !== 'helper' && name !== 'measure',
      );
      const resumed = runnerOn(sessionService).run({ userId: 'u', sessionId: 's', invocationId });
      if (isAfter && at === whole.commits) await expect(resumed).rejects.toThrow(InvalidRequestError);
      else await resumed;
      expect(told(await stored()), `killed at ${at}`).toEqual(told(whole.events));
      expect(ran.length - whole.ran.length, `killed at ${at}`).toBeLessThanOrEqual(cutOff.length);
      const session = await sessionService.getSession(KEY);
      expect(session?.state).toMatchObject({ did_look: true, did_work: true, did_dig: true });
      expect(session?.state['right']).toEqual(tree === flowTree ? 'right' : { size: 3 });
    }
  });

  test('runs no tool twice that is not idempotent, and reports the one that was cut off', async () => {
    const whole = await undisturbed(false);
    let interrupted = 0;
    for (let at = 1; at <= whole.commits; at++) {
      const { sessionService, runnerOn, stored, ran } = setUp(false);
      await sessionService.createSession(KEY);
      await runUntilKilled(runnerOn(dying(sessionService, at, isAfter).service));
      const [first] = await stored();
      if (!first || (isAfter && at === whole.commits)) continue;
      await runnerOn(sessionService).run({ userId: 'u', sessionId: 's', invocationId: first.invocationId });
      const reported = (await stored())
        .flatMap(getFunctionResponses)
        .filter(({ response }) => response?.['error'] === 'interrupted').length;
      interrupted += reported;
      for (const name of new Set(whole.ran)) {
        const times = (list: readonly string[]) => list.filter((each) => each === name).length;
        // An interrupted hand-over or loop end lets the model go on otherwise.
        expect(times(ran), `${name}, killed at ${at}`).toBeLessThanOrEqual(times(whole.ran));
      }
      expect(ran.length + reported, `killed at ${at}`).toBeGreaterThan(0);
    }
    expect(interrupted).toBeGreaterThan(10);
  });
});

test('a run that is killed with the answer of a person is resumed, and what they confirmed is done once', async () => {
  const tree = (tool: Tool) => {
    const confirmed = (name: string) => {
      const inner = tool(name);
      const execute = (_: unknown, toolContext: ToolContext) => inner.runAsync({ args: {}, toolContext });
      return new FunctionTool({ name, description: '', requireConfirmation: true, execute });
    };
    const pays = agent('pays', [calls(['pay'], ['look']), say('paid')], { tools: [confirmed('pay'), tool('look')] });
    return new SequentialAgent({
      name: 'flow',
      subAgents: [pays, agent('then', [calls(['work']), say('done')], { tools: [tool('work')] })],
    });
  };
  /** The first half, undisturbed; the second is killed, and resumed. */
  const half = async (at: number) => {
    const { sessionService, runnerOn, stored, ran } = setUp(false, tree);
    await sessionService.createSession(KEY);
    const asked = await runnerOn(sessionService).run(HI);
    const question = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
    const { invocationId = '' } = asked[0] ?? {};
    const newMessage = { parts: [{ functionResponse: { id: question?.id ?? '', response: { confirmed: true } } }] };
    const counted = dying(sessionService, at, true);
    const params = { userId: 'u', sessionId: 's', invocationId };
    const first = await runnerOn(counted.service)
      .run({ ...params, newMessage })
      .catch((error: unknown) => error);
    if (KilledError.isInstance(first))
      await runnerOn(sessionService)
        .run(params)
        .catch((error: unknown) => error);
    return { events: await stored(), ran, commits: counted.commits() };
  };
  const whole = await half(Infinity);
  expect(whole.ran).toEqual(['pays/look', 'pays/pay', 'then/work']);
  for (let at = 1; at <= whole.commits; at++) {
    const { events, ran } = await half(at);
    expect(new Set(ran).size, `killed at ${at}`).toBe(ran.length);
    const paid = events
      .flatMap(getFunctionResponses)
      .filter(({ name }) => name === 'pay')
      .at(-1)?.response;
    expect(paid, `killed at ${at}`).toMatchObject(
      ran.includes('pays/pay') ? { pay: 'done' } : { error: 'interrupted' },
    );
    expect(events.flatMap(({ content }) => content?.parts ?? []).at(-1)).toEqual({ text: 'done' });
  }
});
