/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { BaseAgent, RunAbortedError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { CustomAgent, sayer } from './fixtures/custom-agent.ts';
import { scenario, scripted, textOf, transferTo } from './fixtures/scenario.ts';

async function textsOf(agent: BaseAgent): Promise<(string | undefined)[]> {
  const { run } = await scenario({ agent });
  return (await run()).map(textOf);
}

describe('SequentialAgent', () => {
  test('runs its sub-agents in order, each after the events of the previous one', async () => {
    const model = new ScriptedModel(['sketch', 'text']);
    const root = new SequentialAgent({
      name: 'steps',
      subAgents: [
        new LlmAgent({ name: 'drafter', model, outputKey: 'draft' }),
        new LlmAgent({ name: 'writer', model, instruction: 'Write out {draft}.' }),
      ],
    });
    expect(await textsOf(root)).toEqual(['sketch', 'text']);
    expect(model.requests[1]?.request.config.systemInstruction).toMatch(/^Write out sketch\./);
  });

  test("continues once the target of a sub-agent's transfer has ended", async () => {
    const asker = scripted('asker', [transferTo('helper')], { subAgents: [scripted('helper', ['helped'])] });
    const root = new SequentialAgent({ name: 'steps', subAgents: [asker, sayer('next')] });
    expect(await textsOf(root)).toEqual([undefined, undefined, 'helped', 'next']);
  });

  test('ends at endInvocation', async () => {
    const ender = new CustomAgent('ender', async function* (context) {
      context.endInvocation = true;
    });
    expect(await textsOf(new SequentialAgent({ name: 'steps', subAgents: [sayer('a'), ender, sayer('b')] }))).toEqual([
      'a',
    ]);
  });

  test('without sub-agents does nothing', async () => {
    expect(await textsOf(new SequentialAgent({ name: 'steps', subAgents: [] }))).toEqual([]);
  });

  test('fails with the sub-agent that fails, and runs no further sub-agent', async () => {
    const broken = new CustomAgent('broken', async function* () {
      throw new TypeError('no');
    });
    const { run, stored } = await scenario({
      agent: new SequentialAgent({ name: 'steps', subAgents: [broken, sayer('b')] }),
    });
    await expect(run()).rejects.toThrow('no');
    expect((await stored()).map((event) => event.errorCode)).toEqual([undefined, 'AGENT']);
  });

  test('attributes a failure to the agent that failed, on its branch', async () => {
    const broken = new CustomAgent('broken', async function* () {
      throw new TypeError('no');
    });
    const lane = new LoopAgent({ name: 'lane', subAgents: [broken] });
    const par = new ParallelAgent({ name: 'par', subAgents: [lane] });
    const { run, stored } = await scenario({
      agent: new SequentialAgent({ name: 'steps', subAgents: [sayer('a'), par] }),
    });
    await expect(run()).rejects.toThrow('no');
    expect((await stored()).at(-1)).toMatchObject({ author: 'broken', branch: 'par.lane', errorCode: 'AGENT' });
  });

  test.each([
    ['in a sequence', (agent: BaseAgent) => new SequentialAgent({ name: 'steps', subAgents: [agent] })],
    ['at the top', (agent: BaseAgent) => agent],
  ])('attributes a failure to an agent %s that catches one failure and fails with another', async (_, place) => {
    const broken = new CustomAgent('broken', async function* () {
      throw new TypeError('caught');
    });
    const careless = new CustomAgent(
      'careless',
      async function* (context) {
        try {
          yield* broken.runAsync(context);
        } catch {
          throw new TypeError('no');
        }
      },
      { subAgents: [broken] },
    );
    const { run, stored } = await scenario({ agent: place(careless) });
    await expect(run()).rejects.toThrow('no');
    expect((await stored()).at(-1)).toMatchObject({
      author: 'careless',
      errorMessage: expect.stringContaining('agent "careless"'),
    });
  });

  test('runs its callbacks before its first and after its last agent', async () => {
    const root = new SequentialAgent({
      name: 'steps',
      subAgents: [sayer('a')],
      beforeAgentCallback: ({ state }) => state.set('began', true),
      afterAgentCallback: () => ({ parts: [{ text: 'after' }] }),
    });
    const { run } = await scenario({ agent: root });
    const events = await run();
    expect(events[0]?.actions.stateDelta).toEqual({ began: true });
    expect(events.map((event) => [event.author, textOf(event)])).toEqual([
      ['steps', undefined],
      ['a', 'a'],
      ['steps', 'after'],
    ]);
  });
});

test('SequentialAgent starts no agent after an abort', async () => {
  const controller = new AbortController();
  let begun = 0;
  const deaf = (name: string) =>
    new CustomAgent(name, async function* () {
      begun++;
      controller.abort();
    });
  const { runner } = await scenario({
    agent: new SequentialAgent({ name: 'steps', subAgents: [deaf('a'), deaf('b')] }),
  });
  const newMessage = { parts: [{ text: 'hi' }] };
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(begun).toBe(1);
});
