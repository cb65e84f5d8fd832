import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type AnyNodes, type Channels, END, node, START, StateGraph } from './index.ts';
import { answerOf, play } from './fixtures/played-graph.ts';
import { Talker } from './fixtures/talker.ts';
import { KEY, saying } from '../../runner/src/fixtures/scenario.ts';

test("concurrent agent nodes commit by turns and do not wait for each other's end", async () => {
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
    .filter(({ branch, object }) => branch && object !== 'agent.input')
    .map(({ content }) => content?.parts?.[0]?.text);
  expect(texts).toEqual(['one 1', 'two 1', 'one 2', 'two 2', 'one 3', 'two 3']);
});

test('a step runs exactly maxConcurrency nodes at a time', async () => {
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

test('a finished function frees its place before its turn to commit', async () => {
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

test('a failed node frees its place for the next node', async () => {
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

test('nodes are stopped when the reader of the graph leaves', async () => {
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
  await new Runner({ appName: 'app', agent: outer, sessionService, platform: fixedPlatform() }).run(saying());
  expect(stopped).toEqual(['waits', 'and on']);
});
