import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ActiveOperation,
  type BaseAgent,
  BaseLlm,
  type Instrumentation,
  ModelError,
  type Operation,
  type OperationEnd,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { Runner } from './runner.ts';
import { scenario, scripted } from './fixtures/scenario.ts';

interface Span {
  readonly name: string;
  readonly parent: string | undefined;
  readonly ends: OperationEnd[];
  responses: number;
}

/** Records spans as a tracer does: the parent of a span is the span that is active when it starts. */
class Recorder implements Instrumentation {
  readonly spans: Span[] = [];
  readonly active = new AsyncLocalStorage<string>();
  /** Spans whose parent, as the runner gives it, is not the active span. */
  readonly differing: string[] = [];
  readonly #names = new WeakMap<ActiveOperation, string>();

  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation {
    const span: Span = { name: nameOf(operation), parent: this.active.getStore(), ends: [], responses: 0 };
    this.spans.push(span);
    const given = parent && this.#names.get(parent);
    if (given !== span.parent) this.differing.push(`${span.name} < ${span.parent}: ${given}`);
    const active: ActiveOperation = {
      run: (step) => this.active.run(span.name, step),
      response: () => void span.responses++,
      traceHeaders: () => ({ traceparent: span.name }),
      end: (end) => void span.ends.push(end),
    };
    this.#names.set(active, span.name);
    return active;
  }

  /** The spans as `name < parent: status`. */
  get lines(): string[] {
    return this.spans.map(
      ({ name, parent = '-', ends }) => `${name} < ${parent}: ${ends.map(({ status }) => status).join()}`,
    );
  }
}

function nameOf(operation: Operation): string {
  if (operation.kind === 'run') return operation.resumed ? 'resumed run' : 'run';
  if (operation.kind === 'agent') return `agent ${operation.context.agent.name}`;
  return operation.kind === 'model' ? `model of ${operation.context.agent.name}` : `tool ${operation.name}`;
}

async function setUp(agent: BaseAgent) {
  const recorder = new Recorder();
  return { recorder, ...(await scenario({ agent, instrumentation: recorder })) };
}

const calling = (name: string, args: Record<string, unknown> = {}): ScriptedStep => ({
  parts: [{ functionCall: { name, args } }],
});

test('runs, agents, model calls and tool calls are nested in their callers', async () => {
  const { recorder, run } = await setUp(
    scripted('bot', [calling('add'), 'done'], {
      tools: [new FunctionTool({ name: 'add', description: 'Adds.', execute: () => recorder.active.getStore() })],
    }),
  );
  const events = await run();
  expect(recorder.lines).toEqual([
    'run < -: ok',
    'agent bot < run: ok',
    'model of bot < agent bot: ok',
    'tool add < agent bot: ok',
    'model of bot < agent bot: ok',
  ]);
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ result: 'tool add' });
  expect(recorder.spans.map(({ responses }) => responses)).toEqual([0, 0, 1, 0, 1]);
});

test('an agent that is called as a tool is nested in the tool call', async () => {
  const inner = scripted('inner', ['inner answer']);
  const { recorder, run } = await setUp(
    scripted('bot', [calling('inner', { request: 'x' }), 'done'], { tools: [new AgentTool({ agent: inner })] }),
  );
  await run();
  expect(recorder.lines.slice(2, 6)).toEqual([
    'model of bot < agent bot: ok',
    'tool inner < agent bot: ok',
    'agent inner < tool inner: ok',
    'model of inner < agent inner: ok',
  ]);
});

test('parallel agents, and agents that got control by a transfer, are nested in the agent around them', async () => {
  const target = scripted('target', ['there']);
  const first = scripted('first', [calling('transfer_to_agent', { agent_name: 'target' })], { subAgents: [target] });
  const parallel = new ParallelAgent({
    name: 'par',
    subAgents: [scripted('left', ['l']), scripted('right', ['r'])],
  });
  const { recorder, run } = await setUp(new SequentialAgent({ name: 'seq', subAgents: [parallel, first] }));
  await run();
  const parents = Object.fromEntries(recorder.spans.map(({ name, parent }) => [name, parent]));
  expect(parents).toMatchObject({
    'agent seq': 'run',
    'agent par': 'agent seq',
    'agent left': 'agent par',
    'agent right': 'agent par',
    'model of left': 'agent left',
    'model of right': 'agent right',
    'agent first': 'agent seq',
    'agent target': 'agent seq',
    'model of target': 'agent target',
  });
  expect(recorder.spans.every(({ ends }) => ends.length === 1 && ends[0]?.status === 'ok')).toBe(true);
});

