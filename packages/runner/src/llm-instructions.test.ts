import { InMemoryArtifactService } from '@eventloom/artifacts';
import { ConfigurationError, MissingStateKeyError } from '@eventloom/core';
import { injectSessionState, LlmAgent, type LlmAgentConfig, PlanReActPlanner } from '@eventloom/llm-agent';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, scenario } from './fixtures/scenario.ts';

/** A scenario that reads the instruction in the request of a run, without the line about the agent's name. */
async function setUp(
  agent: Partial<LlmAgentConfig>,
  model: readonly ScriptedStep[] = ['ok'],
  state: Record<string, unknown> = {},
) {
  const artifactService = new InMemoryArtifactService();
  const played = await scenario({ model, agent, state, artifactService });
  const instruction = async (): Promise<string> => {
    await played.run();
    const { systemInstruction } = played.model.requests.at(-1)?.request.config ?? expect.unreachable();
    return String(systemInstruction).replace(/\n\nYou are an agent\..*$/s, '');
  };
  return { ...played, instruction, artifactService };
}

test('placeholders are filled in instruction, and not in staticInstruction', async () => {
  const { instruction } = await setUp(
    { globalInstruction: 'G {a}', staticInstruction: 'S {a}', instruction: 'I {user:b.c}' },
    ['ok'],
    { a: 1, 'user:b': { c: 2 } },
  );
  expect(await instruction()).toBe('G 1\n\nS {a}\n\nI 2');
});

test('an instruction function gets the context, and its text is used unchanged', async () => {
  const { instruction } = await setUp(
    {
      globalInstruction: async ({ userId, sessionId, appName, agentName }) =>
        [userId, sessionId, appName, agentName].join(),
      instruction: ({ state, userContent }) => `{a} ${String(state.get('a'))} ${userContent?.parts?.[0]?.text}`,
    },
    ['ok'],
    { a: 1 },
  );
  expect(await instruction()).toBe('u,s,app,bot\n\n{a} 1 hi');
});

test('an instruction function cannot write state, even with a cast', async () => {
  const { instruction } = await setUp(
    {
      instruction: ({ state }) => {
        for (const name of ['set', 'remove', 'update']) expect(state).not.toHaveProperty(name);
        return JSON.stringify([state.has('a'), state.get('b', 2), state.toRecord()]);
      },
    },
    ['ok'],
    { a: 1 },
  );
  expect(await instruction()).toBe('[true,2,{"a":1}]');
});

test('an instruction function can fill placeholders itself', async () => {
  const { instruction } = await setUp({ instruction: (context) => injectSessionState('{a} {b?}', context) }, ['ok'], {
    a: 1,
  });
  expect(await instruction()).toBe('1 ');
});

test('instructions are built for every step', async () => {
  const count = new FunctionTool({ name: 'count', description: '', execute: (_, { state }) => state.set('n', 2) });
  const { model, run } = await setUp(
    { instruction: 'n is {n}', tools: [count] },
    [{ calls: [{ name: 'count', args: {} }] }, 'ok'],
    { n: 1 },
  );
  await run();
  expect(model.requests.map(({ request }) => String(request.config.systemInstruction).slice(0, 6))).toEqual([
    'n is 1',
    'n is 2',
  ]);
});

test('an instruction function that returns an empty string adds nothing', async () => {
  const { model, run } = await setUp({ instruction: () => '' });
  await run();
  expect(model.requests[0]?.request.config.systemInstruction).toBe('You are an agent. Your internal name is "bot".');
});

test.each([
  [undefined, 'nothing'],
  [null, 'null'],
  [5, 'the number 5'],
  [{ text: 'Be brief.' }, 'an object'],
])('an instruction function that returns %j fails the run before the model is called', async (returned, kind) => {
  for (const option of ['instruction', 'globalInstruction']) {
    const { model, run } = await setUp({ [option]: async () => returned });
    const error = await run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toHaveProperty(
      'message',
      `agent "bot": ${option}: expected a string as the result of the function, got ${kind}; write return 'Answer in one sentence.'`,
    );
    expect(model.calls).toBe(0);
  }
});

