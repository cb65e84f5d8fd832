import { AgentTool } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, START, StateGraph } from './index.ts';
import { scenario, scripted } from '../../runner/src/fixtures/scenario.ts';

test.each([false, true])(
  'node events are streamed immediately from a graph that is called as a tool, streamInner: %s',
  async (streamInner) => {
    const gate = new Gate();
    const taken: boolean[] = [];
    const graph = new StateGraph({ name: 'graph' })
      .addNode('work', async (_: string, context) => {
        taken.push(await context.emitProgress(40, 'reading'));
        await gate.pass();
        return 'done';
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ nodeLifecycleEvents: true });
    const tools = [new AgentTool({ agent: graph, streamInner })];
    const agent = scripted('caller', [{ calls: [{ name: 'graph', args: { request: 'x' } }] }, 'fine'], { tools });
    const { start, stored } = await scenario({ agent });
    const received: unknown[] = [];
    for await (const { author, nodeEvent } of start()) {
      if (nodeEvent) received.push([author, nodeEvent.eventType]);
      // The node still waits, so its events arrive before its end.
      if (nodeEvent?.progress === 40) gate.open();
    }
    expect(received).toEqual(['start', 'progress', 'complete'].map((type) => ['work', type]));
    expect(taken).toEqual([true]);
    expect((await stored()).some(({ nodeEvent }) => nodeEvent)).toBe(false);
  },
);

test("events of a graph that is a node's tool are streamed", async () => {
  const received = new StateGraph({ name: 'report' })
    .addNode('deep', (_: string, context) => void context.emitText('so far'))
    .addEdge(START, 'deep')
    .addEdge('deep', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('ask', (text: string) => ({ request: text }))
    .addNode('report', new AgentTool({ agent: received }))
    .addEdge(START, 'ask')
    .addEdge('ask', 'report')
    .addEdge('report', END)
    .compile();
  const events = await (await scenario({ agent })).run('x');
  expect(events.flatMap(({ nodeEvent }) => nodeEvent?.message ?? [])).toEqual(['so far']);
});

test("a node's custom events are not delayed by the held-back answer of an earlier agent", async () => {
  const gate = new Gate();
  const graph = new StateGraph({ name: 'graph' })
    .addNode('writer', scripted('writer', [{ chunks: ['a ', 'poem'] }]))
    .addNode('after', async (_: unknown, context) => {
      void context.emitText('reading it');
      await gate.pass();
      return 'done';
    })
    .addEdge(START, 'writer')
    .addEdge('writer', 'after')
    .addEdge('after', END)
    .compile();
  const tools = [new AgentTool({ agent: graph, streamInner: true })];
  const agent = scripted('caller', [{ calls: [{ name: 'graph', args: { request: 'x' } }] }, 'fine'], { tools });
  const { start } = await scenario({ agent });
  const runConfig = { streamingMode: 'sse' } as const;
  let received = 0;
  for await (const { nodeEvent } of start('hi', { runConfig })) {
    if (!nodeEvent) continue;
    received++;
    gate.open();
  }
  expect(received).toBe(1);
});
