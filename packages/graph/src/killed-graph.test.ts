import {
  BaseLlm,
  type BaseSessionService,
  type Event,
  EventloomError,
  getFunctionCalls,
  getFunctionResponses,
  InvalidRequestError,
  type LlmRequest,
  type LlmResponse,
  type Part,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, type GraphAgent, node, START, StateGraph } from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };
const HI = { ...IDS, newMessage: { parts: [{ text: 'hi' }] } };

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

/** A graph with nodes of all kinds. Each function says in `ran` that it ran. */
function graphOf(ran: string[]): GraphAgent {
  const calls = (name: string): Part[] => [{ functionCall: { id: 'call', name, args: {} } }];
  const tool = (name: string) =>
    new FunctionTool({
      name,
      description: '',
      idempotent: true,
      execute: (_, { state }) => {
        ran.push(`tool ${name}`);
        state.set(`did_${name}`, true);
        return { [name]: 'done' };
      },
    });
  const agent = (name: string) =>
    new LlmAgent({
      name,
      model: new HistoryModel([calls('look'), [{ text: `${name} looked` }]]),
      tools: [tool('look')],
      outputKey: name,
    });
  const inner = node('inner', (input: number, context) => {
    ran.push(`inner ${input}@${context.step}`);
    return input * 2;
  });
  const sub = new StateGraph({ name: 'sub', channels: { at: channel(z.number(), { default: 0 }) } })
    .addNode(
      'round',
      (_: unknown, context) => {
        ran.push(`round@${context.step}`);
        context.update({ at: context.state.at + 1 });
        return context.state.at;
      },
      { writes: ['at'] },
    )
    .addEdge(START, 'round')
    .addConditionalEdges('round', (output) => (Number(output) < 2 ? 'again' : 'out'), { again: 'round', out: END })
    .compile();
  const asks =
    (name: string) =>
    async (
      _: unknown,
      context: { nodeName: string; step: number; requestInput: (params: object) => Promise<unknown> },
    ) => {
      const answer = await context.requestInput({ message: name });
      ran.push(`${name}@${context.step}`);
      return answer;
    };
  const channels = {
    log: channel(z.array(z.string()), { reducer: append, default: [] }),
    best: channel(z.number(), { stateKey: 'best' }),
  };
  return new StateGraph({ name: 'all', channels })
    .addNode(
      'spread',
      async (input: string, context) => {
        ran.push(`spread@${context.step}`);
        context.update({ log: [input] });
        const doubled = await Promise.all([1, 2, 3].map((each) => context.runNode(inner, each)));
        return doubled.reduce((sum, each) => sum + each, 0);
      },
      { writes: ['log'] },
    )
    .addNode('left', agent('left'))
    .addNode('right', agent('right'))
    .addNode(
      'count',
      (input: number, context) => {
        ran.push(`count@${context.step}`);
        context.update({ best: input, log: ['counted'] });
        return input;
      },
      { writes: ['best', 'log'] },
    )
    .addNode('read', async (_: unknown, context) => {
      ran.push(`read@${context.step}`);
      // Meanwhile the others commit.
      for (const each of [1, 2]) await context.runNode(inner, each);
      return { best: context.state.best ?? null, log: context.state.log };
    })
    .addNode('sub', sub)
    .addJoin('gather')
    .addNode('first', asks('first'))
    .addNode('second', asks('second'))
    .addJoin('agree', (input, context) => {
      ran.push(`agree@${context.step}`);
      return { answers: input, log: context.state.log };
    })
    .addNode('finish', tool('finish'))
    .addEdge(START, 'spread')
    .addEdge('spread', ['left', 'right', 'count', 'read', 'sub'])
    .addEdge('left', 'gather')
    .addEdge('right', 'gather')
    .addEdge('count', 'gather')
    .addEdge('read', 'gather')
    .addEdge('sub', 'gather')
    .addEdge('gather', ['first', 'second'])
    .addEdge('first', 'agree')
    .addEdge('second', 'agree')
    .addEdge('agree', 'finish')
    .addEdge('finish', END)
    .compile();
}

function setUp() {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const ran: string[] = [];
  const runnerOn = (service: BaseSessionService) =>
    new Runner({ appName: 'app', agent: graphOf(ran), sessionService: service, platform, resumable: true });
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return { sessionService, runnerOn, stored, ran };
}

