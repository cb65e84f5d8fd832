import { BasePlugin, type ToolContext } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { callF, toolOf } from './fixtures/called-tool.ts';
import { responseOf, scenario } from './fixtures/scenario.ts';

// Tools.

test('a response from beforeToolCallback replaces the tool', async () => {
  const { run, session } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf(() => expect.unreachable())],
      beforeToolCallback: [() => undefined, ({ args }) => ({ cached: args['n'] }), () => expect.unreachable()],
      afterToolCallback: ({ response }) => ({ ...response, after: true }),
    },
  });
  expect(responseOf((await run())[1])).toEqual({ cached: 1, after: true });
  expect((await session()).events).toHaveLength(4);
});

test("beforeToolCallback may change the arguments, and the stored call keeps the model's", async () => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf()],
      beforeToolCallback: ({ args }) => void (args['n'] = 7),
    },
  });
  const events = await run();
  expect(responseOf(events[1])).toEqual({ result: 7 });
  expect(events[0]?.content?.parts?.[0]?.functionCall?.args).toEqual({ n: 1 });
});

test('afterToolCallback may replace the response', async () => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf()],
      afterToolCallback: [({ response }) => ({ was: response }), () => expect.unreachable()],
    },
  });
  expect(responseOf((await run())[1])).toEqual({ was: 1 });
});

test.each([42, 'text', null, undefined, [1, 2], { a: 1 }])(
  'an afterToolCallback and a plugin get %j unchanged from the tool',
  async (returned) => {
    const seen: unknown[] = [];
    class Watch extends BasePlugin {
      override afterToolCallback({ result }: { result: unknown }): undefined {
        seen.push(result);
      }
    }
    const { run } = await scenario({
      model: [callF, 'done'],
      plugins: [new Watch('watch')],
      agent: { tools: [toolOf(() => returned)], afterToolCallback: ({ response }) => void seen.push(response) },
    });
    await run();
    expect(seen).toEqual([returned, returned]);
  },
);

// The type allows objects only; a program without types returns what it likes.
test.each([false, 0, ''])('%j of a callback around a tool is a result, as in the ADK', async (value) => {
  const answer = (): never => value as never;
  const before = await scenario({
    model: [callF, 'done'],
    agent: { tools: [toolOf(() => expect.unreachable())], beforeToolCallback: answer },
  });
  expect(responseOf((await before.run())[1])).toEqual({ result: value });
  const after = await scenario({ model: [callF, 'done'], agent: { tools: [toolOf()], afterToolCallback: answer } });
  expect(responseOf((await after.run())[1])).toEqual({ result: value });
});

test.each([
  ['another result', () => ({ a: 1 }), { a: 1 }],
  ['nothing', () => undefined, { result: 1 }],
])('the callback after one that returns false may return %s', async (_title, second, response) => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: { tools: [toolOf()], beforeToolCallback: [(): never => false as never, second] },
  });
  expect(responseOf((await run())[1])).toEqual(response);
});

test('an afterToolCallback may return the result of a long-running tool that returned none', async () => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [new FunctionTool({ name: 'f', description: 'f', isLongRunning: true, execute: () => undefined })],
      afterToolCallback: () => ({ at: 'once' }),
    },
  });
  expect(responseOf((await run())[1])).toEqual({ at: 'once' });
});

test('onToolErrorCallback may return the response of a tool that threw', async () => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [
        toolOf(() => {
          throw new RangeError('broken');
        }),
      ],
      onToolErrorCallback: [
        () => undefined,
        ({ error, args }) => ({ sorry: error.message, args }),
        () => expect.unreachable(),
      ],
      afterToolCallback: ({ response }) => ({ ...response, after: true }),
    },
  });
  expect(responseOf((await run())[1])).toEqual({ sorry: 'broken', args: { n: 1 }, after: true });
});

test('onToolErrorCallback is called for arguments that do not match the schema', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    parameters: { type: 'object', properties: { n: { type: 'string' } } },
    execute: () => expect.unreachable(),
  });
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: { tools: [tool], onToolErrorCallback: ({ error }) => ({ sorry: error.message }) },
  });
  const sorry = expect.stringMatching(/^the arguments of f are not valid: n: /);
  expect(responseOf((await run())[1])).toEqual({ sorry });
});

test('responses of tool callbacks become JSON like tool results', async () => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf()],
      afterToolCallback: () => ({ at: new Date(0), bad: 5n }),
    },
  });
  expect(responseOf((await run())[1])).toEqual({
    error: 'tool f returned a value that is not JSON: the result at bad is a bigint',
  });
});

const broken = {
  get at(): string {
    throw new Error('the printer is out of paper');
  },
};

test.each([
  ['a tool', {}],
  ['a callback after a tool', { afterToolCallback: () => broken }],
])('a value of %s with a getter that throws is an error for the model', async (_, callbacks) => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: { tools: [new FunctionTool({ name: 'f', description: '', execute: () => broken })], ...callbacks },
  });
  expect(responseOf((await run())[1])).toEqual({
    error:
      'tool f returned a value that is not JSON: the result has a getter or a toJSON that threw: the printer is out of paper',
  });
});

test("tool callbacks and the tool share the call's context", async () => {
  const ids: string[] = [];
  const note = ({ context }: { context: ToolContext }) => {
    ids.push(context.functionCallId);
    context.state.set('steps', [...(context.state.get<string[]>('steps') ?? []), context.functionCallId]);
  };
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf((_, context) => note({ context }))],
      beforeToolCallback: note,
      afterToolCallback: note,
    },
  });
  expect((await run())[1]?.actions.stateDelta).toEqual({ steps: ['c1', 'c1', 'c1'] });
  expect(ids).toEqual(['c1', 'c1', 'c1']);
});

test.each(['beforeToolCallback', 'afterToolCallback', 'onToolErrorCallback'] as const)(
  'an error in %s fails the run',
  async (callback) => {
    const { run } = await scenario({
      model: [callF],
      agent: {
        tools: [
          toolOf(() => {
            if (callback === 'onToolErrorCallback') throw new RangeError('tool');
          }),
        ],
        [callback]: () => {
          throw new RangeError('callback');
        },
      },
    });
    await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: callback' });
  },
);

test('when a callback fails the run, concurrent calls are aborted', async () => {
  const stopped = Promise.withResolvers<void>();
  const { run } = await scenario({
    model: [
      {
        calls: [
          { name: 'slow', args: {} },
          { name: 'f', args: {} },
        ],
      },
    ],
    agent: {
      tools: [
        new FunctionTool({
          name: 'slow',
          description: '',
          execute: (_, { abortSignal }) =>
            new Promise((resolve) =>
              abortSignal.addEventListener('abort', () => {
                stopped.resolve();
                resolve('stopped');
              }),
            ),
        }),
        toolOf(),
      ],
      beforeToolCallback: ({ tool }) => {
        if (tool.name === 'f') throw new RangeError('callback');
      },
    },
  });
  await expect(run()).rejects.toThrow('callback');
  await stopped.promise;
});

test('when a callback fails the run, waiting calls do not start', async () => {
  const begun: unknown[] = [];
  const { run } = await scenario({
    model: [{ calls: [0, 1, 2].map((n) => ({ name: 'f', args: { n } })) }],
    agent: {
      tools: [toolOf(({ n }) => void begun.push(n))],
      afterToolCallback: () => {
        throw new RangeError('callback');
      },
    },
  });
  await expect(run('hi', { runConfig: { maxParallelToolCalls: 1 } })).rejects.toThrow('callback');
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  expect(begun).toEqual([0]);
});