test('the parent that the runner gives is the active one', async () => {
  const loop = new LoopAgent({
    name: 'loop',
    maxIterations: 2,
    subAgents: [scripted('looped', [calling('inner', { request: 'x' }), 'one', 'two'], { tools: [helper()] })],
  });
  const parallel = new ParallelAgent({ name: 'par', subAgents: [scripted('left', ['l']), loop] });
  const target = scripted('target', [calling('inner', { request: 'x' }), 'there'], { tools: [helper()] });
  const first = scripted(
    'first',
    [
      { parts: ['a', 'b'].map((request) => ({ functionCall: { name: 'inner', args: { request } } })) },
      calling('transfer_to_agent', { agent_name: 'target' }),
    ],
    { subAgents: [target], tools: [helper()] },
  );
  const recorder = new Recorder();
  const { run } = await scenario({
    agent: new SequentialAgent({ name: 'seq', subAgents: [parallel, first] }),
    instrumentation: [{ start: () => undefined }, recorder],
  });
  await run();
  expect(recorder.differing).toEqual([]);
  expect(recorder.spans.filter(({ name }) => name === 'agent inner')).toHaveLength(4);
});

function helper(): AgentTool {
  const inner = scripted('inner', [calling('deep', { request: 'x' }), 'answer', 'answer', 'answer'], {
    tools: [new AgentTool({ agent: scripted('deep', ['deep answer', 'deep answer']) })],
  });
  return new AgentTool({ agent: inner });
}

test('an instrumentation that runs no steps is notified of the same operations, parents and ends', async () => {
  const lines = async (runsSteps: boolean): Promise<string[]> => {
    const names = new Map<ActiveOperation, string>();
    const noted: string[] = [];
    const start: Instrumentation['start'] = (operation, parent) => {
      const name = nameOf(operation);
      noted.push(`${name} < ${parent && names.get(parent)}`);
      const active: ActiveOperation = {
        ...(runsSteps && { run: (step) => step() }),
        response: () => void noted.push(`${name} responds`),
        end: ({ status }) => void noted.push(`${name}: ${status}`),
      };
      names.set(active, name);
      return active;
    };
    const failing = scripted('failing', [new ModelError('overloaded', { errorCode: 'UNAVAILABLE' })]);
    const calls = {
      parts: ['inner', 'failing', 'missing'].map((name) => ({ functionCall: { name, args: { request: 'x' } } })),
    };
    const agent = scripted('bot', [calls, { chunks: ['a', 'b', 'c'] }], {
      tools: [helper(), new AgentTool({ agent: failing })],
    });
    const { start: run } = await scenario({ agent, instrumentation: { start } });
    for await (const event of run('hi', { runConfig: { streamingMode: 'sse' } }))
      if (event.content?.parts?.[0]?.text === 'a') break;
    return noted;
  };
  const noted = await lines(false);
  expect(noted).toEqual(await lines(true));
  expect(noted).toContain('agent failing: error');
  expect(noted).toEqual(expect.arrayContaining(['model of bot: left', 'agent bot: left', 'run: left']));
});

test('a tool gets the trace headers of its own call', async () => {
  const { run } = await setUp(
    scripted('bot', [calling('look'), 'done'], {
      tools: [new FunctionTool({ name: 'look', description: 'Looks.', execute: (_, context) => context.traceHeaders })],
    }),
  );
  const events = await run();
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ traceparent: 'tool look' });
  const { run: untraced } = await scenario({
    agent: scripted('bot', [calling('look'), 'done'], {
      tools: [new FunctionTool({ name: 'look', description: 'Looks.', execute: (_, context) => context.traceHeaders })],
    }),
  });
  expect((await untraced())[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({});
});

test('a tool that throws and an unknown tool end as failed, and the run with its outcome', async () => {
  const failing = new FunctionTool({
    name: 'failing',
    description: 'Fails.',
    execute: () => {
      throw new TypeError('no');
    },
  });
  const { recorder, run } = await setUp(
    scripted('bot', [calling('failing'), calling('missing'), 'done'], { tools: [failing] }),
  );
  await run();
  const tools = recorder.spans.filter(({ name }) => name.startsWith('tool'));
  expect(tools.map(({ name, ends }) => [name, ends])).toEqual([
    ['tool failing', [{ status: 'error', error: new TypeError('no') }]],
    [
      'tool missing',
      [{ status: 'error', error: expect.objectContaining({ message: expect.stringMatching(/missing/) }) }],
    ],
  ]);
  expect(recorder.lines[0]).toBe('run < -: ok');
});

test('a failed model call ends the call, the agent and the run with its error', async () => {
  const error = new ModelError('overloaded', { errorCode: 'UNAVAILABLE' });
  const { recorder, run } = await setUp(scripted('bot', [error]));
  await expect(run()).rejects.toThrow(error);
  expect(recorder.spans.map(({ ends }) => ends)).toEqual([
    [{ status: 'error', error }],
    [{ status: 'error', error }],
    [{ status: 'error', error }],
  ]);
});

