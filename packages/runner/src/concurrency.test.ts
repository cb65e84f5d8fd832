import type { BaseAgent, Event, LlmRequest } from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { AgentTool, exitLoop, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedFunction } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Runner } from './runner.ts';

const RUNS = 1000;

/** A model that calls the tool with the user's text, and then repeats the tool's result. */
const answer: ScriptedFunction = ({ contents }) => {
  const response = contents.at(-1)?.parts?.[0]?.functionResponse?.response;
  if (response) return { chunks: [`It is ${JSON.stringify(response['is'])}`, '.'] };
  return { calls: [{ name: 'look', args: { what: contents.at(-1)?.parts?.[0]?.text } }] };
};

const look = new FunctionTool({
  name: 'look',
  description: 'Looks.',
  parameters: z.object({ what: z.string() }),
  execute: async ({ what }, { state }) => {
    await Promise.resolve();
    state.set('looked at', what);
    state.set('temp:note', what);
    return { is: state.get('temp:note') };
  },
});

test('1,000 concurrent runs of one agent object are independent', async () => {
  const model = new ScriptedModel(
    Array.from({ length: 2 * RUNS }, () => answer),
    { recordRequests: false },
  );
  const agent = new LlmAgent({
    name: 'bot',
    model,
    instruction: 'Look at {looked at?} and {temp:note?}.',
    tools: [look],
    outputKey: 'said',
    beforeModelCallback: ({ context }) =>
      context.state.set('temp:calls', Number(context.state.get('temp:calls') ?? 0) + 1),
  });
  const before = JSON.stringify(agent);
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });
  const names = Array.from({ length: RUNS }, (_, index) => `thing ${index}`);
  const runs = names.map(async (text) => {
    const events: Event[] = [];
    const newMessage = { parts: [{ text }] };
    const runConfig = { streamingMode: 'sse', maxLlmCalls: 2, requestId: text } as const;
    for await (const event of runner.runAsync({ userId: 'u', sessionId: text, newMessage, runConfig }))
      events.push(event);
    return events;
  });
  const results = await Promise.all(runs);
  const ids = new Set<string>();
  for (const [index, events] of results.entries()) {
    const text = names[index] ?? '';
    expect(events.map((event) => event.requestId)).toEqual(Array<string>(events.length).fill(text));
    expect(new Set(events.map((event) => event.invocationId)).size).toBe(1);
    expect(events.at(-1)?.content?.parts).toEqual([{ text: `It is "${text}".` }]);
    for (const { id } of events) ids.add(id);
    const session = await sessionService.getSession({ appName: 'app', userId: 'u', sessionId: text });
    expect(session?.state).toEqual({ 'looked at': text, said: `It is "${text}".` });
    expect(session?.events).toHaveLength(4);
  }
  expect(ids.size).toBe(results.flat().length);
  model.assertConsumed();
  expect(JSON.stringify(agent)).toBe(before);
});

/** Returns the text of the user's message. */
function asked({ contents }: LlmRequest): string {
  return contents[0]?.parts?.[0]?.text ?? '';
}

/** An agent that is called this often in each run; its model depends only on the request. */
function agentOf(
  name: string,
  callsInEachRun: number,
  step: ScriptedFunction,
  config: Partial<LlmAgentConfig> = {},
): LlmAgent {
  const steps = Array.from({ length: RUNS * callsInEachRun }, () => step);
  return new LlmAgent({ name, model: new ScriptedModel(steps, { recordRequests: false }), ...config });
}

/** Two concurrent agents, then a loop of two rounds, then an agent that calls another one as a tool and transfers to a third. */
function workflow(): SequentialAgent {
  const scouts = ['left', 'right'].map((name) =>
    agentOf(name, 1, (request) => `${name} of ${asked(request)}`, { outputKey: name }),
  );
  const critic = agentOf(
    'critic',
    2,
    ({ contents }) =>
      contents.at(-1)?.parts?.[0]?.text === 'once more' ? { calls: [{ name: 'exit_loop' }] } : 'once more',
    { tools: [exitLoop] },
  );
  const expert = agentOf('expert', 1, (request) => `expert of ${asked(request)}`, { outputKey: 'expert' });
  const closer = agentOf('closer', 1, ({ config }) => String(config.systemInstruction).split('\n')[0] ?? '', {
    instruction: '{left}, {right}, {expert}.',
  });
  const desk = agentOf(
    'desk',
    2,
    (request) =>
      request.contents.at(-1)?.parts?.[0]?.functionResponse
        ? { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'closer' } }] }
        : { calls: [{ name: 'expert', args: { request: asked(request) } }] },
    { tools: [new AgentTool({ agent: expert })], subAgents: [closer] },
  );
  return new SequentialAgent({
    name: 'flow',
    subAgents: [
      new ParallelAgent({ name: 'scouts', subAgents: scouts }),
      new LoopAgent({ name: 'loop', subAgents: [critic] }),
      desk,
    ],
  });
}

test('1,000 concurrent runs of one agent tree are independent and do not modify it', async () => {
  const agent = workflow();
  const before = inspect(agent);
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });
  const names = Array.from({ length: RUNS }, (_, index) => `thing ${index}`);
  const runs = names.map((text) => runner.run({ userId: 'u', sessionId: text, newMessage: { parts: [{ text }] } }));
  for (const [index, events] of (await Promise.all(runs)).entries()) {
    const text = names[index] ?? '';
    expect(events.at(-1)?.content?.parts).toEqual([{ text: `left of ${text}, right of ${text}, expert of ${text}.` }]);
    const session = await sessionService.getSession({ appName: 'app', userId: 'u', sessionId: text });
    const of = (name: string): string => `${name} of ${text}`;
    expect(session?.state).toEqual({ left: of('left'), right: of('right'), expert: of('expert') });
    expect(new Set(JSON.stringify(session?.events).match(/thing \d+/g))).toEqual(new Set([text]));
    expect(session?.events.map(({ author, branch = '' }) => `${author} ${branch.split('@')[0]}`).toSorted()).toEqual(
      AUTHORS,
    );
  }
  expect(inspect(agent)).toBe(before);
});

/** Authors of the events of a run of the tree, in order. */
const AUTHORS = [
  'closer ',
  'critic ',
  'critic ',
  'critic ',
  'desk ',
  'desk ',
  'desk ',
  'desk ',
  'desk expert',
  'expert expert',
  'left scouts.left',
  'right scouts.right',
  'user ',
];

/** Returns the readable data of an agent tree as JSON. */
function inspect(agent: BaseAgent): string {
  return JSON.stringify(agent, (_key, value: unknown) => (value instanceof ScriptedModel ? 'model' : value));
}
