/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { CallbackContext, createEvent, type Event, groupByExecution, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { modelEvent, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { runToError, scenario, textOf } from './fixtures/scenario.ts';

test('a custom agent yields events between the agents it runs', async () => {
  const model = new ScriptedModel(['researched', 'written']);
  const researcher = new LlmAgent({ name: 'researcher', model, outputKey: 'notes' });
  const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write about {notes}.' });
  const { run, stored } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'starting' }] } });
      yield* researcher.runAsync(context);
      yield* writer.runAsync(context);
      yield createEvent({ content: { role: 'model', parts: [{ text: 'done' }] } });
    }),
  });
  const events = await run();
  expect(events.map((event) => [event.author, textOf(event)])).toEqual([
    ['lead', 'starting'],
    ['researcher', 'researched'],
    ['writer', 'written'],
    ['lead', 'done'],
  ]);
  expect(model.requests[1]?.request.config.systemInstruction).toMatch(/^Write about researched\./);
  expect((await stored()).slice(1)).toEqual(events);
});

test('an agent sees text of other agents as context', async () => {
  const model = new ScriptedModel(['from a', 'from b']);
  const [a, b] = ['a', 'b'].map((name) => new LlmAgent({ name, model })) as [LlmAgent, LlmAgent];
  const { run } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      yield* a.runAsync(context);
      yield* b.runAsync(context);
    }),
  });
  await run();
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'user', parts: [{ text: 'For context:' }, { text: '[a] said: from a' }] },
  ]);
});

test('with includeContents none an agent sees the last text of another agent', async () => {
  const model = new ScriptedModel(['from a', 'from b']);
  const a = new LlmAgent({ name: 'a', model });
  const b = new LlmAgent({ name: 'b', model, includeContents: 'none' });
  const { run } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      yield* a.runAsync(context);
      yield* b.runAsync(context);
    }),
  });
  await run();
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'For context:' }, { text: '[a] said: from a' }] },
  ]);
});

test("each agent execution is a node of the call tree, and the root's is the invocation", async () => {
  const inner = new CustomAgent('inner', async function* (context) {
    yield context.createEvent({ content: { parts: [{ text: 'inner' }] } });
  });
  const { run } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      yield context.createEvent({ content: { parts: [{ text: 'lead' }] } });
      yield* inner.runAsync(context);
    }),
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

test("the agent that ran a sub-agent reads the sub-agent's state changes, committed or not", async () => {
  const reads: unknown[] = [];
  const inner = new CustomAgent('inner', async function* (context) {
    const { state } = new CallbackContext({ invocationContext: context });
    state.set('dirty', 1);
    yield modelEvent('inner', 'one', { actions: { stateDelta: { clean: 2 } } });
  });
  const { run, state } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      yield* inner.runAsync(context);
      reads.push({ ...context.session.state });
    }),
  });
  await run();
  expect(reads).toEqual([{ dirty: 1, clean: 2 }]);
  expect(await state()).toEqual({ clean: 2 });
});

test('agents and callbacks can read the stored events from the session service', async () => {
  const seen: unknown[] = [];
  const look = async ({ session, sessionService }: InvocationContext): Promise<void> => {
    const stored = await sessionService?.getSession({ ...session, sessionId: session.id });
    seen.push([session.state['one'], stored?.state['one'], stored?.events.length]);
  };
  const agent = new CustomAgent('lead', async function* (context) {
    await look(context);
    yield context.createEvent({ actions: { stateDelta: { one: 1 } } });
    await look(context);
  });
  const { run } = await scenario({ agent });
  await run();
  expect(seen).toEqual([
    [undefined, undefined, 1],
    [1, 1, 2],
  ]);
});

test('callbacks of a sub-agent run around it, and the parent can recover from its error', async () => {
  const log: string[] = [];
  const inner = new CustomAgent(
    'inner',
    async function* () {
      log.push('inner');
      throw new TypeError('broken');
    },
    {
      beforeAgentCallback: () => void log.push('before'),
      afterAgentCallback: () => void log.push('after'),
    },
  );
  const { run } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      try {
        yield* inner.runAsync(context);
      } catch (error) {
        yield modelEvent('lead', `recovered from ${(error as Error).message}`);
      }
    }),
  });
  expect((await run()).map(textOf)).toEqual(['recovered from broken']);
  expect(log).toEqual(['before', 'inner']);
});

