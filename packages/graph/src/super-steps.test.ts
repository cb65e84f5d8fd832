import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type AnyNodes,
  type Channels,
  append,
  channel,
  END,
  type GraphAgent,
  node,
  START,
  StateGraph,
} from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const HI = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };

async function play(agent: GraphAgent) {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const events = await runner.run(HI);
  const stored = (await sessionService.getSession(KEY))?.events ?? [];
  return { events, stored };
}

const answerOf = (events: readonly Event[]): unknown => JSON.parse(events.at(-1)?.content?.parts?.[0]?.text ?? 'null');

/** Numbers from 0 up to 1 that are the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Says a number of things, each after a while. */
class Talker extends BaseAgent {
  readonly #words: number;
  readonly #delay: () => Promise<void>;

  constructor(name: string, words: number, delay: () => Promise<void>) {
    super({ name });
    this.#words = words;
    this.#delay = delay;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    for (let word = 1; word <= this.#words; word++) {
      await this.#delay();
      yield context.createEvent({
        author: this.name,
        content: { role: 'model', parts: [{ text: `${this.name} ${word}` }] },
      });
    }
  }
}

/** Functions, agents, a sub-graph and a node that runs nodes, side by side, each as slow as chance has it. */
function wideGraph(seed: number, maxConcurrency?: number): GraphAgent {
  const random = randomOf(seed);
  const delay = async (): Promise<void> => {
    for (let turns = Math.floor(random() * 12); turns > 0; turns--)
      await (turns % 5 === 0 ? new Promise((resolve) => setTimeout(resolve)) : undefined);
  };
  const slow = async (input: unknown) => {
    await delay();
    return input;
  };
  const leaf = node('leaf', slow);
  const sub = new StateGraph({ name: 'sub' })
    .addNode('left', slow)
    .addNode('inside', new Talker('inside', 2, delay))
    .addJoin('both')
    .addEdge(START, ['left', 'inside'])
    .addEdge('left', 'both')
    .addEdge('inside', 'both')
    .addEdge('both', END)
    .compile();
  const seen = channel(z.array(z.string()), { reducer: append, default: [] });
  return new StateGraph({ name: 'wide', channels: { seen } })
    .addNode('long', new Talker('long', 5, delay))
    .addNode('quick', slow)
    .addNode('short', new Talker('short', 2, delay))
    .addNode('spread', async (_: unknown, context) => {
      const first = await Promise.all(['a', 'b', 'c'].map((each) => context.runNode(leaf, each)));
      const more = await Promise.all(first.map((each) => context.runNode(new Talker('deep', 2, delay), each)));
      return more;
    })
    .addNode('sub', sub)
    .addNode(
      'note',
      async (_: unknown, context) => {
        await delay();
        context.update({ seen: ['note'] });
      },
      { writes: ['seen'] },
    )
    .addNode(
      'tell',
      async (_: unknown, context) => {
        context.update({ seen: ['tell'] });
        await delay();
      },
      { writes: ['seen'] },
    )
    .addJoin('gather', (_input, context) => context.state.seen)
    .addEdge(START, ['long', 'quick', 'short', 'spread', 'sub', 'note', 'tell'])
    .addEdge('long', 'gather')
    .addEdge('quick', 'gather')
    .addEdge('short', 'gather')
    .addEdge('spread', 'gather')
    .addEdge('sub', 'gather')
    .addEdge('note', 'gather')
    .addEdge('tell', 'gather')
    .addEdge('gather', END)
    .compile(maxConcurrency === undefined ? {} : { maxConcurrency });
}

const said = (stored: readonly Event[]): string[] =>
  stored.map(
    ({ author, branch = '', content, actions }) =>
      `${branch} ${author} ${content?.parts?.[0]?.text ?? ''} ${JSON.stringify(actions)}`,
  );

test.each([undefined, 1, 2, 3])(
  'what runs at the same time, %s at once, is stored in one order, whatever the timing',
  async (maxConcurrency) => {
    const first = said((await play(wideGraph(0, maxConcurrency))).stored);
    expect(first.length).toBeGreaterThan(35);
    for (let seed = 1; seed <= 12; seed++)
      expect(said((await play(wideGraph(seed, maxConcurrency))).stored), `seed ${seed}`).toEqual(first);
  },
  30_000,
);

