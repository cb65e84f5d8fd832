/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { BaseAgent, RunAbortedError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { exitLoop, LoopAgent, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { CustomAgent, sayer, textEvent } from './fixtures/custom-agent.ts';
import { scenario, scripted, textOf, transferTo } from './fixtures/scenario.ts';

/** An agent that escalates in one round of its loop and then yields one more event. */
function leaver(name: string, inRound: number): CustomAgent {
  let round = 0;
  return new CustomAgent(name, async function* (context) {
    const escalate = ++round === inRound;
    yield context.createEvent({ content: { role: 'model', parts: [{ text: name }] }, actions: { escalate } });
    if (escalate) yield textEvent(context, `${name} leaves`);
  });
}

async function textsOf(agent: BaseAgent): Promise<(string | undefined)[]> {
  const { run } = await scenario({ agent });
  return (await run()).map(textOf);
}

describe('LoopAgent', () => {
  test('runs its sub-agents in rounds up to maxIterations', async () => {
    const root = new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [sayer('a'), sayer('b')] });
    expect(await textsOf(root)).toEqual(['a', 'b', 'a', 'b']);
  });

  test('ends when an agent escalates, which completes first; the rest of the round is skipped', async () => {
    const root = new LoopAgent({ name: 'loop', subAgents: [sayer('a'), leaver('b', 2), sayer('c')] });
    expect(await textsOf(root)).toEqual(['a', 'b', 'c', 'a', 'b', 'b leaves']);
  });

  test('ends when a model calls exit_loop, without another model call', async () => {
    const steps: ScriptedStep[] = ['again', { calls: [{ name: 'exit_loop' }] }];
    const critic = scripted('critic', steps, { tools: [exitLoop] });
    const { run } = await scenario({ agent: new LoopAgent({ name: 'loop', subAgents: [critic, sayer('fixer')] }) });
    const events = await run();
    expect(events.map((event) => event.author)).toEqual(['critic', 'fixer', 'critic', 'critic']);
    expect(events.at(-1)?.actions).toMatchObject({ escalate: true, skipSummarization: true });
  });

  test('ends the loops around it too, each when its sub-agent has ended', async () => {
    const inner = new LoopAgent({ name: 'inner', maxIterations: 2, subAgents: [leaver('a', 2), sayer('b')] });
    const steps = new SequentialAgent({ name: 'steps', subAgents: [inner, sayer('c')] });
    const root = new LoopAgent({ name: 'outer', maxIterations: 2, subAgents: [steps, sayer('d')] });
    expect(await textsOf(root)).toEqual(['a', 'b', 'a', 'a leaves', 'c']);
  });

  test('continues the round after a transfer, and ends if the target escalates', async () => {
    const helper = leaver('helper', 1);
    const asker = scripted('asker', [transferTo('helper')], { subAgents: [helper] });
    const root = new LoopAgent({ name: 'loop', maxIterations: 3, subAgents: [asker, sayer('skipped')] });
    const said = await textsOf(root);
    expect(said.slice(-2)).toEqual(['helper', 'helper leaves']);
  });

  test.each([
    ['it finishes its turn', false, 2],
    ['its model is not asked again with skipSummarization', true, 1],
  ])('ends when a custom tool escalates: %s', async (_, skipSummarization, modelCalls) => {
    const judge = new FunctionTool({
      name: 'judge',
      description: '',
      execute: (_args, { actions }) => {
        actions.escalate = true;
        if (skipSummarization) actions.skipSummarization = true;
        return 'good';
      },
    });
    const model = new ScriptedModel([{ calls: [{ name: 'judge' }] }, 'it is good']);
    const critic = new LlmAgent({ name: 'critic', model, tools: [judge] });
    const { run } = await scenario({ agent: new LoopAgent({ name: 'loop', subAgents: [critic, sayer('fixer')] }) });
    expect(new Set((await run()).map((event) => event.author))).toEqual(new Set(['critic']));
    expect(model.calls).toBe(modelCalls);
  });

  test('an escalation outside a loop has no effect: the model continues', async () => {
    const judge = new FunctionTool({
      name: 'judge',
      description: '',
      execute: (_args, { actions }) => {
        actions.escalate = true;
        return 'good';
      },
    });
    const model = new ScriptedModel([{ calls: [{ name: 'judge' }] }, 'it is good']);
    const { run } = await scenario({ agent: new LlmAgent({ name: 'critic', model, tools: [judge] }) });
    expect((await run()).at(-1)?.content?.parts).toEqual([{ text: 'it is good' }]);
  });

  test('starts no agent after an abort', async () => {
    const controller = new AbortController();
    let begun = 0;
    const deaf = new CustomAgent('deaf', async function* () {
      if (++begun === 3) controller.abort();
    });
    const { runner } = await scenario({ agent: new LoopAgent({ name: 'loop', maxIterations: 10, subAgents: [deaf] }) });
    const newMessage = { parts: [{ text: 'hi' }] };
    const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
    expect(begun).toBe(3);
  });

  test.each<[string, (begin: () => void) => BaseAgent]>([
    [
      'say nothing',
      (begin) =>
        new CustomAgent('silent', async function* () {
          begin();
        }),
    ],
    [
      'yield events',
      (begin) =>
        new CustomAgent('talker', async function* (context) {
          begin();
          yield context.createEvent({ partial: true });
        }),
    ],
    [
      'are answered for by a callback',
      (begin) =>
        scripted('llm', [], {
          beforeAgentCallback: () => {
            begin();
            return { parts: [{ text: 'no' }] };
          },
        }),
    ],
  ])('an endless loop of agents that %s does not block the process, and can be aborted', async (_, create) => {
    const controller = new AbortController();
    let begun = 0;
    const begin = (): void => {
      if (++begun > 10_000) throw new RangeError('the event loop never had its turn');
    };
    const { runner } = await scenario({ agent: new LoopAgent({ name: 'loop', subAgents: [create(begin)] }) });
    const newMessage = { parts: [{ text: 'hi' }] };
    const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
    // The event loop runs other work.
    setTimeout(() => controller.abort());
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  });

  test('refuses an empty list of sub-agents', () => {
    expect(() => new LoopAgent({ name: 'loop', subAgents: [] })).toThrow(
      'agent "loop": subAgents is empty; write subAgents: [writer, critic]',
    );
  });

  test('is stopped by endInvocation during a round', async () => {
    const ender = new CustomAgent('ender', async function* (context) {
      context.endInvocation = true;
    });
    expect(await textsOf(new LoopAgent({ name: 'loop', subAgents: [sayer('a'), ender, sayer('b')] }))).toEqual(['a']);
  });

  test.each([0, -1, 1.5, Number.NaN])('refuses maxIterations %d', (maxIterations) => {
    expect(() => new LoopAgent({ name: 'loop', subAgents: [], maxIterations })).toThrow(
      'agent "loop": maxIterations: expected an integer of at least 1',
    );
  });
});
