import {
  BaseAgent,
  type BaseSessionService,
  type Event,
  getFunctionResponses,
  type InvocationContext,
  requestInput,
} from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { findLooseEnds, Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { dying } from '../../runner/src/stored-runs/fixtures/dying-service.ts';
import { CustomAgent, textEvent } from '../../runner/src/fixtures/custom-agent.ts';
import { planned, playing, wait } from '../../runner/src/fixtures/planned-agent.ts';
import { call, IDS, KEY, scenario, scripted } from '../../runner/src/fixtures/scenario.ts';
import { passTimeUntil } from '../../runner/src/fixtures/storage-outage.ts';
import { HI } from './fixtures/killed-run.ts';
import { END, START, StateGraph } from './index.ts';

class Asking extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    if ((yield* requestInput(context, { message: '?' })) !== undefined) yield textEvent(context, 'thanks');
  }
}

/** Reads a run to its end. Returns false if it fails, for example because its process is killed. */
async function endsWell(stream: AsyncIterable<unknown>): Promise<boolean> {
  try {
    for await (const _ of stream);
    return true;
  } catch {
    return false;
  }
}

test('calls of an attempt that timed out get responses, whenever the process is killed', async () => {
  let isWhole = false;
  for (let at = 1; !isWhole; at++) {
    const platform = fixedPlatform();
    const sessionService = new InMemorySessionService({ platform });
    await sessionService.createSession(KEY);
    let calls = 0;
    const slow = new FunctionTool({
      name: 'slow',
      description: '',
      execute: (_, { abortSignal }) => (++calls === 1 ? new Gate().pass(abortSignal) : 'done'),
    });
    const runnerOn = (service: BaseSessionService) => {
      const worker = scripted('worker', [{ calls: [call('slow')] }, 'done', 'done'], { tools: [slow] });
      const agent = new StateGraph({ name: 'g' })
        .addNode('worker', worker, { timeoutMs: 500, retry: { maxAttempts: 3 } })
        .addEdge(START, 'worker')
        .addEdge('worker', END)
        .compile();
      return new Runner({ appName: 'app', agent, sessionService: service, platform, resumable: true });
    };
    const stream = runnerOn(dying(sessionService, at, true).service).runAsync(HI);
    isWhole = await passTimeUntil(platform, endsWell(stream));
    const { invocationId } = stream;
    if ((await sessionService.findRun({ ...KEY, id: invocationId }))?.open)
      await passTimeUntil(platform, runnerOn(sessionService).run({ ...IDS, invocationId }));
    expect(await findLooseEnds(sessionService, KEY), `killed at commit ${at}`).toEqual([]);
  }
});

test('a request of an attempt that failed is cancelled, also of an agent that its agent called', async () => {
  const asks = { calls: [call('wait')] };
  const deep = scripted('deep', [asks, asks, 'answered'], { tools: [wait] });
  const callDeep = { calls: [call('deep', { request: 'x' })] };
  const mid = scripted('mid', [callDeep, callDeep, 'done'], { tools: [new AgentTool({ agent: deep })] });
  let attempts = 0;
  const fails = new CustomAgent('fails', async function* (context) {
    if (++attempts > 1) return;
    const hasAsked = (): Promise<boolean> =>
      played.stored().then((events) => events.some(({ longRunningToolIds }) => longRunningToolIds));
    while (!(await hasAsked())) yield textEvent(context, 'not yet');
    // The agents around the call pause meanwhile.
    for (let turn = 0; turn < 20; turn++) yield textEvent(context, 'not yet');
    throw new TypeError('broken');
  });
  const agent = new StateGraph({ name: 'g' })
    .addNode('both', new ParallelAgent({ name: 'both', subAgents: [mid, fails] }), { retry: { maxAttempts: 2 } })
    .addEdge(START, 'both')
    .addEdge('both', END)
    .compile();
  const played = await scenario({ agent, resumable: true });
  await passTimeUntil(played.platform, played.run());
  const { all, waiting } = new Calls(await played.stored());
  expect(all.filter(({ call: made }) => made.name === 'wait')).toHaveLength(2);
  expect(waiting.map(({ event }) => event.branch)).toEqual([expect.stringContaining('!2')]);
});

