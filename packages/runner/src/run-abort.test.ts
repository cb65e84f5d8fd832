/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { type AppendEventRequest, type BaseAgent, BasePlugin, type Event, RunAbortedError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ParallelAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, modelEvent, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { abortable, aborted, textOf } from './fixtures/aborted-run.ts';
import { CustomAgent, textEvent } from './fixtures/custom-agent.ts';
import { expectFree, KEY, saying } from './fixtures/scenario.ts';

test('a run aborted before its start does nothing', async () => {
  const { runner, controller, hi, texts } = await abortable({
    async *agent() {
      expect.unreachable();
    },
  });
  const reason = new TypeError('left');
  controller.abort(reason);
  const { events, error } = await aborted(runner, hi);
  expect(events).toEqual([]);
  expect(error).toMatchObject({ message: 'the run was aborted before it started', cause: reason });
  expect(await texts()).toEqual([]);
  await expectFree(runner);
});

test('an abort ends the wait for a busy session', async () => {
  const { runner, controller, hi, texts } = await abortable({
    async *agent() {
      expect.unreachable();
    },
  });
  await runner.sessionService.acquireLease(KEY);
  const running = aborted(runner, hi);
  controller.abort();
  expect((await running).events).toEqual([]);
  expect(await texts()).toEqual([]);
});

test('an abort between two events stops the agent, and committed events stay', async () => {
  let isCleaned = false;
  let continues = false;
  const { runner, controller, hi, texts } = await abortable({
    async *agent() {
      try {
        yield modelEvent('bot', 'one');
        continues = true;
      } finally {
        isCleaned = true;
      }
    },
  });
  const stream = runner.runAsync(hi);
  await stream.next();
  controller.abort(new TypeError('left'));
  const error: unknown = await stream.next().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunAbortedError);
  expect(error).toMatchObject({ message: 'the run was aborted', cause: { message: 'left' } });
  expect([isCleaned, continues]).toEqual([true, false]);
  expect(await texts()).toEqual(['hi', 'one', 'RUN_ABORTED']);
  await expectFree(runner);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('an abort with a RunAbortedError is stored with the message of that error', async () => {
  const gate = new Gate();
  const { runner, controller, hi, stored } = await abortable({ agent: { beforeModelCallback: () => gate.pass() } });
  const running = aborted(runner, hi);
  await gate.reached;
  controller.abort(new RunAbortedError('the run was cancelled'));
  expect((await running).error.message).toBe('the run was cancelled');
  expect((await stored()).at(-1)?.errorMessage).toBe('the run was cancelled');
});

test('an abort after the last event is an abort, not a silent end', async () => {
  const { runner, controller, hi } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
  });
  const stream = runner.runAsync(hi);
  await stream.next();
  controller.abort();
  await expect(stream.next()).rejects.toBeInstanceOf(RunAbortedError);
});

test('an abort does not wait for an agent that ignores it, and no later event of the agent is stored', async () => {
  const gate = new Gate();
  const { runner, controller, hi, texts } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
      await gate.pass();
      yield modelEvent('bot', 'late');
    },
  });
  const running = aborted(runner, hi);
  await gate.reached;
  controller.abort();
  expect((await running).events.map(textOf)).toEqual(['one']);
  await expectFree(runner);
  gate.open();
  expect(await texts()).toEqual(['hi', 'one', 'RUN_ABORTED']);
});

test('an error that the abort caused in the agent does not hide the abort', async () => {
  const listening = Promise.withResolvers<void>();
  const { runner, controller, hi } = await abortable({
    async *agent(context) {
      yield modelEvent('bot', 'one');
      await new Promise<void>((_, reject) => {
        context.abortSignal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
        listening.resolve();
      });
    },
  });
  const running = aborted(runner, hi);
  await listening.promise;
  controller.abort();
  const { events, error } = await running;
  expect(events.map(textOf)).toEqual(['one']);
  expect(error.message).toBe('the run was aborted');
});

