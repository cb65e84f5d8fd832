import {
  BasePlugin,
  type CallbackContext,
  type Content,
  type Event,
  type LlmRequest,
  type LlmResponse,
  ModelError,
  type RunConfig,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(
  steps: readonly ScriptedStep[],
  config: Partial<LlmAgentConfig> = {},
  plugins: readonly BasePlugin[] = [],
) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedModel(steps);
  const agent = new LlmAgent({ name: 'bot', model, ...config });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, plugins });
  const run = (runConfig: RunConfig = {}): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] }, runConfig });
  const session = async () => (await sessionService.getSession(KEY)) ?? expect.unreachable();
  return { model, run, session };
}

function saying(text: string): LlmResponse & { content: Content } {
  return { content: { role: 'model', parts: [{ text }] } };
}

const textOf = (event: Event | undefined): string | undefined => event?.content?.parts?.[0]?.text;
const responseOf = (event: Event | undefined) => event?.content?.parts?.[0]?.functionResponse?.response;
const calling: ScriptedStep = { calls: [{ id: 'c1', name: 'f', args: { n: 1 } }] };

function toolOf(
  execute: (args: Record<string, unknown>, context: ToolContext) => unknown = ({ n }) => n,
): FunctionTool {
  return new FunctionTool({ name: 'f', description: '', execute });
}

// The order of all of them.

/** Logs every callback and answers nothing. */
class Logging extends BasePlugin {
  readonly #log: string[];

  constructor(name: string, log: string[]) {
    super(name);
    this.#log = log;
  }

  #note(callback: string): undefined {
    this.#log.push(`${this.name} ${callback}`);
  }

  override beforeAgentCallback(): undefined {
    return this.#note('beforeAgent');
  }

  override afterAgentCallback(): undefined {
    return this.#note('afterAgent');
  }

  override beforeModelCallback(): undefined {
    return this.#note('beforeModel');
  }

  override afterModelCallback(): undefined {
    return this.#note('afterModel');
  }

  override beforeToolSelection(): undefined {
    return this.#note('toolSelection');
  }

  override beforeToolCallback(): undefined {
    return this.#note('beforeTool');
  }

  override afterToolCallback(): undefined {
    return this.#note('afterTool');
  }
}

test('callbacks run around agent, model and tool: plugins in their order, then the agent’s own in theirs', async () => {
  const log: string[] = [];
  const note = (callback: string) => () => void log.push(callback);
  const { run } = await setUp(
    [calling, 'done'],
    {
      tools: [toolOf(note('tool'))],
      beforeAgentCallback: [note('own beforeAgent 1'), note('own beforeAgent 2')],
      afterAgentCallback: note('own afterAgent'),
      beforeModelCallback: [note('own beforeModel 1'), note('own beforeModel 2')],
      afterModelCallback: note('own afterModel'),
      beforeToolCallback: note('own beforeTool'),
      afterToolCallback: note('own afterTool'),
    },
    [new Logging('p1', log), new Logging('p2', log)],
  );
  await run();
  const around = (callback: string, ...own: string[]) => [`p1 ${callback}`, `p2 ${callback}`, ...own];
  const model = [
    ...around('toolSelection'),
    ...around('beforeModel', 'own beforeModel 1', 'own beforeModel 2'),
    ...around('afterModel', 'own afterModel'),
  ];
  expect(log).toEqual([
    ...around('beforeAgent', 'own beforeAgent 1', 'own beforeAgent 2'),
    ...model,
    ...around('beforeTool', 'own beforeTool'),
    'tool',
    ...around('afterTool', 'own afterTool'),
    ...model,
    ...around('afterAgent', 'own afterAgent'),
  ]);
});

// Agents.

test('content of a beforeAgentCallback is said instead of the agent, and nobody is asked after it', async () => {
  const { model, run } = await setUp([], {
    beforeAgentCallback: [() => undefined, () => ({ parts: [{ text: 'closed' }] }), () => expect.unreachable()],
    afterAgentCallback: () => expect.unreachable(),
  });
  const events = await run();
  expect(events).toMatchObject([{ author: 'bot', content: { role: 'model', parts: [{ text: 'closed' }] } }]);
  expect(model.calls).toBe(0);
});