test('chunks are reported as responses, and a reader that stops ends each operation once', async () => {
  const { recorder, start } = await setUp(scripted('bot', [{ chunks: ['a', 'b', 'c'] }]));
  for await (const event of start('hi', { runConfig: { streamingMode: 'sse' } })) if (event.partial) break;
  expect(recorder.lines).toEqual(['run < -: left', 'agent bot < run: left', 'model of bot < agent bot: left']);
  expect(recorder.spans[2]?.responses).toBe(1);
});

test('an agent has succeeded when its last event is stored, even if the reader stops at this event', async () => {
  const { recorder, start } = await setUp(scripted('bot', ['done']));
  for await (const _ of start()) break;
  expect(recorder.lines).toEqual(['run < -: ok', 'agent bot < run: ok', 'model of bot < agent bot: ok']);
});

test('an abort ends operations whose agents, models and tools ignore it', async () => {
  const gate = new Gate();
  const stuck = new FunctionTool({ name: 'stuck', description: 'Waits.', execute: () => gate.pass() });
  const { recorder, start } = await setUp(scripted('bot', [calling('stuck')], { tools: [stuck] }));
  const abort = new AbortController();
  const events = start('hi', { abortSignal: abort.signal });
  await events.next();
  const pending = events.next();
  await gate.reached;
  abort.abort();
  await expect(pending).rejects.toThrow(/aborted/);
  expect(recorder.lines).toEqual([
    'run < -: left',
    'agent bot < run: left',
    'model of bot < agent bot: ok',
    'tool stuck < agent bot: left',
  ]);
  gate.open();
});

test('errors of an instrumentation are reported and have no effect', async () => {
  const platform = fixedPlatform();
  const reported: unknown[] = [];
  const sessionService = new InMemorySessionService({ platform });
  const broken: Instrumentation = {
    start: ({ kind }) => {
      if (kind === 'agent') throw new Error('start');
      return {
        run: (step) => step(),
        end: () => {
          throw new Error('end');
        },
      };
    },
  };
  const agent = new CustomAgent('bot', async function* (context) {
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'fine' }] } });
  });
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService,
    platform: {
      ...platform,
      background: (work) => void work.catch((error: unknown) => reported.push(error)),
    },
    instrumentation: [broken, new Recorder()],
    autoCreateSession: true,
  });
  const events = await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  expect(events).toHaveLength(1);
  expect(reported.map(String)).toEqual(['Error: start', 'Error: end']);
});

test('an error of one instrumentation does not affect others', async () => {
  const recorder = new Recorder();
  const outer = new Recorder();
  const broken: Instrumentation = {
    start: ({ kind }) => {
      if (kind === 'model') throw new Error('start');
      return {
        run: (step) => step(),
        end: () => {
          throw new Error('end');
        },
      };
    },
  };
  const { run, platform } = await scenario({
    agent: scripted('bot', ['hi']),
    instrumentation: [outer, broken, recorder],
  });
  await run();
  await expect(platform.drain()).rejects.toThrow();
  expect(outer.lines).toEqual(['run < -: ok', 'agent bot < run: ok', 'model of bot < agent bot: ok']);
  expect(recorder.lines).toEqual(outer.lines);
});

test("an abort ends a model call in a callback that never returns, and an agent's first step", async () => {
  const abort = new AbortController();
  const hanging = scripted('bot', ['hi'], {
    afterModelCallback: () => {
      abort.abort();
      return new Promise<never>(() => undefined);
    },
  });
  const { recorder, start } = await setUp(hanging);
  await expect(start('hi', { abortSignal: abort.signal }).next()).rejects.toThrow(/aborted/);
  expect(recorder.lines).toEqual(['run < -: left', 'agent bot < run: left', 'model of bot < agent bot: left']);
});

test('a model that throws before it returns a generator ends once, with its error', async () => {
  const error = new ModelError('no connection', { errorCode: 'UNAVAILABLE' });
  class BrokenModel extends BaseLlm {
    override generateContentAsync(): never {
      throw error;
    }
  }
  const { recorder, run } = await setUp(new LlmAgent({ name: 'bot', model: new BrokenModel({ model: 'broken' }) }));
  await expect(run()).rejects.toThrow(error);
  expect(recorder.lines).toEqual(['run < -: error', 'agent bot < run: error', 'model of bot < agent bot: error']);
});

test('a model whose generator is synchronous runs as without instrumentation', async () => {
  class SynchronousModel extends BaseLlm {
    // Programs in JavaScript may write it so.
    override generateContentAsync = function* () {
      yield { content: { role: 'model', parts: [{ text: 'fine' }] } };
    } as unknown as BaseLlm['generateContentAsync'];
  }
  const { recorder, run } = await setUp(new LlmAgent({ name: 'bot', model: new SynchronousModel({ model: 'sync' }) }));
  expect(await run()).toHaveLength(1);
  expect(recorder.lines.at(-1)).toBe('model of bot < agent bot: ok');
});
