/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  BaseAgent,
  CallbackContext,
  createEvent,
  type Event,
  groupByExecution,
  type InvocationContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, modelEvent, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(script: Script, config: Partial<ConstructorParameters<typeof BaseAgent>[0]> = {}) {
    super({ name: 'lead', ...config });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(agent: BaseAgent | Script) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const root = typeof agent === 'function' ? new CustomAgent(agent) : agent;
  const runner = new Runner({ appName: 'app', agent: root, sessionService, platform });
  const run = (): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  const session = async () => (await sessionService.getSession(KEY)) ?? expect.unreachable();
  return { run, session };
}

const textOf = (event: Event): string | undefined => event.content?.parts?.[0]?.text;

test('an agent of one’s own yields events between the agents it runs', async () => {
  const model = new ScriptedModel(['researched', 'written']);
  const researcher = new LlmAgent({ name: 'researcher', model, outputKey: 'notes' });
  const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write about {notes}.' });
  const { run, session } = await setUp(async function* (context) {
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'starting' }] } });
    yield* researcher.runAsync(context);
    yield* writer.runAsync(context);
    yield createEvent({ content: { role: 'model', parts: [{ text: 'done' }] } });
  });
  const events = await run();
  expect(events.map((event) => [event.author, textOf(event)])).toEqual([
    ['lead', 'starting'],
    ['researcher', 'researched'],
    ['writer', 'written'],
    ['lead', 'done'],
  ]);
  expect(model.requests[1]?.request.config.systemInstruction).toMatch(/^Write about researched\./);
  expect((await session()).events.slice(1)).toEqual(events);
});

test('an agent sees what another one said as context, and not as its own words', async () => {
  const model = new ScriptedModel(['from a', 'from b']);
  const [a, b] = ['a', 'b'].map((name) => new LlmAgent({ name, model })) as [LlmAgent, LlmAgent];
  const { run } = await setUp(async function* (context) {
    yield* a.runAsync(context);
    yield* b.runAsync(context);
  });
  await run();
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'user', parts: [{ text: 'For context:' }, { text: '[a] said: from a' }] },
  ]);
});

test('with includeContents none an agent sees what another one said last', async () => {
  const model = new ScriptedModel(['from a', 'from b']);
  const a = new LlmAgent({ name: 'a', model });
  const b = new LlmAgent({ name: 'b', model, includeContents: 'none' });
  const { run } = await setUp(async function* (context) {
    yield* a.runAsync(context);
    yield* b.runAsync(context);
  });
  await run();
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'For context:' }, { text: '[a] said: from a' }] },
  ]);
});

test('each agent’s execution is a node of the call tree, and the first one’s is the invocation itself', async () => {
  const inner = new CustomAgent(
    async function* (context) {
      yield context.createEvent({ content: { parts: [{ text: 'inner' }] } });
    },
    { name: 'inner' },
  );
  const { run } = await setUp(async function* (context) {
    yield context.createEvent({ content: { parts: [{ text: 'lead' }] } });
    yield* inner.runAsync(context);
  });
  const [lead, nested] = await run();
  expect(lead?.executionId).toBe(lead?.invocationId);
  expect(lead).not.toHaveProperty('parentExecutionId');
  expect(nested?.parentExecutionId).toBe(lead?.executionId);
  expect(nested?.executionId).not.toBe(lead?.executionId);
  expect(nested?.invocationId).toBe(lead?.invocationId);
  const [request] = groupByExecution([lead, nested] as Event[]);
  expect(request).toBeDefined();
});

test('a sub-agent’s write is read after it, dirty or committed, by the agent that ran it', async () => {
  const reads: unknown[] = [];
  const inner = new CustomAgent(
    async function* (context) {
      const { state } = new CallbackContext({ invocationContext: context });
      state.set('dirty', 1);
      yield modelEvent('inner', 'one', { actions: { stateDelta: { clean: 2 } } });
    },
    { name: 'inner' },
  );
  const { run, session } = await setUp(async function* (context) {
    yield* inner.runAsync(context);
    reads.push({ ...context.session.state });
  });
  await run();
  expect(reads).toEqual([{ dirty: 1, clean: 2 }]);
  expect((await session()).state).toEqual({ clean: 2 });
});

test('callbacks of a sub-agent run around it, and its error can be recovered by its parent', async () => {
  const log: string[] = [];
  const inner = new CustomAgent(
    async function* () {
      log.push('inner');
      throw new TypeError('broken');
    },
    {
      name: 'inner',
      beforeAgentCallback: () => void log.push('before'),
      afterAgentCallback: () => void log.push('after'),
    },
  );
  const { run } = await setUp(async function* (context) {
    try {
      yield* inner.runAsync(context);
    } catch (error) {
      yield modelEvent('lead', `recovered from ${(error as Error).message}`);
    }
  });
  expect((await run()).map(textOf)).toEqual(['recovered from broken']);
  expect(log).toEqual(['before', 'inner']);
});

test('a sub-agent may end the whole invocation', async () => {
  const inner = new CustomAgent(
    async function* (context) {
      context.endInvocation();
      yield modelEvent('inner', 'last');
    },
    { name: 'inner' },
  );
  const { run } = await setUp(async function* (context) {
    yield* inner.runAsync(context);
    expect.unreachable();
  });
  expect((await run()).map(textOf)).toEqual(['last']);
});

test('the limit of model calls is one for all agents of a run', async () => {
  const model = new ScriptedModel(['one', 'two', 'three']);
  const [a, b] = ['a', 'b'].map((name) => new LlmAgent({ name, model })) as [LlmAgent, LlmAgent];
  const agent = new CustomAgent(async function* (context) {
    yield* a.runAsync(context);
    yield* b.runAsync(context);
  });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const params = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
  await expect(runner.run({ ...params, runConfig: { maxLlmCalls: 1 } })).rejects.toMatchObject({
    code: 'LLM_CALL_LIMIT',
  });
  expect(model.calls).toBe(1);
});

test('an agent that yields nothing makes a run of nothing', async () => {
  const { run, session } = await setUp(async function* () {});
  expect(await run()).toEqual([]);
  expect((await session()).events).toHaveLength(1);
});

test('an event yielded twice is stored once', async () => {
  const { run, session } = await setUp(async function* (context) {
    const event = context.createEvent({ content: { parts: [{ text: 'same' }] } });
    yield event;
    yield event;
  });
  expect((await run()).map(textOf)).toEqual(['same', 'same']);
  expect((await session()).events.map(textOf)).toEqual(['hi', 'same']);
});