test('content of a plugin’s beforeAgentCallback comes before the agent’s own callback', async () => {
  class Closing extends BasePlugin {
    override beforeAgentCallback(): Content {
      return { parts: [{ text: 'closed' }] };
    }
  }
  const { run } = await setUp([], { beforeAgentCallback: () => expect.unreachable() }, [new Closing('closing')]);
  expect((await run()).map(textOf)).toEqual(['closed']);
});

test('content of an afterAgentCallback is said in addition', async () => {
  const { run } = await setUp(['answer'], {
    afterAgentCallback: [() => ({ parts: [{ text: 'more' }] }), () => expect.unreachable()],
  });
  expect((await run()).map(textOf)).toEqual(['answer', 'more']);
});

test('state of agent callbacks that say nothing goes out in events of its own', async () => {
  const { run, session } = await setUp(['answer'], {
    beforeAgentCallback: ({ state }) => state.set('before', 1),
    afterAgentCallback: ({ state }) => state.set('after', state.get('before')),
  });
  const events = await run();
  expect(events.map((event) => [textOf(event), event.actions.stateDelta])).toEqual([
    [undefined, { before: 1 }],
    ['answer', {}],
    [undefined, { after: 1 }],
  ]);
  expect((await session()).state).toEqual({ before: 1, after: 1 });
});

test('an onAgentErrorCallback can answer for an agent that threw, and the run goes on', async () => {
  const seen: unknown[] = [];
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const { run } = await setUp([lost], {
    onAgentErrorCallback: ({ error }) => {
      seen.push(error);
      return { parts: [{ text: 'Sorry.' }] };
    },
  });
  const events = await run();
  expect(events.map((event) => event.errorCode ?? textOf(event))).toEqual(['UNAVAILABLE', 'Sorry.']);
  expect(seen).toEqual([lost]);
});

test('an onAgentErrorCallback that answers nothing lets the agent fail, with one error event', async () => {
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const { run, session } = await setUp([lost], { onAgentErrorCallback: () => undefined });
  await expect(run()).rejects.toBe(lost);
  expect((await session()).events.map((event) => event.errorCode)).toEqual([undefined, 'UNAVAILABLE']);
});

// Models.

test('a response of a beforeModelCallback is used instead of the model’s, and counts as no model call', async () => {
  const { model, run } = await setUp([], {
    beforeModelCallback: [() => undefined, () => saying('cached'), () => expect.unreachable()],
    afterModelCallback: () => expect.unreachable(),
  });
  expect((await run({ maxLlmCalls: 1 })).map(textOf)).toEqual(['cached']);
  expect(model.calls).toBe(0);
});

test('a response of a beforeModelCallback may call tools', async () => {
  let asked = 0;
  const { run } = await setUp(['done'], {
    tools: [toolOf()],
    beforeModelCallback: () =>
      asked++ === 0 ? { content: { parts: [{ functionCall: { name: 'f', args: { n: 5 } } }] } } : undefined,
  });
  const events = await run();
  expect(responseOf(events[1])).toEqual({ result: 5 });
  expect(textOf(events[2])).toBe('done');
});

test('a beforeModelCallback may change the request, at any depth, and changes nothing else by that', async () => {
  const rewrite = (request: LlmRequest): void => {
    request.config.temperature = 1;
    for (const { parts = [] } of request.contents) {
      for (const part of parts) {
        if (part.text !== undefined) part.text = 'redacted';
        if (part.functionCall?.args) part.functionCall.args['n'] = 0;
      }
    }
    request.contents.push({ role: 'user', parts: [{ text: 'added' }] });
    const [tools] = request.config.tools as { functionDeclarations: { description: string }[] }[];
    for (const declaration of tools?.functionDeclarations ?? []) declaration.description += '!';
  };
  const tool = toolOf();
  const { model, run, session } = await setUp([calling, 'done'], {
    tools: [tool],
    generateContentConfig: { temperature: 0 },
    beforeModelCallback: ({ request }) => rewrite(request),
  });
  await run();
  const { contents, config } = model.requests[1]?.request ?? expect.unreachable();
  expect(contents[0]?.parts).toEqual([{ text: 'redacted' }]);
  expect(contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ n: 0 });
  expect(contents.at(-1)?.parts).toEqual([{ text: 'added' }]);
  expect(config).toMatchObject({
    temperature: 1,
    tools: [{ functionDeclarations: [{ name: 'f', description: '!' }] }],
  });
  const { events } = await session();
  expect(textOf(events[0])).toBe('hi');
  expect(events[1]?.content?.parts?.[0]?.functionCall?.args).toEqual({ n: 1 });
  expect(tool._getDeclaration().description).toBe('');
});

