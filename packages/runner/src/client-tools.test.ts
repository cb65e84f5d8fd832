import {
  type BaseAgent,
  type BaseLlm,
  type FunctionDeclaration,
  getFunctionCalls,
  type RunConfig,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { IDS, scenario } from './fixtures/scenario.ts';
import type { RunAsyncParams } from './run-request.ts';

const OPEN_PAGE: FunctionDeclaration = {
  name: 'open_page',
  description: 'Opens a page in the browser.',
  parametersJsonSchema: { type: 'object', properties: { path: { type: 'string' } } },
};
const CLIENT_TOOLS: RunConfig = { clientTools: [OPEN_PAGE] };
const HI = { newMessage: { parts: [{ text: 'hi' }] } };
const CALL = { calls: [{ id: 'c1', name: 'open_page', args: { path: '/a' } }] } satisfies ScriptedStep;

const answered = (id = 'c1', response: Record<string, unknown> = { opened: '/a' }) => ({
  newMessage: { parts: [{ functionResponse: { id, name: 'open_page', response } }] },
});

/** Runs in one session, each with a new runner, as if in different processes. */
async function setUp() {
  const { restart, stored } = await scenario();
  const run = (agent: BaseAgent, params: Partial<RunAsyncParams>, resumable = false) =>
    restart({ agent, resumable }).runner.run({ ...IDS, ...params });
  return { run, stored };
}

const agentOf = (model: BaseLlm, config: object = {}) => new LlmAgent({ name: 'bot', model, ...config });
const offered = (model: ScriptedModel) => model.requests.map(({ request }) => Object.keys(request.toolsDict));

test("a client tool is declared beside the agent's tools, and a call to it ends the run", async () => {
  const { run } = await setUp();
  const look = new FunctionTool({ name: 'look', description: '', execute: () => 1 });
  const model = new ScriptedModel([CALL]);
  const events = await run(agentOf(model, { tools: [look] }), { ...HI, runConfig: CLIENT_TOOLS });
  expect(offered(model)).toEqual([['look', 'open_page']]);
  expect(model.requests[0]?.request.config.tools).toEqual([
    { functionDeclarations: [{ name: 'look', description: '' }, OPEN_PAGE] },
  ]);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({ longRunningToolIds: ['c1'] });
  model.assertConsumed();
});

test("the client's response continues the conversation, and client tools are declared only if they are given again", async () => {
  const { run } = await setUp();
  await run(agentOf(new ScriptedModel([CALL])), { ...HI, runConfig: CLIENT_TOOLS });
  const model = new ScriptedModel([CALL, 'You see it.']);
  await run(agentOf(model), { ...answered(), runConfig: CLIENT_TOOLS });
  expect(model.requests[0]?.request.contents.at(-1)).toEqual({
    role: 'user',
    parts: [{ functionResponse: { id: 'c1', name: 'open_page', response: { opened: '/a' } } }],
  });
  const later = new ScriptedModel(['You see it.']);
  const events = await run(agentOf(later), answered());
  expect(events.map(({ content }) => content?.parts?.[0]?.text)).toEqual(['You see it.']);
  expect([...offered(model), ...offered(later)]).toEqual([['open_page'], []]);
});

test("beside a client call the agent's tools run, and the model is called when all have responses", async () => {
  const { run } = await setUp();
  const look = new FunctionTool({ name: 'look', description: '', execute: () => 1 });
  const model = new ScriptedModel([{ calls: [...CALL.calls, { id: 'c2', name: 'look' }] }, 'Done.']);
  const agent = agentOf(model, { tools: [look] });
  const events = await run(agent, { ...HI, runConfig: CLIENT_TOOLS });
  expect(events[1]?.content?.parts?.map(({ functionResponse }) => functionResponse?.id)).toEqual(['c2']);
  expect(model.calls).toBe(1);
  await run(agent, answered());
  expect(model.requests[1]?.request.contents.at(-1)?.parts).toHaveLength(2);
});

describe('with pauseOnToolCalls', () => {
  const runConfig: RunConfig = { pauseOnToolCalls: true };
  const look = new FunctionTool({
    name: 'look',
    description: 'Looks.',
    parameters: z.object({ at: z.string() }),
    requireConfirmation: true,
    execute: () => expect.unreachable(),
  });
  const call = { calls: [{ id: 'c1', name: 'look', args: { at: 'sky' } }] } satisfies ScriptedStep;
  const response = {
    newMessage: { parts: [{ functionResponse: { id: 'c1', name: 'look', response: { seen: 'stars' } } }] },
  };

  test("a call to the agent's own tool ends the run, and the client's response continues the conversation", async () => {
    const { run } = await setUp();
    const model = new ScriptedModel([call, 'Stars.']);
    const agent = agentOf(model, { tools: [look] });
    const events = await run(agent, { ...HI, runConfig });
    expect(events).toMatchObject([
      { content: { parts: [{ functionCall: { id: 'c1' } }] }, longRunningToolIds: ['c1'] },
    ]);
    expect(model.requests[0]?.request.config.tools).toMatchObject([
      { functionDeclarations: [{ name: 'look', parametersJsonSchema: { required: ['at'] } }] },
    ]);
    const later = await run(agent, { ...response, runConfig });
    expect(later.map(({ content }) => content?.parts?.[0]?.text)).toEqual(['Stars.']);
    expect(model.requests[1]?.request.contents.at(-1)?.parts).toMatchObject([{ functionResponse: { id: 'c1' } }]);
  });

  test('a resumable run waits, and continues with the response without running the tool', async () => {
    const { run } = await setUp();
    const model = new ScriptedModel([call, call, 'Stars.']);
    const agent = agentOf(model, { tools: [look] });
    const [first] = await run(agent, { ...HI, runConfig }, true);
    const later = await run(agent, response, true);
    expect(later[0]).toMatchObject({ invocationId: first?.invocationId, longRunningToolIds: [expect.any(String)] });
  });

  test("a transfer to another agent runs, and the client also answers calls to that agent's tools", async () => {
    const { run } = await setUp();
    const model = new ScriptedModel([{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'seer' } }] }, call]);
    const seer = new LlmAgent({ name: 'seer', model, tools: [look] });
    const events = await run(agentOf(model, { subAgents: [seer] }), { ...HI, runConfig });
    expect(events.at(-1)).toMatchObject({ author: 'seer', longRunningToolIds: ['c1'] });
  });
});