test('an event whose append has begun is stored despite the abort', async () => {
  const gate = new Gate();
  class SlowService extends InMemorySessionService {
    override async appendEvent(request: AppendEventRequest): Promise<Event> {
      if (textOf(request.event) === 'one') await gate.pass();
      return super.appendEvent(request);
    }
  }
  const { runner, controller, hi, texts } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
      expect.unreachable();
    },
    sessionService: new SlowService(),
  });
  const running = aborted(runner, hi);
  await gate.reached;
  controller.abort();
  gate.open();
  await running;
  expect(await texts()).toEqual(['hi', 'one', 'RUN_ABORTED']);
});

test('plugins are notified of an abort in the same way as of an error', async () => {
  const reported: unknown[] = [];
  class Telling extends BasePlugin {
    override onRunErrorCallback({ error }: { error: Error }): void {
      reported.push(error);
    }

    override afterRunCallback(): void {
      expect.unreachable();
    }
  }
  const { runner, controller, hi } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
      controller.abort();
      yield modelEvent('bot', 'two');
    },
    plugins: [new Telling('telling')],
  });
  const { error } = await aborted(runner, hi);
  expect(reported).toEqual([error]);
});

test('a signal used for many runs keeps no listeners', async () => {
  const { runner, controller, hi } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
  });
  let listeners = 0;
  const { signal } = controller;
  const counted = new Proxy(signal, {
    get(target, key): unknown {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...params: unknown[]): unknown => {
        if (key === 'addEventListener') listeners++;
        if (key === 'removeEventListener') listeners--;
        return Reflect.apply(value, target, params);
      };
    },
  });
  for (let run = 0; run < 3; run++) await runner.run({ ...hi, abortSignal: counted });
  for await (const _ of runner.runAsync({ ...hi, abortSignal: counted })) break;
  expect(listeners).toBe(0);
});