test('an attempt whose inner agent waits for a person does not time out', async () => {
  const asks = scripted('asks', [{ calls: [call('wait', {}, 'c1')] }, 'answered'], { tools: [wait] });
  let attempts = 0;
  const agent = new StateGraph({ name: 'g' })
    .addNode(
      'a',
      async (_: unknown, context) => {
        const asking = context.runNode(asks, 'go');
        if (++attempts > 1) return asking;
        await Promise.allSettled([asking, new Gate().pass(context.abortSignal)]);
        return 'never';
      },
      { timeoutMs: 500, retry: { maxAttempts: 2 } },
    )
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile();
  const { run, platform, stored, sessionService } = await scenario({ agent, resumable: true });
  const invocationId = (await passTimeUntil(platform, run()))[0]?.invocationId ?? '';
  expect(new Calls(await stored()).waiting.map(({ id }) => id)).toEqual(['c1']);
  const answer = { functionResponse: { id: 'c1', name: 'wait', response: { result: 'late' } } };
  const events = await passTimeUntil(platform, run(answer, { invocationId }));
  expect(events.some(({ content }) => content?.parts?.[0]?.text === 'answered')).toBe(true);
  expect(attempts).toBe(2);
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test('a question of an agent is answered in the attempt of the function that asked it', async () => {
  let ran = 0;
  let failed = false;
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => ++ran });
  const asker = () =>
    planned('asker', [[['pay', 'c1']]], [pay], {
      beforeModelCallback: () => {
        if (failed) return undefined;
        failed = true;
        throw new TypeError('broken once');
      },
    });
  const { say, answer, asked, responses, expectNoLooseEnds } = await playing(() =>
    new StateGraph({ name: 'g' })
      .addNode('n', (_: unknown, context) => context.runNode(asker(), 'go'), {
        retry: { maxAttempts: 2, initialDelayMs: 0 },
      })
      .addEdge(START, 'n')
      .addEdge('n', END)
      .compile(),
  );
  await say();
  await answer([(await asked())[0] ?? '', { confirmed: true }]);
  expect(ran).toBe(1);
  expect((await responses()).at(-1)).toEqual(['c1', { result: 1 }]);
  await expectNoLooseEnds();
});

test('an attempt that times out and waits has stored the responses of what it stopped, and shown what it cancelled', async () => {
  const slow = new FunctionTool({ name: 'slow', description: '', execute: () => new Gate().pass() });
  const one = planned('one', [[['wait', 'q1']]], [wait]);
  const other = planned(
    'other',
    [
      [
        ['wait', 'q2'],
        ['slow', 's1'],
      ],
    ],
    [wait, slow],
  );
  const agent = new StateGraph({ name: 'g' })
    .addNode('n', (_: unknown, context) => Promise.all([context.runNode(one, 'go'), context.runNode(other, 'go')]), {
      timeoutMs: 500,
    })
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile();
  const { run, platform, stored, sessionService } = await scenario({ agent, resumable: true });
  const shown = (await passTimeUntil(platform, run())).flatMap(getFunctionResponses);
  const { all, waiting } = new Calls(await stored());
  expect(waiting.map(({ id }) => id)).toEqual(['q1']);
  expect(all.filter(({ responses }) => responses.length === 0).map(({ id }) => id)).toEqual(['q1']);
  expect(shown.filter(({ response }) => response?.['error'] === 'cancelled').map(({ id }) => id)).toEqual(['q2']);
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
});