test('agents side by side take turns: neither waits for the other to be done', async () => {
  const now = (): Promise<void> => Promise.resolve();
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', new Talker('one', 3, now))
    .addNode('two', new Talker('two', 3, now))
    .addEdge(START, ['one', 'two'])
    .addEdge('one', END)
    .addEdge('two', END)
    .compile();
  const { stored } = await play(agent);
  const texts = stored
    .filter(({ branch, author }) => branch && author !== 'user')
    .map(({ content }) => content?.parts?.[0]?.text);
  expect(texts).toEqual(['one 1', 'two 1', 'one 2', 'two 2', 'one 3', 'two 3']);
});

test('no more nodes work at once than may, and as many as may', async () => {
  let working = 0;
  let most = 0;
  const work = async (input: unknown) => {
    most = Math.max(most, ++working);
    await new Promise((resolve) => setTimeout(resolve));
    working--;
    return input;
  };
  const leaf = node('leaf', work);
  let graph = new StateGraph({ name: 'g' }).addNode('spread', (_: string, context) =>
    Promise.all(Array.from({ length: 9 }, (_each, index) => context.runNode(leaf, index))),
  );
  graph = graph.addEdge(START, 'spread').addEdge('spread', END);
  await play(graph.compile({ maxConcurrency: 3 }));
  expect(most).toBe(3);
  most = 0;
  const wide = new StateGraph<Channels, AnyNodes>({ name: 'w' });
  for (let index = 0; index < 9; index++)
    wide.addNode(`n${index}`, work).addEdge(START, `n${index}`).addEdge(`n${index}`, END);
  await play(wide.compile({ maxConcurrency: 4 }));
  expect(most).toBe(4);
});