/** What events say, without ids and times. */
function told(events: readonly Event[]): unknown[] {
  return events.map(({ author, branch, content, actions }) => {
    const parts = content?.parts?.map((part) => (part.functionCall?.name === 'adk_request_input' ? 'asks' : part));
    const answers = parts?.map((part) =>
      typeof part === 'object' && part.functionResponse ? part.functionResponse.response : part,
    );
    return { author, branch, parts: answers, actions };
  });
}

/** What runs at the same time may be stored in another order when part of it was stored before. */
const inAnyOrder = (lines: readonly unknown[]): string[] =>
  lines.map((each) => JSON.stringify(each)).toSorted((one, other) => (one < other ? -1 : 1));

const answersTo = (events: readonly Event[]) => {
  const open = events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
  return open.map(({ id = '', args }) => ({
    functionResponse: { id, response: { result: `${String(args?.['message'])} ok` } },
  }));
};

/** Runs all, and answers both questions with one message. Goes on with what is killed. */
async function playKilled(at: number, isAfter: boolean) {
  const { sessionService, runnerOn, stored, ran } = setUp();
  await sessionService.createSession(KEY);
  const counted = dying(sessionService, at, isAfter);
  const redone: string[] = [];
  let isDead = false;
  const attempt = async (params: object, isAnswer = false) => {
    try {
      await runnerOn(isDead ? sessionService : counted.service).run({ ...IDS, ...params });
    } catch (error) {
      if (!KilledError.isInstance(error)) throw error;
      isDead = true;
      const [first] = await stored();
      // The message itself was not stored: its sender says it again.
      if (!first || (isAnswer && !hasAnswer(await stored()))) return runnerOn(sessionService).run({ ...HI, ...params });
      const before = new Set(await completed(sessionService, first.invocationId));
      const from = ran.length;
      try {
        await runnerOn(sessionService).run({ ...IDS, invocationId: first.invocationId });
      } catch (over) {
        if (!InvalidRequestError.isInstance(over)) throw over;
      }
      redone.push(...ran.slice(from).filter((each) => before.has(each)));
    }
    return undefined;
  };
  await attempt({ newMessage: HI.newMessage });
  const questions = await stored();
  const parts = answersTo(questions);
  expect(parts).toHaveLength(2);
  await attempt({ newMessage: { parts } }, true);
  return {
    events: await stored(),
    ran,
    redone,
    commits: counted.commits(),
    session: await sessionService.getSession(KEY),
  };
}

const hasAnswer = (events: readonly Event[]): boolean =>
  events.some((event) => getFunctionResponses(event).some(({ name }) => name === 'adk_request_input'));

/** The runs of functions that the log or the ledger has. */
async function completed(service: BaseSessionService, invocationId: string): Promise<string[]> {
  const session = await service.getSession(KEY);
  const logged = (session?.events ?? []).flatMap(({ author, actions: { agentState } }) => {
    const run = agentState?.['run'];
    if (typeof run !== 'string') return [];
    const [, step = '', , key] = /^(\d+)-\d+(~inner-(\d+))?$/.exec(run) ?? [];
    return key === undefined ? [`${author}@${step}`] : [`inner ${Number(key) + 1}@${step}`];
  });
  const calls = await service.listToolCalls({ ...KEY, invocationId });
  const recorded = calls.flatMap(({ status, callId, name }) => {
    const [, step, key] = /\/(\d+)-\d+(?:~inner-(\d+))?$/.exec(callId) ?? [];
    if (status !== 'finished' || step === undefined) return [];
    return key === undefined ? [`${name}@${step}`] : [`inner ${Number(key) + 1}@${step}`];
  });
  return [...logged, ...recorded];
}

const gathered = (events: readonly Event[]): unknown =>
  events.find(({ author, actions }) => author === 'gather' && actions.agentState)?.actions.agentState?.['output'];

test('a graph of all kinds of nodes pauses at its questions and goes on with the answers', async () => {
  const { events, ran, session } = await playKilled(Infinity, false);
  expect(ran.filter((each) => !each.startsWith('tool'))).toEqual([
    'spread@1',
    'inner 1@1',
    'inner 2@1',
    'inner 3@1',
    'count@2',
    'read@2',
    'inner 1@2',
    'inner 2@2',
    'round@1',
    'round@2',
    'round@3',
    'first@4',
    'second@4',
    'agree@5',
  ]);
  expect(gathered(events)).toMatchObject({ read: { best: null, log: ['hi'] } });
  expect(session?.state).toMatchObject({ best: 12, left: 'left looked', right: 'right looked', did_finish: true });
  expect(events.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState).toMatchObject({
    output: { finish: 'done' },
  });
});

