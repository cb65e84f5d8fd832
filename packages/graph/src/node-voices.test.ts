import { AgentTool } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, START, StateGraph } from './index.ts';
import { IDS, KEY, llm, setUp } from './fixtures/graph-agent-run.ts';

test.each([false, true])('what nodes tell is told at once under a tool too, streamInner: %s', async (streamInner) => {
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
  const agent = llm('caller', [{ calls: [{ name: 'graph', args: { request: 'x' } }] }, 'fine'], { tools });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const told: unknown[] = [];
  for await (const { author, nodeEvent } of runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } })) {
    if (nodeEvent) told.push([author, nodeEvent.eventType]);
    // The node waits: what it told is here before it is done.
    if (nodeEvent?.progress === 40) gate.open();
  }
  expect(told).toEqual(['start', 'progress', 'complete'].map((type) => ['work', type]));
  expect(taken).toEqual([true]);
  expect((await sessionService.getSession(KEY))?.events.some(({ nodeEvent }) => nodeEvent)).toBe(false);
});

test('what nodes of a graph tell that is a tool of a node is told as well', async () => {
  const told = new StateGraph({ name: 'told' })
    .addNode('deep', (_: string, context) => void context.emitText('so far'))
    .addEdge(START, 'deep')
    .addEdge('deep', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('ask', (text: string) => ({ request: text }))
    .addNode('told', new AgentTool({ agent: told }))
    .addEdge(START, 'ask')
    .addEdge('ask', 'told')
    .addEdge('told', END)
    .compile();
  const events = await (await setUp(agent)).say('x');
  expect(events.flatMap(({ nodeEvent }) => nodeEvent?.message ?? [])).toEqual(['so far']);
});

test('what a node tells does not wait for what may be the last words of an agent before it', async () => {
  const gate = new Gate();
  const graph = new StateGraph({ name: 'graph' })
    .addNode('writer', llm('writer', [{ chunks: ['a ', 'poem'] }]))
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
  const agent = llm('caller', [{ calls: [{ name: 'graph', args: { request: 'x' } }] }, 'fine'], { tools });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform() });
  const runConfig = { streamingMode: 'sse' } as const;
  let told = 0;
  for await (const { nodeEvent } of runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'hi' }] }, runConfig })) {
    if (!nodeEvent) continue;
    told++;
    gate.open();
  }
  expect(told).toBe(1);
});