describe('an abort during a streamed reply', () => {
  const runConfig = { streamingMode: 'sse' } as const;

  /** Reads the run until this text has come, aborts it, and returns the texts of its stored events. */
  async function abortAfter(text: string, agent: BaseAgent) {
    const { runner, controller, hi, stored } = await abortable({ agent });
    await expect(async () => {
      for await (const event of runner.runAsync({ ...hi, runConfig })) if (textOf(event) === text) controller.abort();
    }).rejects.toThrow(RunAbortedError);
    await expectFree(runner);
    return { runner, stored: (await stored()).slice(1) };
  }

  const LOST = 'the reply ended before its call of "look" was complete; none of its calls was run';

  test('stores the streamed content, without calls, and the model reads in the next turn that these were not run', async () => {
    const call = { functionCall: { name: 'look', args: {} } };
    const last = { content: { role: 'model', parts: [call] }, finishReason: 'STOP' };
    const chunks = [[{ text: 'Why?', thought: true }], 'The sky ', last, new Gate()];
    const model = new ScriptedModel([{ chunks }, 'Blue.']);
    const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => expect.unreachable() });
    const { runner, stored } = await abortAfter('look', new LlmAgent({ name: 'bot', model, tools: [look] }));
    const parts = [{ text: 'Why?', thought: true }, { text: 'The sky ' }];
    expect(stored).toMatchObject([
      { author: 'bot', content: { role: 'model', parts }, errorCode: 'RUN_ABORTED', interrupted: true },
    ]);
    expect(stored[0]?.finishReason).toBeUndefined();
    expect(stored[0]?.responseId).toMatch(/^r-/);
    await runner.run(saying('Go on'));
    expect(model.requests.at(-1)?.request.contents).toEqual([
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts },
      { role: 'user', parts: [{ text: expect.stringMatching(`^For context: .*; ${LOST}\\.$`) }] },
      { role: 'user', parts: [{ text: 'Go on' }] },
    ]);
  });

  test('stores the loss of a call that is all that was streamed', async () => {
    const chunks = [[{ functionCall: { name: 'look', args: {} } }], new Gate()];
    const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => expect.unreachable() });
    const model = new ScriptedModel([{ chunks }]);
    const { stored } = await abortAfter('look', new LlmAgent({ name: 'bot', model, tools: [look] }));
    expect(stored).toMatchObject([{ author: 'bot', errorCode: 'RUN_ABORTED', interrupted: true }]);
    expect(stored[0]).not.toHaveProperty('content');
    expect(stored[0]?.errorMessage).toContain(LOST);
  });

  test('stores the replies of all agents that run at the same time', async () => {
    const second = new Gate();
    const agent = new ParallelAgent({
      name: 'both',
      subAgents: [
        new LlmAgent({ name: 'left', model: new ScriptedModel([{ chunks: ['one', second, 'never'] }]) }),
        new LlmAgent({ name: 'right', model: new ScriptedModel([{ chunks: ['two', second, 'never'] }]) }),
      ],
    });
    const { stored } = await abortAfter('two', agent);
    expect(stored.map((event) => [event.author, event.branch, textOf(event), event.errorCode])).toEqual([
      ['left', 'both.left', 'one', 'RUN_ABORTED'],
      ['right', 'both.right', 'two', 'RUN_ABORTED'],
    ]);
  });

  test('stores the text that a custom agent has streamed since its last whole event', async () => {
    const agent = new CustomAgent('bot', async function* (context) {
      const chunk = (text: string): Event => ({ ...textEvent(context, text), partial: true });
      yield chunk('One');
      yield textEvent(context, 'One.');
      yield chunk('The ');
      yield chunk('sky ');
      await new Gate().pass(context.abortSignal);
    });
    const { stored } = await abortAfter('sky ', agent);
    expect(stored.map((event) => [event.author, textOf(event), event.errorCode, event.interrupted])).toEqual([
      ['bot', 'One.', undefined, undefined],
      ['bot', 'The sky ', 'RUN_ABORTED', true],
    ]);
    expect(stored[1]?.id).toMatch(/./);
    expect(stored[1]?.timestamp).toBeGreaterThan(0);
  });

  test('stores the chunks of custom agents that run at the same time, and those of an LlmAgent in a custom agent once', async () => {
    const second = new Gate();
    const raw = new CustomAgent('left', async function* (context) {
      yield modelEvent('left', 'one', { partial: true });
      await second.pass(context.abortSignal);
    });
    const model = new ScriptedModel([{ chunks: ['two', second, 'never'] }]);
    const inner = new LlmAgent({ name: 'inner', model });
    const around = new CustomAgent('right', (context) => inner.runAsync(context), { subAgents: [inner] });
    const { stored } = await abortAfter('two', new ParallelAgent({ name: 'both', subAgents: [raw, around] }));
    expect(
      new Set(stored.map((event) => `${event.author} ${event.branch}: ${textOf(event)}, ${event.errorCode}`)),
    ).toEqual(new Set(['left both.left: one, RUN_ABORTED', 'inner both.right: two, RUN_ABORTED']));
    expect(stored).toHaveLength(2);
  });

  test('completes a run whose reader stops at the answer, after an agent announced it with a chunk', async () => {
    const inner = new LlmAgent({ name: 'inner', model: new ScriptedModel([{ chunks: ['Bl', 'ue.'] }]) });
    const agent = new CustomAgent(
      'bot',
      async function* (context) {
        yield modelEvent('bot', 'Looking…', { partial: true });
        yield* inner.runAsync(context);
      },
      { subAgents: [inner] },
    );
    const { runner, hi, texts } = await abortable({ agent });
    for await (const event of runner.runAsync({ ...hi, runConfig })) if (textOf(event) === 'Blue.') break;
    expect(await texts()).toEqual(['hi', 'Blue.']);
  });

  test('does not store a complete reply a second time', async () => {
    const gate = new Gate();
    const wait = new FunctionTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_args, { abortSignal }) => gate.pass(abortSignal),
    });
    const model = new ScriptedModel([{ chunks: ['First ', [{ functionCall: { name: 'wait', args: {} } }]] }]);
    const agent = new LlmAgent({ name: 'bot', model, tools: [wait] });
    const { runner, controller, hi, texts } = await abortable({ agent });
    const running = aborted(runner, { ...hi, runConfig });
    await gate.reached;
    controller.abort();
    await running;
    expect(await texts()).toEqual(['hi', 'First ', 'wait', 'RUN_ABORTED']);
  });
});