describe.each([false, true])('a graph that is killed, right after the commit: %s', (isAfter) => {
  test('comes to the same end wherever that happens, and runs nothing again that was done', async () => {
    const whole = await playKilled(Infinity, false);
    expect(whole.commits).toBeGreaterThan(40);
    for (let at = 1; at <= whole.commits; at++) {
      const { events, redone, session } = await playKilled(at, isAfter);
      expect(redone, `killed at ${at}`).toEqual([]);
      expect(inAnyOrder(told(events)), `killed at ${at}`).toEqual(inAnyOrder(told(whole.events)));
      expect(session?.state, `killed at ${at}`).toEqual(whole.session?.state);
    }
  }, 60_000);
});

test('a function that is done and waits for its turn is not run again, nor its channels written twice', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const ran: string[] = [];
  const gate = new Gate();
  const recorded = new Gate();
  const channels = { log: channel(z.array(z.string()), { reducer: append, default: [] }) };
  const makeAgent = (slow: () => Promise<void>) =>
    new StateGraph({ name: 'g', channels })
      .addNode('slow', slow)
      .addNode(
        'quick',
        (_: unknown, context) => {
          ran.push('quick');
          context.update({ log: ['quick'] });
          context.route = 'on';
          return 'quick was here';
        },
        { writes: ['log'] },
      )
      .addJoin('all', (input, context) => [input['quick'], context.state.log])
      .addEdge(START, ['slow', 'quick'])
      .addEdge('slow', 'all')
      .addRoutes('quick', { on: 'all' })
      .addEdge('all', END)
      .compile();
  const runnerOn = (agent: GraphAgent, service: BaseSessionService) =>
    new Runner({ appName: 'app', agent, sessionService: service, platform, resumable: true });
  const dies = new Proxy(sessionService, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      const bound = found.bind(target) as (...given: unknown[]) => Promise<unknown>;
      if (name !== 'recordToolCall') return bound;
      return async (...given: unknown[]) => {
        await bound(...given);
        recorded.open();
      };
    },
  });
  const abort = new AbortController();
  const stream = runnerOn(
    makeAgent(() => gate.pass()),
    dies,
  ).runAsync({ ...HI, abortSignal: abort.signal });
  const running = (async () => {
    for await (const _ of stream);
  })();
  await recorded.pass();
  abort.abort();
  await expect(running).rejects.toThrow();
  const events = await runnerOn(
    makeAgent(() => Promise.resolve()),
    sessionService,
  ).run({ ...IDS, invocationId: stream.invocationId });
  expect(ran).toEqual(['quick']);
  const end = events.findLast(({ actions }) => actions.agentState?.['run'] === 'end');
  expect(end?.actions.agentState?.['output']).toEqual(['quick was here', ['quick']]);
});

test.each([
  [false, { error: 'interrupted' }, 1],
  [true, 'done', 2],
])('a tool that was cut off, idempotent: %s, gives %j', async (idempotent, output, times) => {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const gate = new Gate();
  let runs = 0;
  const makeAgent = () => {
    const execute = async () => {
      if (++runs === 1) await gate.pass();
      return 'done';
    };
    const tool = new FunctionTool({ name: 'pay', description: '', idempotent, execute });
    return new StateGraph({ name: 'g' })
      .addNode('none', () => ({}))
      .addNode('pay', tool)
      .addEdge(START, 'none')
      .addEdge('none', 'pay')
      .addEdge('pay', END)
      .compile();
  };
  const runner = () => new Runner({ appName: 'app', agent: makeAgent(), sessionService, resumable: true });
  const abort = new AbortController();
  const stream = runner().runAsync({ ...HI, abortSignal: abort.signal });
  const running = (async () => {
    for await (const _ of stream);
  })();
  await gate.reached;
  abort.abort();
  await expect(running).rejects.toThrow();
  const events = await runner().run({ ...IDS, invocationId: stream.invocationId });
  const end = events.findLast(({ actions }) => actions.agentState?.['run'] === 'end');
  expect([end?.actions.agentState?.['output'], runs]).toEqual([output, times]);
});
