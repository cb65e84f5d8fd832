import { BaseAgent, type Event, getFunctionCalls, type InvocationContext } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type AnyNodes, type Channels, END, START, StateGraph } from './index.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const ROUNDS = 40;

class Speaker extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield context.createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'well' }] } });
  }
}

const same = (input: unknown): unknown => input;

test.each([0, 1, 2, 3, 4, 5, 6, 7].flatMap((width) => [[width, 'functions'] as const, [width, 'agents'] as const]))(
  'one run resumes with any number of answers, %s %s before each, in this process and in new ones',
  async (width, kind) => {
    const graph = new StateGraph<Channels, AnyNodes>({ name: 'g' });
    const names = Array.from({ length: width }, (_, index) => `n${index}`);
    for (const name of names) {
      if (kind === 'agents') graph.addNode(name, new Speaker({ name: `speaker_${name}` }));
      else graph.addNode(name, same);
    }
    graph.addNode('ask', async (_: unknown, context) => {
      await context.requestInput();
      context.route = context.step < ROUNDS * (width + 1) ? 'again' : 'done';
    });
    const chain = [...names, 'ask'];
    for (const [index, name] of chain.entries()) graph.addEdge(index === 0 ? START : (chain[index - 1] ?? ''), name);
    graph.addRoutes('ask', { again: chain[0] ?? '', done: END });
    const agent = graph.compile({ maxSteps: 1000 });
    const sessionService = new InMemorySessionService();
    await sessionService.createSession(KEY);
    const platform = fixedPlatform();
    const newRunner = () => new Runner({ appName: 'app', agent, sessionService, platform, resumable: true });
    let runner = newRunner();
    const send = (parts: object[]) => runner.run({ userId: 'u', sessionId: 's', newMessage: { parts } });
    let events = await send([{ text: 'hi' }]);
    for (let round = 0; round < ROUNDS; round++) {
      const [question] = events.flatMap(getFunctionCalls);
      if (round % 2 === 1) runner = newRunner();
      events = await send([{ functionResponse: { id: question?.id ?? '', response: { result: round } } }]);
    }
    expect(events.at(-1)?.actions.agentState?.['run'] ?? events.at(-2)?.actions.agentState?.['run']).toBe('end');
    const { events: stored = [] } = (await sessionService.getSession(KEY)) ?? {};
    expect(new Set(stored.map(({ invocationId }) => invocationId)).size).toBe(1);
  },
);
