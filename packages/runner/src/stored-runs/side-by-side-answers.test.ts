import { getFunctionCalls } from '@eventloom/core';
import { ParallelAgent } from '@eventloom/multi-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { agentOf, answer, setUp, textsOf, WAIT, ask, parallelThenLast } from './fixtures/paused-run.ts';

describe('an answer resumes the run that requested it', () => {
  test('in which one message has answers for several parallel agents', async () => {
    const { run, begin, stored } = await setUp();
    const { invocationId } = await begin(parallelThenLast([ask('l')], [ask('r')], []));
    const rest = await run(parallelThenLast(['left'], ['right'], ['all']), {
      ...answer('l', 'r'),
      stateDelta: { seen: true },
    });
    expect(textsOf(rest).toSorted()).toEqual(['last: all', 'left: left', 'right: right']);
    expect(rest[0]?.invocationId).toBe(invocationId);
    const messages = (await stored()).filter(({ author }) => author === 'user');
    expect(messages.map(({ branch, actions }) => [branch, actions.stateDelta])).toEqual([
      [undefined, {}],
      ['par.left', { seen: true }],
      ['par.right', {}],
    ]);
  });

  test('in which parallel agents use the same call id, with one message or two', async () => {
    const tree = (left: ScriptedStep[], right: ScriptedStep[]) =>
      new ParallelAgent({ name: 'par', subAgents: [agentOf('left', left), agentOf('right', right)] });
    const together = await setUp();
    await together.begin(tree([WAIT], [WAIT]));
    const both = await together.run(tree(['left'], ['right']), answer('c1', 'c1'));
    expect(textsOf(both).toSorted()).toEqual(['left: left', 'right: right']);
    const apart = await setUp();
    await apart.begin(tree([WAIT], [WAIT]));
    const first = await apart.run(tree(['left'], ['right']), answer('c1'));
    const second = await apart.run(tree(['left'], ['right']), answer('c1'));
    expect([...textsOf(first), ...textsOf(second)].toSorted()).toEqual(['left: left', 'right: right']);
  });

  test.each([true, false])(
    'a confirmation reaches its own agent when parallel agents use the same call id: %s',
    async (resumable) => {
      const { run, begin } = await setUp();
      let paid = 0;
      const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => ++paid });
      const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
      const tree = (left: ScriptedStep[], right: ScriptedStep[]) =>
        new ParallelAgent({
          name: 'par',
          subAgents: [agentOf('left', left, { tools: [look] }), agentOf('right', right, { tools: [pay] })],
        });
      const call = (name: string): ScriptedStep => ({ calls: [{ id: 'c1', name }] });
      const { events } = await begin(tree([call('look'), call('look'), 'seen'], [call('pay')]), resumable);
      const { id = '' } =
        events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation') ?? {};
      const newMessage = { parts: [{ functionResponse: { id, response: { confirmed: true } } }] };
      expect(textsOf(await run(tree([], ['paid']), { newMessage }, resumable))).toEqual(['right: paid']);
      expect(paid).toBe(1);
    },
  );

  test.each([true, false])(
    'of which the run has ended, for one parallel agent after the other; one message for both is refused (resumable: %j)',
    async (resumable) => {
      const { run, begin, stored } = await setUp();
      const ask = (id: string) => ({ calls: [{ id, name: 'wait' }] });
      const tree = (left: ScriptedStep[], right: ScriptedStep[]) =>
        new ParallelAgent({ name: 'par', subAgents: [agentOf('left', left), agentOf('right', right)] });
      await begin(tree([ask('l')], [ask('r')]), false);
      const before = await stored();
      await expect(run(tree([], []), answer('l', 'r'), resumable)).rejects.toThrow('send one message per agent');
      expect(await stored()).toEqual(before);
      expect(textsOf(await run(tree([], ['right']), answer('r'), resumable))).toEqual(['right: right']);
      expect(textsOf(await run(tree(['left'], []), answer('l'), resumable))).toEqual(['left: left']);
    },
  );
});