test('a missing placeholder key fails the run before the model is called', async () => {
  const { model, run } = await setUp({ instruction: '{missing}' });
  await expect(run()).rejects.toBeInstanceOf(MissingStateKeyError);
  expect(model.calls).toBe(0);
});

// Artifacts.

test.each([
  ['a text', { text: 'plain' }, 'plain'],
  ['bytes', { inlineData: { mimeType: 'text/plain', data: btoa('bytes') } }, 'bytes'],
  ['UTF-8', { inlineData: { mimeType: 'text/plain', data: 'R3LDvMOfZQ==' } }, 'Grüße'],
])('an artifact that is %s is filled in', async (_, artifact, text) => {
  const { artifactService, instruction } = await setUp({ instruction: '[{artifact.notes.txt}]' });
  await artifactService.saveArtifact({ ...KEY, filename: 'notes.txt', artifact: { text: 'old' } });
  await artifactService.saveArtifact({ ...KEY, filename: 'notes.txt', artifact });
  expect(await instruction()).toBe(`[${text}]`);
});

test('an artifact placeholder may name a user artifact in a folder', async () => {
  const { artifactService, instruction } = await setUp({ instruction: '{artifact.user:a/b-c.md}' });
  await artifactService.saveArtifact({ ...KEY, filename: 'user:a/b-c.md', artifact: { text: 'mine' } });
  expect(await instruction()).toBe('mine');
});

test('a missing artifact is empty if optional, and an error otherwise', async () => {
  expect(await (await setUp({ instruction: '[{artifact.notes.txt?}]' })).instruction()).toBe('[]');
  const { run } = await setUp({ instruction: '{artifact.notes.txt}' });
  await expect(run()).rejects.toThrow('uses {artifact.notes.txt}, which does not exist');
});

// Contexts.

test('a callback saves, loads and lists artifacts, and the next event lists the saved ones', async () => {
  const { run, artifactService } = await setUp({
    beforeModelCallback: async ({ context }) => {
      expect(await context.saveArtifact('a.txt', { text: 'one' })).toBe(0);
      expect(await context.saveArtifact('a.txt', { text: 'two' })).toBe(1);
      expect(await context.saveArtifact('user:b.txt', { text: 'mine' })).toBe(0);
      expect(await context.loadArtifact('a.txt')).toEqual({ text: 'two' });
      expect(await context.loadArtifact('a.txt', 0)).toEqual({ text: 'one' });
      expect(await context.loadArtifact('c.txt')).toBeUndefined();
      expect(await context.listArtifacts()).toEqual(['a.txt', 'user:b.txt']);
    },
  });
  const [event] = await run();
  expect(event?.actions.artifactDelta).toEqual({ 'a.txt': 1, 'user:b.txt': 0 });
  expect(await artifactService.loadArtifact({ ...KEY, filename: 'a.txt' })).toEqual({ text: 'two' });
});

test('artifacts saved by concurrent tools are listed in one event', async () => {
  const save = new FunctionTool({
    name: 'save',
    description: '',
    execute: async ({ name }, context) => ({ version: await context.saveArtifact(String(name), { text: '' }) }),
  });
  const calls = ['a', 'b'].map((name) => ({ name: 'save', args: { name } }));
  const { run } = await setUp({ tools: [save] }, [{ calls }, 'ok']);
  const events = await run();
  expect(events[1]?.actions.artifactDelta).toEqual({ a: 0, b: 0 });
});