describe('in a resumable run', () => {
  test("the client's response resumes the run, which keeps its client tools", async () => {
    const { run, stored } = await setUp();
    const [asked] = await run(agentOf(new ScriptedModel([CALL])), { ...HI, runConfig: CLIENT_TOOLS }, true);
    const model = new ScriptedModel(['You see it.']);
    const events = await run(agentOf(model), answered(), true);
    expect(events.at(-1)?.invocationId).toBe(asked?.invocationId);
    expect(offered(model)).toEqual([['open_page']]);
    expect(new Set((await stored()).map(({ invocationId }) => invocationId)).size).toBe(1);
  });

  test('client tools given to the resumed run replace the earlier ones', async () => {
    const { run } = await setUp();
    await run(agentOf(new ScriptedModel([CALL])), { ...HI, runConfig: CLIENT_TOOLS }, true);
    const model = new ScriptedModel(['You see it.']);
    await run(agentOf(model), { ...answered(), runConfig: { clientTools: [{ name: 'close_page' }] } }, true);
    expect(offered(model)).toEqual([['close_page']]);
  });

  test('resumed without the response, it waits and repeats no call', async () => {
    const { run } = await setUp();
    const [asked] = await run(agentOf(new ScriptedModel([CALL])), { ...HI, runConfig: CLIENT_TOOLS }, true);
    const events = await run(agentOf(new ScriptedModel([])), { invocationId: asked?.invocationId }, true);
    expect(events.flatMap(getFunctionCalls)).toEqual([]);
    expect(await run(agentOf(new ScriptedModel(['You see it.'])), answered(), true)).not.toEqual([]);
  });

  test('a sequence continues with its next agent after the response', async () => {
    const { run } = await setUp();
    const tree = (first: ScriptedModel, second: ScriptedModel) =>
      new SequentialAgent({
        name: 'flow',
        subAgents: [new LlmAgent({ name: 'a', model: first }), new LlmAgent({ name: 'b', model: second })],
      });
    await run(tree(new ScriptedModel([CALL]), new ScriptedModel([])), { ...HI, runConfig: CLIENT_TOOLS }, true);
    const [first, second] = [new ScriptedModel(['one']), new ScriptedModel(['two'])];
    await run(tree(first, second), answered(), true);
    expect([...offered(first), ...offered(second)]).toEqual([['open_page'], ['open_page']]);
  });
});

test('an agent that got control by a transfer also declares client tools', async () => {
  const { run } = await setUp();
  const helper = new ScriptedModel([CALL]);
  const transfer = { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
  const agent = agentOf(new ScriptedModel([transfer]), {
    subAgents: [new LlmAgent({ name: 'helper', model: helper })],
  });
  const events = await run(agent, { ...HI, runConfig: CLIENT_TOOLS });
  expect(events.at(-1)).toMatchObject({ author: 'helper', longRunningToolIds: ['c1'] });
});

test('an agent called with AgentTool declares no client tools', async () => {
  const { run } = await setUp();
  const inner = new ScriptedModel(['looked']);
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'inner', args: { request: 'x' } }] }, 'ok']);
  const tool = new AgentTool({ agent: new LlmAgent({ name: 'inner', model: inner }) });
  await run(agentOf(model, { tools: [tool] }), { ...HI, runConfig: CLIENT_TOOLS });
  expect(offered(inner)).toEqual([[]]);
});

test("a client tool with the name of an agent's tool fails the run", async () => {
  const { run } = await setUp();
  const own = new FunctionTool({ name: 'open_page', description: '', execute: () => 1 });
  const running = run(agentOf(new ScriptedModel([]), { tools: [own] }), { ...HI, runConfig: CLIENT_TOOLS });
  await expect(running).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: `runConfig.clientTools: the agent "bot" has a tool named "open_page"; give the client's function another name`,
  });
});

test('changing the given declarations during the run has no effect', async () => {
  const { run } = await setUp();
  const declaration = { ...OPEN_PAGE };
  const model = new ScriptedModel([CALL]);
  const running = run(agentOf(model), { ...HI, runConfig: { clientTools: [declaration] } });
  declaration.description = 'Deletes everything.';
  await running;
  expect(model.requests[0]?.request.config.tools).toEqual([{ functionDeclarations: [OPEN_PAGE] }]);
});
