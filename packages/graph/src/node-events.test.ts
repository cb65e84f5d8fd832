import { type Event, InvalidEventError, type NodeEvent } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, type CompileOptions, END, type NodeContext, node, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

const IDS = { userId: 'u', sessionId: 's' };

/** Runs a graph of one node, `work`. */
async function setUp(work: (context: NodeContext) => unknown, options: CompileOptions = {}) {
  const agent = new StateGraph({ name: 'g' })
    .addNode('work', (_: string, context) => work(context as unknown as NodeContext))
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile(options);
  const { start, sessionService } = await scenario({ agent });
  const stream = () => start();
  const stored = async () => await sessionService.getSession({ appName: 'app', ...IDS });
  return { stream, stored };
}

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const list: Event[] = [];
  for await (const event of events) list.push(event);
  return list;
}

test("a node's custom events are streamed immediately under its name and not stored", async () => {
  const gate = new Gate();
  const { stream, stored } = await setUp(async (context) => {
    void context.emitCustom('rows', { count: 3 });
    void context.emitProgress(40, 'reading');
    void context.emitText('so far');
    await gate.pass();
    return 'done';
  });
  const received: NodeEvent[] = [];
  for await (const event of stream()) {
    if (!event.nodeEvent) continue;
    expect(event).toMatchObject({ author: 'work', object: 'graph.node.custom', actions: { stateDelta: {} } });
    received.push(event.nodeEvent);
    // The node still waits, so its events arrive before its end.
    if (received.length === 3) gate.open();
  }
  const of = { nodeId: 'work', stepNumber: 1 };
  expect(received).toEqual([
    { ...of, category: 'custom', eventType: 'rows', payload: { count: 3 } },
    { ...of, category: 'progress', eventType: 'progress', progress: 40, message: 'reading' },
    { ...of, category: 'text', eventType: 'text', message: 'so far' },
  ]);
  const session = await stored();
  expect(session?.events.some(({ nodeEvent }) => nodeEvent)).toBe(false);
  expect(session?.state).toEqual({});
});

test.each<[string, (context: NodeContext) => unknown]>([
  ['a payload that is not JSON', (context) => context.emitCustom('x', { at: 10n })],
  [
    'a payload in a circle',
    (context) =>
      context.emitCustom(
        'x',
        (() => {
          const a: { a?: object } = {};
          a.a = a;
          return a;
        })(),
      ),
  ],
  ['an empty type', (context) => context.emitCustom('', 1)],
  ['progress above 100', (context) => context.emitProgress(101)],
  ['progress below 0', (context) => context.emitProgress(-1)],
  ['progress that is not a number', (context) => context.emitProgress(Number.NaN)],
  ['an invalid progress message', (context) => context.emitProgress(5, { a: 1n } as never)],
  ['an invalid text', (context) => context.emitText(5 as never)],
])('%s is an error at the call', async (_, emit) => {
  let thrown: unknown;
  const { stream } = await setUp((context) => {
    try {
      emit(context);
    } catch (error) {
      thrown = error;
    }
    return 'continued';
  });
  const events = await all(stream());
  expect(thrown).toBeInstanceOf(InvalidEventError);
  expect(events.some(({ nodeEvent }) => nodeEvent)).toBe(false);
});

test('emitCustom resolves to true when the event was read and to false without a reader', async () => {
  const taken: boolean[] = [];
  const ended = new Gate();
  const { stream } = await setUp(async (context) => {
    taken.push(await context.emitText('one'));
    taken.push(await context.emitText('two'));
    ended.open();
  });
  for await (const event of stream()) if (event.nodeEvent?.message === 'two') break;
  await ended.pass();
  expect(taken).toEqual([true, false]);
});

test('nodeLifecycleEvents streams start, completion and errors of nodes', async () => {
  const broken = node(
    'broken',
    () => {
      throw new TypeError('no');
    },
    { retry: { maxAttempts: 2, initialDelayMs: 0 } },
  );
  const work = (context: NodeContext) => context.runNode(broken, undefined).catch(() => 'recovered');
  const silent = await setUp(work);
  expect((await all(silent.stream())).some(({ nodeEvent }) => nodeEvent)).toBe(false);
  const { stream } = await setUp(work, { nodeLifecycleEvents: true });
  const received = (await all(stream())).filter(({ nodeEvent }) => nodeEvent);
  expect(received.map(({ author, object, nodeEvent }) => [author, object, nodeEvent?.message])).toEqual([
    ['work', 'graph.node.start', undefined],
    ['broken', 'graph.node.start', undefined],
    ['broken', 'graph.node.error', 'node "broken" failed; the reason was reported to the program that runs it'],
    ['broken', 'graph.node.error', 'node "broken" failed; the reason was reported to the program that runs it'],
    ['work', 'graph.node.complete', undefined],
  ]);
});

test('a node that waits for an answer has no completion event', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('ask', (_: unknown, context) => context.requestInput())
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({ nodeLifecycleEvents: true });
  const { start } = await scenario({ agent, resumable: true });
  const events = await all(start());
  expect(events.flatMap(({ object, nodeEvent }) => (nodeEvent ? [object] : []))).toEqual(['graph.node.start']);
});

test('events of nodes in sub-graphs and of inner nodes are streamed', async () => {
  const inner = node('inner', (_: unknown, context) => void context.emitProgress(50));
  const sub = new StateGraph({ name: 'sub' })
    .addNode('deep', async (_: unknown, context) => {
      void context.emitText('from below');
      await context.runNode(inner, null);
    })
    .addEdge(START, 'deep')
    .addEdge('deep', END)
    .compile();
  const { stream } = await setUp((context) => context.runNode(sub, 'x'));
  const received = (await all(stream())).filter(({ nodeEvent }) => nodeEvent);
  expect(received.map(({ author, nodeEvent }) => [author, nodeEvent?.message ?? nodeEvent?.progress])).toEqual([
    ['deep', 'from below'],
    ['inner', 50],
  ]);
});

test('emitCustom throws when a node emits too many events without waiting', async () => {
  let thrown: unknown;
  const { stream } = await setUp((context) => {
    try {
      for (let count = 0; count <= 1000; count++) void context.emitProgress(1);
    } catch (error) {
      thrown = error;
    }
  });
  await all(stream());
  expect(thrown).toMatchObject({ code: 'CONFIGURATION' });
});

test('a node that awaits each event may emit any number', async () => {
  const { stream } = await setUp(async (context) => {
    for (let count = 0; count <= 1001; count++) await context.emitProgress(1);
  });
  expect((await all(stream())).filter(({ nodeEvent }) => nodeEvent)).toHaveLength(1002);
});

test('an error of a router or reducer is streamed as an error of the node', async () => {
  const channels = {
    sum: channel(z.number(), {
      reducer: () => {
        throw new TypeError('no sum');
      },
    }),
  };
  const agent = new StateGraph({ name: 'g', channels })
    .addNode('work', (_: unknown, context) => context.update({ sum: 1 }), { writes: ['sum'] })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ nodeLifecycleEvents: true });
  const { start } = await scenario({ agent });
  const received: unknown[] = [];
  await expect(async () => {
    for await (const { object, nodeEvent } of start()) if (nodeEvent) received.push([object, nodeEvent.message]);
  }).rejects.toThrow('node "work": no sum');
  expect(received).toEqual([
    ['graph.node.start', undefined],
    ['graph.node.error', 'node "work" failed; the reason was reported to the program that runs it'],
  ]);
});