test('a beforeModelCallback may give other tools, also long-running ones', async () => {
  const added = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
  const calls = ['later', 'constructor'].map((name) => ({ id: name, name, args: {} }));
  const { run } = await setUp([{ calls }], {
    beforeModelCallback: ({ request }) => {
      request.toolsDict = { ...request.toolsDict, later: added };
    },
  });
  const [call, response] = await run();
  expect(call?.longRunningToolIds).toEqual(['later']);
  expect(responseOf(response)).toEqual({ error: 'there is no tool named "constructor"; the tools are: later' });
});

test('an afterModelCallback may replace the response', async () => {
  const { run, session } = await setUp(['secret'], {
    afterModelCallback: [
      ({ response }) => (textOf(response as Event) === 'secret' ? { ...response, ...saying('***') } : undefined),
      () => expect.unreachable(),
    ],
  });
  expect((await run()).map(textOf)).toEqual(['***']);
  expect((await session()).events.map(textOf)).toEqual(['hi', '***']);
});

test('an afterModelCallback is asked for each chunk and for the whole', async () => {
  const seen: (string | undefined)[] = [];
  const { run } = await setUp([{ chunks: ['a', 'b'] }], {
    afterModelCallback: async ({ response }) => {
      const text = textOf(response as Event);
      seen.push(text);
      return { ...response, ...saying(`<${text}>`) };
    },
  });
  expect((await run({ streamingMode: 'sse' })).map(textOf)).toEqual(['<a>', '<b>', '<ab>']);
  expect(seen).toEqual(['a', 'b', 'ab']);
});

test('a reply that a callback took the calls from runs none', async () => {
  const { run } = await setUp([calling], {
    tools: [toolOf(() => expect.unreachable())],
    afterModelCallback: () => saying('no calls'),
  });
  expect((await run()).map(textOf)).toEqual(['no calls']);
});

test('an onModelErrorCallback may answer for a model that failed', async () => {
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const { run, session } = await setUp([lost], {
    onModelErrorCallback: [
      ({ error }) => {
        expect(error).toBe(lost);
        return undefined;
      },
      ({ request }) => saying(`asked with ${request.contents.length}`),
      () => expect.unreachable(),
    ],
  });
  expect((await run()).map((event) => [textOf(event), event.errorCode])).toEqual([['asked with 1', undefined]]);
  expect((await session()).events).toHaveLength(2);
});

test('what an onModelErrorCallback does to the request changes nothing of the session', async () => {
  const { run, session } = await setUp([new ModelError('lost', { errorCode: 'UNAVAILABLE' })], {
    onModelErrorCallback: ({ request }) => {
      for (const part of request.contents[0]?.parts ?? []) part.text = 'redacted';
      return saying('sorry');
    },
  });
  await run();
  expect((await session()).events.map(textOf)).toEqual(['hi', 'sorry']);
});

test('what an onModelErrorCallback answers after chunks closes their reply', async () => {
  const { run } = await setUp([{ chunks: ['a'], error: new ModelError('lost', { errorCode: 'UNAVAILABLE' }) }], {
    onModelErrorCallback: () => saying('instead'),
  });
  const events = await run({ streamingMode: 'sse' });
  expect(events.map(textOf)).toEqual(['a', 'instead']);
  expect(events[1]?.responseId).toBe(events[0]?.responseId);
});

test('what model callbacks write to state goes out with the reply', async () => {
  const { run, session } = await setUp(['answer'], {
    beforeModelCallback: ({ context }) => context.state.set('before', 1),
    afterModelCallback: ({ context }) => context.state.set('after', 2),
  });
  expect((await run())[0]?.actions.stateDelta).toEqual({ before: 1, after: 2 });
  expect((await session()).state).toEqual({ before: 1, after: 2 });
});

