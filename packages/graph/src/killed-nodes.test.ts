import { type BaseSessionService, ShuttingDownError } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, type GraphAgent, START, StateGraph } from './index.ts';
import { HI } from './fixtures/killed-run.ts';
import { IDS, KEY } from '../../runner/src/fixtures/scenario.ts';

test('a finished function that waits for its turn is not repeated, and writes its channels once', async () => {
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
  abort.abort(new ShuttingDownError('the process ends'));
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
])('a tool that was interrupted, idempotent: %s, gives %j', async (idempotent, output, times) => {
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
  abort.abort(new ShuttingDownError('the process ends'));
  await expect(running).rejects.toThrow();
  const events = await runner().run({ ...IDS, invocationId: stream.invocationId });
  const end = events.findLast(({ actions }) => actions.agentState?.['run'] === 'end');
  expect([end?.actions.agentState?.['output'], runs]).toEqual([output, times]);
});
