import { BaseAgent, type Event, type InvocationContext, ObjectType } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, type GraphAgent, node, START, StateGraph } from './index.ts';
import { play } from './fixtures/played-graph.ts';
import { Talker } from './fixtures/talker.ts';
import { KEY, saying, scenario } from '../../runner/src/fixtures/scenario.ts';
import { seededRandom } from '../../testing/src/seeded-random.ts';

/** Functions, agents, a sub-graph and a node that runs nodes, side by side, each with a random delay. */
function wideGraph(seed: number, maxConcurrency?: number): GraphAgent {
  const random = seededRandom(seed);
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

/** All stored events except the records of the order in which the run streamed them, which depends on the timing. */
const said = (stored: readonly Event[]): string[] =>
  stored
    .filter(({ object }) => object !== ObjectType.runnerStreamed)
    .map(
      ({ author, branch = '', content, actions }) =>
        `${branch} ${author} ${content?.parts?.[0]?.text ?? ''} ${JSON.stringify(actions)}`,
    );

test.each([undefined, 1, 2, 3])(
  'nodes of a step, %s at a time, are stored in the same order at any timing',
  async (maxConcurrency) => {
    const first = said((await play(wideGraph(0, maxConcurrency))).stored);
    expect(first.length).toBeGreaterThan(35);
    for (let seed = 1; seed <= 12; seed++)
      expect(said((await play(wideGraph(seed, maxConcurrency))).stored), `seed ${seed}`).toEqual(first);
  },
);

test('nodes commit in the same order at any timing, also if other nodes fail', async () => {
  const wideAndBroken = (seed: number): GraphAgent => {
    const random = seededRandom(seed);
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
    const agent = wideAndBroken(seed);
    const { runner, stored } = await scenario({ agent });
    const error: unknown = await runner.run(saying()).catch((thrown: unknown) => thrown);
    const events = await stored();
    outcomes.add([String(error), ...said(events)].join('\n'));
  }
  expect([...outcomes]).toHaveLength(1);
  expect([...outcomes][0]).toMatch(/^NodeError: node "n2": broken/);
});

test('a node commits its events one after the other, inner nodes included', async () => {
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
  /** Runs two agents concurrently within the turn of one node. */
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
  await runner.run(saying());
  expect(most).toBe(1);
});
