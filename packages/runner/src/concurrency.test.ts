import { type Event } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedFunction } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Runner } from './runner.ts';

const RUNS = 1000;

/** Calls the tool with the user's text, and then says what it answered. */
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

test('1,000 runs of one agent object at once keep apart', async () => {
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