test("without its service a tool's error goes to the model", async () => {
  const tools = [
    new FunctionTool({
      name: 'save',
      description: '',
      execute: (_, context) => context.saveArtifact('a', { text: '' }),
    }),
    new FunctionTool({ name: 'recall', description: '', execute: (_, context) => context.searchMemory('a') }),
  ];
  const calls = ['save', 'recall'].map((name) => ({ name, args: {} }));
  const { run } = await scenario({ model: [{ calls }, 'ok'], agent: { tools } });
  const events = await run();
  expect(events[1]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    { error: expect.stringContaining('artifacts: the runner has no artifactService; write ') },
    { error: expect.stringContaining('searchMemory: the runner has no memoryService; write ') },
  ]);
});

test("a tool context has its call, the user's message, ids and names", async () => {
  const seen: unknown[] = [];
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_, context) => {
      const { functionCallId, invocationId, agentName, appName, userId, sessionId, userContent } = context;
      seen.push({
        functionCallId,
        invocationId,
        agentName,
        appName,
        userId,
        sessionId,
        text: userContent?.parts?.[0]?.text,
      });
    },
  });
  const { run } = await setUp({ tools: [tool] }, [{ calls: [{ id: 'c1', name: 'f', args: {} }] }, 'ok']);
  const [event] = await run();
  expect(seen).toEqual([
    {
      functionCallId: 'c1',
      invocationId: event?.invocationId,
      agentName: 'bot',
      appName: 'app',
      userId: 'u',
      sessionId: 's',
      text: 'hi',
    },
  ]);
});

test.each(['instruction', 'globalInstruction', 'staticInstruction'])(
  'an assigned %s is used from the next turn on',
  async (option) => {
    const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel(['one', 'two']), [option]: 'Old.' });
    const { run } = await scenario({ agent });
    await run();
    Reflect.set(agent, option, 'New.');
    await run();
    const { requests } = agent.model as ScriptedModel;
    const texts = requests.map(({ request }) => String(request.config.systemInstruction));
    expect(texts.map((text) => text.slice(0, 4))).toEqual(['Old.', 'New.']);
  },
);

test('an assigned planner is used from the next turn on', async () => {
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel(['one', 'two']) });
  const { run } = await scenario({ agent });
  await run();
  Reflect.set(agent, 'planner', new PlanReActPlanner());
  await run();
  const { requests } = agent.model as ScriptedModel;
  expect(requests.map(({ request }) => String(request.config.systemInstruction).includes('/*PLANNING*/'))).toEqual([
    false,
    true,
  ]);
});

test('an assigned outputSchema is refused when the agent runs', async () => {
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([]) });
  Reflect.set(agent, 'outputSchema', { type: 'object' });
  const { run } = await scenario({ agent });
  await expect(run()).rejects.toThrow(
    'agent "bot": outputSchema was assigned; write it in the options, as in new LlmAgent({ …, outputSchema })',
  );
});

test('an assigned instruction of another kind is refused', async () => {
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([]) });
  Reflect.set(agent, 'instruction', ['Answer.']);
  const { run } = await scenario({ agent });
  await expect(run()).rejects.toThrow('agent "bot": instruction: expected a string or a function, got a list');
});

test.each([
  ['tools', []],
  ['subAgents', []],
  ['beforeAgentCallback', () => undefined],
  ['afterAgentCallback', (context: object) => void context],
  ['onAgentErrorCallback', [() => undefined]],
  ['beforeModelCallback', () => undefined],
  ['afterModelCallback', () => undefined],
  ['onModelErrorCallback', () => undefined],
  ['beforeToolCallback', () => undefined],
  ['afterToolCallback', () => undefined],
  ['onToolErrorCallback', () => undefined],
])('an assigned %s is refused when the agent runs', async (option, value) => {
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel(['Hello']) });
  Reflect.set(agent, option, value);
  const { run } = await scenario({ agent });
  await expect(run()).rejects.toThrow(
    `agent "bot": ${option} was assigned; the lists of an agent cannot be changed after its construction; write all entries in its options, as in new LlmAgent({ …, ${option}: [first, second] })`,
  );
});