test('each model call of a run has state changes of its own', async () => {
  let calls = 0;
  const { run } = await setUp([calling, 'done'], {
    tools: [toolOf()],
    beforeModelCallback: ({ context }) => context.state.set('calls', ++calls),
  });
  expect((await run()).map((event) => event.actions.stateDelta)).toEqual([{ calls: 1 }, {}, { calls: 2 }]);
});

test.each(['beforeModelCallback', 'afterModelCallback', 'beforeAgentCallback', 'afterAgentCallback'] as const)(
  'what a %s throws fails the run as an error of the agent',
  async (callback) => {
    const { run, session } = await setUp(['answer'], {
      [callback]: () => {
        throw new RangeError('callback');
      },
      onModelErrorCallback: () => expect.unreachable(),
    });
    await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'callback' });
    expect((await session()).events.at(-1)).toMatchObject({
      errorCode: 'AGENT',
      errorMessage: expect.stringContaining('agent "bot"'),
    });
  },
);

test('what an onModelErrorCallback throws takes the place of the error', async () => {
  const { run } = await setUp([new ModelError('lost', { errorCode: 'UNAVAILABLE' })], {
    onModelErrorCallback: () => {
      throw new RangeError('callback');
    },
  });
  await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'callback' });
});

// Tools.

test('what a beforeToolCallback answers is used instead of the tool', async () => {
  const { run, session } = await setUp([calling, 'done'], {
    tools: [toolOf(() => expect.unreachable())],
    beforeToolCallback: [() => undefined, ({ args }) => ({ cached: args['n'] }), () => expect.unreachable()],
    afterToolCallback: ({ response }) => ({ ...response, after: true }),
  });
  expect(responseOf((await run())[1])).toEqual({ cached: 1, after: true });
  expect((await session()).events).toHaveLength(4);
});

test('a beforeToolCallback may change the arguments of the tool, and the stored call keeps the model’s', async () => {
  const { run } = await setUp([calling, 'done'], {
    tools: [toolOf()],
    beforeToolCallback: ({ args }) => void (args['n'] = 7),
  });
  const events = await run();
  expect(responseOf(events[1])).toEqual({ result: 7 });
  expect(events[0]?.content?.parts?.[0]?.functionCall?.args).toEqual({ n: 1 });
});

test('an afterToolCallback may replace the answer', async () => {
  const { run } = await setUp([calling, 'done'], {
    tools: [toolOf()],
    afterToolCallback: [({ response }) => ({ was: response['result'] }), () => expect.unreachable()],
  });
  expect(responseOf((await run())[1])).toEqual({ was: 1 });
});

test('an onToolErrorCallback may answer for a tool that threw', async () => {
  const { run } = await setUp([calling, 'done'], {
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
  });
  expect(responseOf((await run())[1])).toEqual({ sorry: 'broken', args: { n: 1 }, after: true });
});

test('what a tool callback answers is JSON like what a tool answers', async () => {
  const { run } = await setUp([calling, 'done'], {
    tools: [toolOf()],
    afterToolCallback: () => ({ at: new Date(0), bad: new Map() }),
  });
  expect(responseOf((await run())[1])).toEqual({
    error: 'tool f returned something that is not JSON: the result at bad is a Map, not a plain object',
  });
});

test('tool callbacks and the tool share the context of the call', async () => {
  const ids: string[] = [];
  const note = ({ context }: { context: ToolContext }) => {
    ids.push(context.functionCallId);
    context.state.set('steps', [...(context.state.get<string[]>('steps') ?? []), context.functionCallId]);
  };
  const { run } = await setUp([calling, 'done'], {
    tools: [toolOf((_, context) => note({ context }))],
    beforeToolCallback: note,
    afterToolCallback: note,
  });
  expect((await run())[1]?.actions.stateDelta).toEqual({ steps: ['c1', 'c1', 'c1'] });
  expect(ids).toEqual(['c1', 'c1', 'c1']);
});