test('a function that is done leaves its place to the next, before it is its turn to commit', async () => {
  const gate = new Gate();
  const ran: string[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('slow', async () => {
      await gate.pass();
    })
    .addNode('two', () => void ran.push('two'))
    .addNode('three', () => void ran.push('three'))
    .addNode('four', () => {
      ran.push('four');
      gate.open();
    })
    .addEdge(START, ['slow', 'two', 'three', 'four'])
    .addEdge('slow', END)
    .addEdge('two', END)
    .addEdge('three', END)
    .addEdge('four', END)
    .compile({ maxConcurrency: 2 });
  await play(agent);
  expect(ran).toEqual(['two', 'three', 'four']);
});

test('nodes of a step see the channels as the step found them, and those of the next what it made of them', async () => {
  const log = channel(z.array(z.string()), { reducer: append, default: ['begin'] });
  const add =
    (name: string) =>
    (_: unknown, context: { state: { log: string[] }; update: (updates: { log: string[] }) => void }) => {
      context.update({ log: [`${name} saw ${context.state.log.length}`] });
    };
  const agent = new StateGraph({ name: 'g', channels: { log } })
    .addNode('a', add('a'), { writes: ['log'] })
    .addNode('b', add('b'), { writes: ['log'] })
    .addJoin('c', add('c'), { writes: ['log'] })
    .addNode('d', (_: unknown, context) => context.state.log)
    .addEdge(START, ['a', 'b'])
    .addEdge('a', 'c')
    .addEdge('b', 'c')
    .addEdge('c', 'd')
    .addEdge('d', END)
    .compile();
  expect(answerOf((await play(agent)).events)).toEqual(['begin', 'a saw 1', 'b saw 1', 'c saw 3']);
});

test('a node that two edges lead to runs for each, and a join once for all', async () => {
  const ran: unknown[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', () => 1)
    .addNode('b', () => 2)
    .addNode('each', (input: number) => {
      ran.push(input);
      return input * 10;
    })
    .addJoin('all')
    .addEdge(START, ['a', 'b'])
    .addEdge('a', ['each', 'all'])
    .addEdge('b', ['each', 'all'])
    .addEdge('each', END)
    .addEdge('all', END)
    .compile();
  const { events } = await play(agent);
  expect(ran).toEqual([1, 2]);
  expect(answerOf(events)).toEqual({ each: [10, 20], all: { a: 1, b: 2 } });
});

test('a join waits for ways of different lengths, and not for those that no route led to', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('choose', () => 'x')
    .addNode('short', () => 'short')
    .addNode('long1', () => 'long1')
    .addNode('long2', () => 'long2')
    .addNode('never', () => 'never')
    .addJoin('all')
    .addJoin('last')
    .addEdge(START, 'choose')
    .addConditionalEdges('choose', () => ['quick', 'slow'], { quick: 'short', slow: 'long1', none: 'never' })
    .addEdge('short', 'all')
    .addEdge('long1', 'long2')
    .addEdge('long2', 'all')
    .addEdge('never', ['all', 'last'])
    .addEdge('all', 'last')
    .addEdge('last', END)
    .compile();
  expect(answerOf((await play(agent)).events)).toEqual({ all: { short: 'short', long2: 'long2' } });
});

test('the failure of a node stops the others of its step and is the failure of the run', async () => {
  const stopped: string[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('fails', () => {
      throw new TypeError('broken');
    })
    .addNode(
      'waits',
      (_: unknown, { abortSignal }) =>
        new Promise<void>((resolve) => {
          abortSignal.addEventListener('abort', () => {
            stopped.push('waits');
            resolve();
          });
        }),
    )
    .addEdge(START, ['fails', 'waits'])
    .addEdge('fails', END)
    .addEdge('waits', END)
    .compile();
  await expect(play(agent)).rejects.toThrow('node "fails": broken');
  expect(stopped).toEqual(['waits']);
});

test('where nodes fail it is in one order too what the others commit, whatever the timing', async () => {
  const wideAndBroken = (seed: number): GraphAgent => {
    const random = randomOf(seed);
    const delay = async (): Promise<void> => {
      for (let turns = Math.floor(random() * 6); turns > 0; turns--)
        await (turns % 3 === 0 ? new Promise((resolve) => setTimeout(resolve)) : undefined);
    };
    const fails = async () => {
      await delay();
      throw new TypeError('broken');
    };
    const names = ['n0', 'n1', 'n2', 'n3', 'n4'];
    const graph = new StateGraph({ name: 'g' })
      .addNode('n0', delay)
      .addNode('n1', new Talker('talker', 2, delay))
      .addNode('n2', fails)
      .addNode('n3', delay)
      .addNode('n4', fails);
    for (const name of names) graph.addEdge(START, name as 'n0').addEdge(name as 'n0', END);
    return graph.compile();
  };
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const sessionService = new InMemorySessionService();
    await sessionService.createSession(KEY);
    const agent = wideAndBroken(seed);
    const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
    const error: unknown = await runner.run(HI).catch((thrown: unknown) => thrown);
    const events = (await sessionService.getSession(KEY))?.events ?? [];
    outcomes.add([String(error), ...said(events)].join('\n'));
  }
  expect([...outcomes]).toHaveLength(1);
  expect([...outcomes][0]).toMatch(/^NodeError: node "n2": broken/);
}, 30_000);

test('a join that a node leads to several times in a step is given all that it gave, and so is END', async () => {
  const joined: unknown[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', () => 1)
    .addNode('b', () => 2)
    .addNode('each', (input: number) => input * 10)
    .addNode('other', (input: number) => input)
    .addJoin('all', (input) => {
      joined.push(input);
      return input;
    })
    .addEdge(START, ['a', 'b'])
    .addEdge('a', ['other', 'each'])
    .addEdge('b', 'each')
    .addEdge('each', ['all', END])
    .addEdge('other', 'all')
    .addEdge('all', END)
    .compile();
  const { events } = await play(agent);
  expect(joined).toEqual([{ each: [10, 20], other: 1 }]);
  expect(answerOf(events)).toEqual({ each: [10, 20], all: { each: [10, 20], other: 1 } });
});

test('joins that wait for nothing any more go on one after the other, where one leads to the other', async () => {
  const ran: unknown[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('choose', () => 'x')
    .addNode('none', () => 'none')
    .addJoin('first', (input) => {
      ran.push(['first', input]);
      return 'first';
    })
    .addJoin('second', (input) => {
      ran.push(['second', input]);
      return 'second';
    })
    .addEdge(START, 'choose')
    .addConditionalEdges('choose', () => 'on', { on: ['second', 'first'], off: 'none' })
    .addEdge('none', ['first', 'second'])
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();
  await play(agent);
  expect(ran).toEqual([
    ['first', { choose: 'x' }],
    ['second', { choose: 'x', first: 'first' }],
  ]);
});

test('a node that fails leaves its place among those that work to the next', async () => {
  const ran: number[] = [];
  const leaf = node('leaf', (input: number) => {
    ran.push(input);
    if (input < 2) throw new TypeError('broken');
    return input;
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('spread', (_: string, context) =>
      Promise.all([0, 1, 2, 3].map((each) => context.runNode(leaf, each).catch(() => -1))),
    )
    .addEdge(START, 'spread')
    .addEdge('spread', END)
    .compile({ maxConcurrency: 1 });
  expect(answerOf((await play(agent)).events)).toEqual([-1, -1, 2, 3]);
  expect(ran).toEqual([0, 1, 2, 3]);
});

test('what a node commits is one event after the other, whoever in it says it', async () => {
  let committing = 0;
  let most = 0;
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const watched = new Proxy(sessionService, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      const bound = found.bind(target) as (...given: unknown[]) => Promise<unknown>;
      if (name !== 'appendEvent') return bound;
      return async (...given: unknown[]) => {
        most = Math.max(most, ++committing);
        await new Promise((resolve) => setTimeout(resolve));
        const result = await bound(...given);
        committing--;
        return result;
      };
    },
  });
  const now = (): Promise<void> => Promise.resolve();
  /** Two agents at once, in the one turn of their node. */
  class Pair extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const talkers = this.subAgents.map((talker) =>
        context.runSubInvocation({
          agent: talker,
          userContent: { role: 'user', parts: [{ text: 'go' }] },
          callId: talker.name,
          streaming: true,
        }),
      );
      const readAll = async (events: AsyncIterable<Event>): Promise<Event[]> => {
        const list: Event[] = [];
        for await (const event of events) list.push(event);
        return list;
      };
      const heard = await Promise.all(talkers.map(readAll));
      for (const event of heard.flat()) yield event;
    }
  }
  const pair = new Pair({ name: 'pair', subAgents: [new Talker('one', 2, now), new Talker('two', 2, now)] });
  const agent = new StateGraph({ name: 'g' })
    .addNode('pair', pair)
    .addNode('other', () => 1)
    .addEdge(START, ['pair', 'other'])
    .addEdge('pair', END)
    .addEdge('other', END)
    .compile();
  const runner = new Runner({ appName: 'app', agent, sessionService: watched, platform: fixedPlatform() });
  await runner.run(HI);
  expect(most).toBe(1);
});

test('nodes are stopped when who runs the graph goes on without it', async () => {
  const gate = new Gate();
  const stopped: string[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('waits', async (_: unknown, { abortSignal }) => {
      abortSignal.addEventListener('abort', () => void stopped.push('waits'));
      await gate.pass(abortSignal);
    })
    .addNode('tells', async (_: unknown, context) => {
      await gate.reached;
      await context.emitText('hello');
    })
    .addEdge(START, ['waits', 'tells'])
    .addEdge('waits', END)
    .addEdge('tells', END)
    .compile();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  class Impatient extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      for await (const event of agent.runAsync(context)) {
        yield event;
        if (event.nodeEvent) break;
      }
      stopped.push('and on');
    }
  }
  const outer = new Impatient({ name: 'impatient', subAgents: [agent] });
  await new Runner({ appName: 'app', agent: outer, sessionService, platform: fixedPlatform() }).run(HI);
  expect(stopped).toEqual(['waits', 'and on']);
});