test('a sub-agent may end the invocation', async () => {
  const inner = new CustomAgent('inner', async function* (context) {
    context.endInvocation = true;
    yield modelEvent('inner', 'last');
  });
  const { run } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      yield* inner.runAsync(context);
      expect.unreachable();
    }),
  });
  expect((await run()).map(textOf)).toEqual(['last']);
});

test('maxLlmCalls is shared by all agents of a run', async () => {
  const model = new ScriptedModel(['one', 'two', 'three']);
  const [a, b] = ['a', 'b'].map((name) => new LlmAgent({ name, model })) as [LlmAgent, LlmAgent];
  const agent = new CustomAgent('lead', async function* (context) {
    yield* a.runAsync(context);
    yield* b.runAsync(context);
  });
  const { run } = await scenario({ agent });
  await expect(run('hi', { runConfig: { maxLlmCalls: 1 } })).rejects.toMatchObject({ code: 'LLM_CALL_LIMIT' });
  expect(model.calls).toBe(1);
});

test('a run of an agent without events yields no events', async () => {
  const { run, stored } = await scenario({ agent: new CustomAgent('lead', async function* () {}) });
  expect(await run()).toEqual([]);
  expect(await stored()).toHaveLength(1);
});

test('an event object with a timestamp in milliseconds is stored with seconds', async () => {
  const timestamp = 1_770_714_900_500;
  const content = { role: 'model', parts: [{ text: 'done' }] };
  const { run, stored } = await scenario({
    agent: new CustomAgent('lead', async function* ({ invocationId }) {
      const actions = { stateDelta: {}, artifactDelta: {} };
      yield { id: 'e1', invocationId, author: 'lead', content, actions, timestamp } as Event;
    }),
  });
  expect(await run()).toMatchObject([{ id: 'e1', timestamp: 1_770_714_900.5 }]);
  expect((await stored()).at(-1)?.timestamp).toBe(1_770_714_900.5);
});

test('an event yielded twice is stored once', async () => {
  const { run, stored } = await scenario({
    agent: new CustomAgent('lead', async function* (context) {
      const event = context.createEvent({ content: { parts: [{ text: 'same' }] } });
      yield event;
      yield event;
    }),
  });
  expect((await run()).map(textOf)).toEqual(['same', 'same']);
  expect((await stored()).map(textOf)).toEqual(['hi', 'same']);
});

test('an agent that yields a text without a content fails its run, with an error that says what to write', async () => {
  const { start } = await scenario({
    agent: new CustomAgent('lead', async function* () {
      yield { text: 'hello' } as never;
    }),
  });
  expect((await runToError(start())).error).toMatchObject({
    code: 'INVALID_EVENT',
    message: 'agent "lead": an event has no field "text"; write content: { role: \'model\', parts: [{ text: … }] }',
  });
});

test.each([
  ['hello', 'a string'],
  [undefined, 'undefined'],
])('an agent that yields %j fails its run, with an error that says what to write', async (yielded, kind) => {
  const { start } = await scenario({
    agent: new CustomAgent('lead', async function* () {
      yield yielded as never;
    }),
  });
  expect((await runToError(start())).error).toMatchObject({
    code: 'INVALID_EVENT',
    message: `agent "lead" yielded ${kind}, not an event; write yield context.createEvent({ content })`,
  });
});

test('context.state of a custom agent throws an error that says how to read and write the state', async () => {
  const { run, state } = await scenario({
    state: { city: 'Ghent' },
    agent: new CustomAgent('lead', async function* (context) {
      expect(() => context.state).toThrow(
        'context.state: an agent reads context.session.state.city, and writes with yield context.createEvent({ actions: { stateDelta: { city } } })',
      );
      const { city } = context.session.state;
      yield context.createEvent({ actions: { stateDelta: { visited: city } } });
    }),
  });
  await run();
  expect(await state()).toMatchObject({ visited: 'Ghent' });
});