test.each(['beforeToolCallback', 'afterToolCallback', 'onToolErrorCallback'] as const)(
  'what a %s throws fails the run',
  async (callback) => {
    const { run } = await setUp([calling], {
      tools: [
        toolOf(() => {
          if (callback === 'onToolErrorCallback') throw new RangeError('tool');
        }),
      ],
      [callback]: () => {
        throw new RangeError('callback');
      },
    });
    await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'callback' });
  },
);

test('when one callback fails the run, calls that run beside it are told to stop', async () => {
  const stopped = Promise.withResolvers<void>();
  const { run } = await setUp(
    [
      {
        calls: [
          { name: 'slow', args: {} },
          { name: 'f', args: {} },
        ],
      },
    ],
    {
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
  );
  await expect(run()).rejects.toThrow('callback');
  await stopped.promise;
});

test('when one callback fails the run, calls that wait for their turn are not begun', async () => {
  const begun: unknown[] = [];
  const { run } = await setUp([{ calls: [0, 1, 2].map((n) => ({ name: 'f', args: { n } })) }], {
    tools: [toolOf(({ n }) => void begun.push(n))],
    afterToolCallback: () => {
      throw new RangeError('callback');
    },
  });
  await expect(run({ maxParallelToolCalls: 1 })).rejects.toThrow('callback');
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  expect(begun).toEqual([0]);
});

// Plugins before the agent's own.

/** Answers one callback. */
class Answering extends BasePlugin {
  constructor(name: string, answers: Partial<Record<keyof BasePlugin, (params: never) => unknown>>) {
    super(name);
    Object.assign(this, answers);
  }
}

test.each([
  ['beforeModelCallback', ['x'], 'model'],
  ['afterModelCallback', ['x'], 'model'],
  ['onModelErrorCallback', [new ModelError('lost', { errorCode: 'UNAVAILABLE' })], 'model'],
  ['beforeToolCallback', [calling, 'x'], 'tool'],
  ['afterToolCallback', [calling, 'x'], 'tool'],
  ['onToolErrorCallback', [calling, 'x'], 'tool'],
] as const)(
  'a plugin’s %s is asked before the agent’s own, and its answer is final',
  async (callback, steps, about) => {
    const answer = about === 'model' ? saying('plugin') : { by: 'plugin' };
    const plugins = [
      new Answering('silent', { [callback]: () => undefined }),
      new Answering('first', { [callback]: () => answer }),
      new Answering('second', { [callback]: () => expect.unreachable() }),
    ];
    const tool = toolOf(() => {
      if (callback === 'onToolErrorCallback') throw new RangeError('broken');
      return 'tool';
    });
    const { run } = await setUp(steps, { tools: [tool], [callback]: () => expect.unreachable() }, plugins);
    const events = await run();
    if (about === 'model') expect(textOf(events[0])).toBe('plugin');
    else expect(responseOf(events[1])).toEqual({ by: 'plugin' });
  },
);

test('a plugin may choose the tools of a request', async () => {
  const tools = ['a', 'b', 'c'].map((name) => new FunctionTool({ name, description: '', execute: () => name }));
  class Choosing extends BasePlugin {
    override beforeToolSelection({ tools: { a, c } }: Parameters<BasePlugin['beforeToolSelection']>[0]) {
      return { ...(c && { c }), ...(a && { a }) };
    }
  }
  const { model, run } = await setUp([{ calls: [{ name: 'b', args: {} }] }, 'ok'], { tools }, [
    new Choosing('choosing'),
  ]);
  const events = await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['c', 'a']);
  expect(responseOf(events[1])).toEqual({ error: 'there is no tool named "b"; the tools are: c, a' });
});

test('a plugin that overrides nothing is not in the way', async () => {
  const { run } = await setUp([calling, 'done'], { tools: [toolOf()] }, [new Answering('idle', {})]);
  expect(await run()).toHaveLength(3);
});

test('a callback may end the invocation: the event it belongs to is the last', async () => {
  const end = ({ context }: { context: CallbackContext }) => context.invocationContext.endInvocation();
  const after = await setUp([calling], { tools: [toolOf(() => expect.unreachable())], afterModelCallback: end });
  expect(await after.run()).toHaveLength(1);

  const agent = await setUp([], { beforeAgentCallback: (context) => end({ context }) });
  expect(await agent.run()).toEqual([]);
});