test.each([
  ['an agent', (): BaseAgent => new Asking({ name: 'asks' })],
  [
    'a graph',
    (): BaseAgent =>
      new StateGraph({ name: 'asks' })
        .addNode('q', async (_: unknown, context) => (await context.requestInput({ message: '?' })) === 'yes')
        .addEdge(START, 'q')
        .addEdge('q', END)
        .compile(),
  ],
])('%s asks again if its question was cancelled with an agent around it that is continued', async (_, asks) => {
  let fails = true;
  const { say, answer, stored, expectNoLooseEnds } = await playing(() => {
    const breaks = new CustomAgent('breaks', async function* (context) {
      if (!fails) return;
      fails = false;
      while (!(await stored()).some(({ content }) => content?.parts?.[0]?.functionCall?.name === 'adk_request_input'))
        yield textEvent(context, 'not yet');
      for (let turn = 0; turn < 20; turn++) yield textEvent(context, 'not yet');
      throw new TypeError('broken once');
    });
    const both = new ParallelAgent({ name: 'both', subAgents: [asks(), breaks] });
    const one = planned('one', [[['wait', 'q1']]], [wait]);
    return new StateGraph({ name: 'g' })
      .addNode('n', async (_: unknown, context) => {
        await Promise.allSettled([context.runNode(one, 'go'), context.runNode(both, 'go')]);
        return 'done';
      })
      .addEdge(START, 'n')
      .addEdge('n', END)
      .compile();
  });
  await say();
  await answer(['q1', { result: 1 }]);
  await expectNoLooseEnds();
  const open = new Calls(await stored()).waiting.map(({ id }) => id);
  expect(open).toHaveLength(1);
  await answer([open[0] ?? '', { result: 'yes' }]);
  expect((await stored()).at(-1)?.object).toBe('runner.end');
  await expectNoLooseEnds();
});

test('the question of a graph is cancelled when its run fails, because no later run takes the answer', async () => {
  const { say, stored, expectNoLooseEnds } = await playing(() => {
    const graph = new StateGraph({ name: 'g' })
      .addNode('q', async (_: unknown, context) => (await context.requestInput({ message: '?' })) === 'yes')
      .addEdge(START, 'q')
      .addEdge('q', END)
      .compile();
    const fails = new CustomAgent('fails', async function* (context) {
      while (!(await stored()).some(({ longRunningToolIds }) => longRunningToolIds))
        yield textEvent(context, 'not yet');
      throw new TypeError('broken');
    });
    return new ParallelAgent({ name: 'both', subAgents: [graph, fails] });
  });
  await expect(say()).rejects.toThrow('broken');
  expect(new Calls(await stored()).waiting).toEqual([]);
  expect((await stored()).flatMap(getFunctionResponses)[0]?.response?.['error']).toBe('cancelled');
  await expectNoLooseEnds();
});

test.each(['as a node', 'run by a function'])(
  'an agent that an idempotent tool does not await cannot wait once the tool has returned, %s',
  async (place) => {
    const inner = new AgentTool({ agent: planned('asker', [[['wait', 'w1']]], [wait]) });
    const launch = new FunctionTool({
      name: 'launch',
      description: '',
      idempotent: true,
      execute: (_, toolContext) => {
        inner.runAsync({ args: { request: 'x' }, toolContext }).catch(() => undefined);
        return 'launched';
      },
    });
    const { say, answer, stored, expectNoLooseEnds } = await playing(() => {
      const graph = new StateGraph({ name: 'g' });
      const withNode =
        place === 'as a node'
          ? graph.addNode('n', launch).addNode('first', () => ({}))
          : graph.addNode('n', (_: unknown, context) => context.runNode(launch, {})).addNode('first', () => ({}));
      return withNode.addEdge(START, 'first').addEdge('first', 'n').addEdge('n', END).compile();
    });
    await say();
    expect((await stored()).at(-1)?.object).toBe('runner.end');
    await expect(answer(['w1', { result: 42 }])).rejects.toThrow('was cancelled');
    await expectNoLooseEnds();
  },
);

