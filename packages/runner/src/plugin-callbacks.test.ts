import {
  BasePlugin,
  type BaseTool,
  type CallbackContext,
  ModelError,
  type ToolProcessLlmRequest,
} from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { callF, reply, toolOf } from './fixtures/called-tool.ts';
import { responseOf, scenario, textOf } from './fixtures/scenario.ts';

// The order of all of them.

/** A plugin that logs every callback and returns nothing. */
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

// Plugins before the agent's own.

/** A plugin that returns an answer from one callback. */
class Answering extends BasePlugin {
  constructor(name: string, answers: Partial<Record<keyof BasePlugin, (params: never) => unknown>>) {
    super(name);
    Object.assign(this, answers);
  }
}

test("callbacks run around agent, model and tool: plugins in order, then the agent's own", async () => {
  const log: string[] = [];
  const note = (callback: string) => () => void log.push(callback);
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf(note('tool'))],
      beforeAgentCallback: [note('own beforeAgent 1'), note('own beforeAgent 2')],
      afterAgentCallback: note('own afterAgent'),
      beforeModelCallback: [note('own beforeModel 1'), note('own beforeModel 2')],
      afterModelCallback: note('own afterModel'),
      beforeToolCallback: note('own beforeTool'),
      afterToolCallback: note('own afterTool'),
    },
    plugins: [new Logging('p1', log), new Logging('p2', log)],
  });
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

test.each([
  ['beforeModelCallback', ['x'], 'model'],
  ['afterModelCallback', ['x'], 'model'],
  ['onModelErrorCallback', [new ModelError('lost', { errorCode: 'UNAVAILABLE' })], 'model'],
  ['beforeToolCallback', [callF, 'x'], 'tool'],
  ['afterToolCallback', [callF, 'x'], 'tool'],
  ['onToolErrorCallback', [callF, 'x'], 'tool'],
] as const)("a plugin's %s runs before the agent's own, and its answer is final", async (callback, steps, about) => {
  const answer = about === 'model' ? reply('plugin') : { by: 'plugin' };
  const plugins = [
    new Answering('silent', { [callback]: () => undefined }),
    new Answering('first', { [callback]: () => answer }),
    new Answering('second', { [callback]: () => expect.unreachable() }),
  ];
  const tool = toolOf(() => {
    if (callback === 'onToolErrorCallback') throw new RangeError('broken');
    return 'tool';
  });
  const { run } = await scenario({
    model: steps,
    agent: { tools: [tool], [callback]: () => expect.unreachable() },
    plugins,
  });
  const events = await run();
  if (about === 'model') expect(textOf(events[0])).toBe('plugin');
  else expect(responseOf(events[1])).toEqual({ by: 'plugin' });
});

test('a plugin may select the tools of a request', async () => {
  const tools = ['a', 'b', 'c'].map((name) => new FunctionTool({ name, description: '', execute: () => name }));
  class Choosing extends BasePlugin {
    override beforeToolSelection({ tools: { a, c } }: Parameters<BasePlugin['beforeToolSelection']>[0]) {
      return { ...(c && { c }), ...(a && { a }) };
    }
  }
  const { model, run } = await scenario({
    model: [{ calls: [{ name: 'b', args: {} }] }, 'ok'],
    agent: { tools },
    plugins: [new Choosing('choosing')],
  });
  const events = await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['c', 'a']);
  expect(responseOf(events[1])).toEqual({ error: 'there is no tool named "b"; the tools are: c, a' });
});

test('a plugin that selects a tool which the agent does not have selects nothing', async () => {
  class Choosing extends BasePlugin {
    override beforeToolSelection({ tools }: Parameters<BasePlugin['beforeToolSelection']>[0]) {
      return { a: tools['a'], other: tools['other'] } as Record<string, BaseTool>;
    }
  }
  const tools = ['a', 'b'].map((name) => new FunctionTool({ name, description: '', execute: () => name }));
  const { model, run } = await scenario({ model: ['ok'], agent: { tools }, plugins: [new Choosing('choosing')] });
  await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['a']);
});

test('a plugin without overrides changes nothing', async () => {
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: { tools: [toolOf()] },
    plugins: [new Answering('idle', {})],
  });
  expect(await run()).toHaveLength(3);
});

/** A plugin that changes state while tools are selected and while a tool processes the request. */
class Selecting extends BasePlugin {
  override beforeToolSelection({ callbackContext: { state } }: Parameters<BasePlugin['beforeToolSelection']>[0]) {
    state.set('selected', Number(state.get('selected') ?? 0) + 1);
    return undefined;
  }
}
class Noting extends FunctionTool {
  override async processLlmRequest(params: ToolProcessLlmRequest): Promise<void> {
    params.toolContext.state.set('noted', true);
    return super.processLlmRequest(params);
  }
}

test("state changes made while tools are selected and requests are built are stored with the model's reply", async () => {
  const tools = [new Noting({ name: 'f', description: '', execute: ({ n }) => n })];
  const { run, session } = await scenario({
    model: [callF, 'done'],
    agent: { tools },
    plugins: [new Selecting('selecting')],
  });
  const deltas = (await run()).map(({ actions }) => actions.stateDelta);
  expect(deltas).toEqual([{ selected: 1, noted: true }, {}, { selected: 2, noted: true }]);
  expect((await session()).state).toEqual({ selected: 2, noted: true });
});

test('state changes made while tools are selected for a resumed call are stored before its response', async () => {
  const tools = [new Noting({ name: 'f', description: '', requireConfirmation: true, execute: ({ n }) => n })];
  const { run, session } = await scenario({
    model: [callF, 'done'],
    agent: { tools },
    plugins: [new Selecting('selecting')],
  });
  const id = (await run()).flatMap((event) => event.longRunningToolIds ?? [])[0] ?? '';
  const events = await run({ functionResponse: { id, response: { confirmed: true } } });
  expect(events.map(({ actions }) => actions.stateDelta['selected'])).toEqual([2, undefined, 3]);
  // The changes are an event of their own, because no model is called before the response.
  expect(events[0]).toMatchObject({ object: 'preprocessing.tools' });
  expect((await session()).state).toEqual({ selected: 3, noted: true });
});

test("a plugin's afterAgentCallback alone adds its content, and its state, to the run", async () => {
  const afterAgentCallback = ({ callbackContext }: { callbackContext: CallbackContext }) => {
    callbackContext.state.set('seen', true);
    return { role: 'model', parts: [{ text: 'and this' }] };
  };
  const { run, stored, state } = await scenario({
    model: ['done'],
    plugins: [new Answering('p', { afterAgentCallback })],
  });
  expect((await run()).map(textOf)).toEqual(['done', 'and this']);
  expect((await stored()).map(textOf)).toEqual(['hi', 'done', 'and this']);
  expect(await state()).toEqual({ seen: true });
});

test('a plugin that returns false from a callback of an agent or a model does not replace the callbacks of the agent', async () => {
  const isOff = (): unknown => false;
  const names = ['beforeAgentCallback', 'afterAgentCallback', 'beforeModelCallback', 'afterModelCallback'] as const;
  const called: string[] = [];
  const note = (name: string) => () => void called.push(name);
  const { run } = await scenario({
    model: ['done'],
    plugins: [new Answering('p', Object.fromEntries(names.map((name) => [name, isOff])))],
    agent: Object.fromEntries(names.map((name) => [name, note(name)])),
  });
  expect((await run()).map(textOf)).toEqual(['done']);
  expect(called).toEqual(['beforeAgentCallback', 'beforeModelCallback', 'afterModelCallback', 'afterAgentCallback']);
});
