import { createEvent } from '@eventloom/core';
import { SequentialAgent } from '@eventloom/multi-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { agentOf, answer, KEY, setUp, textsOf, WAIT } from './fixtures/paused-run.ts';

describe('a run resumes with each of many answers, wherever they are in the session', () => {
  test.each([0, 1, 2, 3, 5])('with %i tool calls between two answers', async (calls) => {
    const { run, begin, stored } = await setUp();
    const note = new FunctionTool({ name: 'note', description: '', execute: () => 'noted' });
    const bot = (round: number) => {
      const steps = Array.from({ length: calls }, (_, i) => ({ calls: [{ id: `n${round}-${i}`, name: 'note' }] }));
      return agentOf('bot', [...steps, { calls: [{ id: `c${round}`, name: 'wait' }] }], {
        tools: [note, new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined })],
      });
    };
    await begin(bot(0));
    for (let round = 1; round <= 40; round++) await run(bot(round), answer(`c${round - 1}`));
    expect(new Set((await stored()).map(({ invocationId }) => invocationId)).size).toBe(1);
  });

  test('in a chain of runs that answer each other, only the call and its run are read', async () => {
    const { run, begin, sessionService } = await setUp();
    const bot = (round: number) => agentOf('bot', [{ calls: [{ id: `c${round}`, name: 'wait' }] }]);
    await begin(bot(0), false);
    for (let round = 1; round <= 60; round++) await run(bot(round), answer(`c${round - 1}`), false);
    const pages: number[] = [];
    const list = sessionService.listEvents.bind(sessionService);
    sessionService.listEvents = async (request) => {
      const page = await list(request);
      pages.push(page.events.length);
      return page;
    };
    await run(bot(61), answer('c60'), false);
    expect(pages).toEqual([32]);
  });
});

test.each([
  ['the branch of the agent', {}],
  ['the branch that adk-python gives a task', { branch: 'asks@c9', isolationScope: 'c9' }],
])('a resumed run does not call a model again that another run continued with the answer on %s', async (_, place) => {
  const { run, begin, stored, sessionService } = await setUp();
  const flow = (first: ScriptedStep[], second: ScriptedStep[]) =>
    new SequentialAgent({ name: 'flow', subAgents: [agentOf('asks', first), agentOf('follows', second)] });
  const { invocationId } = await begin(flow([WAIT], []));
  // Events of a run of this agent alone: its message and the reply of the model.
  const session = (await sessionService.getSession(KEY)) ?? (await sessionService.createSession(KEY));
  const executionId = 'e-other';
  const append = (event: Parameters<typeof createEvent>[0]) =>
    sessionService.appendEvent({
      session,
      event: createEvent({ ...event, ...place, invocationId: executionId, executionId }),
    });
  const functionResponse = { id: 'c1', name: 'wait', response: {} };
  await append({ id: 'x1', author: 'user', content: { role: 'user', parts: [{ functionResponse }] } });
  await append({
    id: 'x2',
    author: 'asks',
    content: { role: 'model', parts: [{ text: 'ready' }] },
    usageMetadata: { timingInfo: {} },
  });
  expect(textsOf(await run(flow([], ['followed']), { invocationId }))).toEqual(['follows: followed']);
  expect((await stored()).at(-1)?.object).toBe('runner.end');
});