test.each([
  ['an idempotent tool', 'as a node', true],
  ['an idempotent tool', 'run by a function', true],
  ['a tool', 'as a node', false],
  ['a tool', 'run by a function', false],
])(
  'an agent that %s does not await leaves no call beside a node that asks, whenever the process is killed, %s',
  async (_what, place, idempotent) => {
    let isWhole = false;
    for (let at = 1; !isWhole; at++) {
      const platform = fixedPlatform();
      const sessionService = new InMemorySessionService({ platform });
      await sessionService.createSession(KEY);
      let launches = 0;
      const inner = new AgentTool({ agent: planned('asker', [[['wait', 'w1']]], [wait]) });
      const launch = new FunctionTool({
        name: 'launch',
        description: '',
        idempotent,
        execute: (_, toolContext) => {
          launches++;
          inner.runAsync({ args: { request: 'x' }, toolContext }).catch(() => undefined);
          return 'launched';
        },
      });
      const runnerOn = (service: BaseSessionService) => {
        const graph = new StateGraph({ name: 'g' });
        const withNode = (
          place === 'as a node'
            ? graph.addNode('n', launch)
            : graph.addNode('n', (_: unknown, context) => context.runNode(launch, {}))
        ).addNode('first', () => ({}));
        const agent = withNode
          .addNode('ask', async (_: unknown, context) => context.requestInput({ message: 'Which city?' }))
          .addEdge(START, 'first')
          .addEdge('first', 'n')
          .addEdge('first', 'ask')
          .addEdge('n', END)
          .addEdge('ask', END)
          .compile();
        return new Runner({ appName: 'app', agent, sessionService: service, platform, resumable: true });
      };
      const stream = runnerOn(dying(sessionService, at, true).service).runAsync(HI);
      isWhole = await passTimeUntil(platform, endsWell(stream));
      const { invocationId } = stream;
      const runner = runnerOn(sessionService);
      if ((await sessionService.findRun({ ...KEY, id: invocationId }))?.open)
        await passTimeUntil(platform, runner.run({ ...IDS, invocationId }));
      const { events } = (await sessionService.getSession(KEY)) ?? expect.unreachable();
      for (const { id } of new Calls(events).waiting) {
        const parts = [{ functionResponse: { id, response: { result: 42 } } }];
        await passTimeUntil(platform, runner.run({ ...IDS, newMessage: { parts } }));
      }
      expect(await findLooseEnds(sessionService, KEY), `killed at commit ${at}`).toEqual([]);
      expect(new Calls((await sessionService.getSession(KEY))?.events).waiting).toEqual([]);
      expect(launches, `killed at commit ${at}`).toBeLessThanOrEqual(idempotent && !isWhole ? 2 : 1);
    }
  },
);

test.each(['as a node', 'run by a function'])('an agent that a tool awaits cannot wait, %s', async (place) => {
  const inner = new AgentTool({ agent: planned('asker', [[['wait', 'w1']]], [wait]) });
  const wrap = new FunctionTool({
    name: 'wrap',
    description: '',
    execute: async (_, toolContext) => ({ wrapped: await inner.runAsync({ args: { request: 'x' }, toolContext }) }),
  });
  const { say, answer, stored, expectNoLooseEnds } = await playing(() => {
    const graph = new StateGraph({ name: 'g' }).addNode('first', () => ({ request: 'x' }));
    const withNode =
      place === 'as a node'
        ? graph.addNode('n', wrap)
        : graph.addNode('n', (_: unknown, context) => context.runNode(wrap, { request: 'x' }));
    return withNode.addEdge(START, 'first').addEdge('first', 'n').addEdge('n', END).compile();
  });
  await say();
  expect((await stored()).at(-1)?.object).toBe('runner.end');
  await expect(answer(['w1', { result: 42 }])).rejects.toThrow('was cancelled');
  await expectNoLooseEnds();
});
