import { type Event, getFunctionResponses, REQUEST_CONFIRMATION } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { AdkInMemoryRunner } from './in-memory-runner.ts';
import { node } from './workflow/build-node.ts';
import { ToolNode } from './workflow/tool-node.ts';
import { Workflow } from './workflow/workflow.ts';
import { getAskUserConfirmationFunctionCalls, type PolicyOutcome, SecurityPlugin } from './security-plugin.ts';

function runnerWith(outcome: PolicyOutcome, calls: string[]): AdkInMemoryRunner {
  const erase = new FunctionTool({ name: 'erase', description: 'Erases.', execute: () => void calls.push('erase') });
  const model = new ScriptedModel([
    { calls: [{ id: 'c1', name: 'erase', args: {} }] },
    { text: 'Done.' },
    { text: 'Really done.' },
  ]);
  const plugin = new SecurityPlugin({ policyEngine: { evaluate: async () => ({ outcome, reason: 'it erases' }) } });
  return new AdkInMemoryRunner({
    agent: new LlmAgent({ name: 'helper', model, tools: [erase] }),
    plugins: [plugin],
    autoCreateSession: true,
  });
}

async function answer(runner: AdkInMemoryRunner, parts: object[]): Promise<Event[]> {
  return runner.run({ userId: 'u', sessionId: 's', newMessage: { role: 'user', parts } });
}

const responsesOf = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({ response }) => response);

describe('SecurityPlugin', () => {
  test('lets a call run that the policy allows', async () => {
    const calls: string[] = [];
    await answer(runnerWith('ALLOW', calls), [{ text: 'Erase.' }]);
    expect(calls).toEqual(['erase']);
  });

  test('answers a call that the policy denies with its reason', async () => {
    const calls: string[] = [];
    const events = await answer(runnerWith('DENY', calls), [{ text: 'Erase.' }]);
    expect(calls).toEqual([]);
    expect(responsesOf(events)).toEqual([{ error: 'This tool call is rejected by policy engine. Reason: it erases' }]);
  });

  test.each<[unknown]>([[undefined], ['deny'], [['DENY']], ['toString']])(
    'runs no call if the policy answers %j',
    async (outcome) => {
      const calls: string[] = [];
      const running = answer(runnerWith(outcome as PolicyOutcome, calls), [{ text: 'Erase.' }]);
      await expect(running).rejects.toThrow(
        'SecurityPlugin: policyEngine.evaluate: outcome: expected PolicyOutcome.ALLOW',
      );
      expect(calls).toEqual([]);
    },
  );

  test.each([
    [true, ['erase']],
    [false, []],
  ])('for a call that needs confirmation, the answer %s gives %j', async (confirmed, expected) => {
    const calls: string[] = [];
    const runner = runnerWith('CONFIRM', calls);
    const asked = (await answer(runner, [{ text: 'Erase.' }])).flatMap(getAskUserConfirmationFunctionCalls);
    expect(calls).toEqual([]);
    expect(asked).toHaveLength(1);
    const id = asked[0]?.id;
    await answer(runner, [{ functionResponse: { id, name: REQUEST_CONFIRMATION, response: { confirmed } } }]);
    expect(calls).toEqual(expected);
  });

  test.each(['requireConfirmation', 'requestConfirmation'])(
    'asks the question of the policy, and then that of the tool (%s)',
    async (way) => {
      const calls: string[] = [];
      const erase = new FunctionTool({
        name: 'erase',
        description: 'Erases.',
        requireConfirmation: way === 'requireConfirmation',
        execute: (_args, context) => {
          if (context.toolConfirmation) return void calls.push(`erase ${context.toolConfirmation.confirmed}`);
          context.requestConfirmation({ hint: 'All files?' });
          return { status: 'asked' };
        },
      });
      const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'erase', args: {} }] }, ...Array(4).fill('ok')]);
      const evaluate = async () => ({ outcome: 'CONFIRM', reason: 'it erases' }) as const;
      const runner = new AdkInMemoryRunner({
        agent: new LlmAgent({ name: 'helper', model, tools: [erase] }),
        plugins: [new SecurityPlugin({ policyEngine: { evaluate } })],
        autoCreateSession: true,
      });
      const asked: unknown[] = [];
      let parts: object[] = [{ text: 'Erase.' }];
      while (asked.length < 4) {
        const [request] = (await answer(runner, parts)).flatMap(getAskUserConfirmationFunctionCalls);
        if (!request) break;
        asked.push((request.args?.['toolConfirmation'] as { hint?: string } | undefined)?.hint);
        expect(calls).toEqual([]);
        const response = { id: request.id, name: REQUEST_CONFIRMATION, response: { confirmed: true } };
        parts = [{ functionResponse: response }];
      }
      expect(asked).toEqual([
        'Policy engine requires confirmation calling tool: erase. Reason: it erases',
        way === 'requireConfirmation' ? 'Please approve or reject the call of erase.' : 'All files?',
      ]);
      expect(calls).toEqual(['erase true']);
    },
  );

  test.each([
    ['DENY', [], 3],
    // The third message finds the second call waiting for its answer.
    ['CONFIRM', ['pay'], 3],
  ] as const)('asks about each call of a ToolNode, whose calls have one id: %s', async (outcome, expected, asks) => {
    const calls: string[] = [];
    let asked = 0;
    const evaluate = async () => {
      asked++;
      return { outcome };
    };
    const pay = new FunctionTool({ name: 'pay', description: '', execute: () => void calls.push('pay') });
    const agent = new Workflow({
      name: 'w',
      edges: [['START', node(() => ({}), { name: 'first' }), new ToolNode(pay)]],
    });
    const plugins = [new SecurityPlugin({ policyEngine: { evaluate } })];
    const runner = new AdkInMemoryRunner({ agent, plugins, autoCreateSession: true });
    const requests = (await answer(runner, [{ text: 'Pay.' }])).flatMap(getAskUserConfirmationFunctionCalls);
    for (const { id } of requests)
      await answer(runner, [{ functionResponse: { id, name: REQUEST_CONFIRMATION, response: { confirmed: true } } }]);
    for (let count = 0; count < 2; count++) await answer(runner, [{ text: 'Pay again.' }]).catch(() => undefined);
    expect(calls).toEqual(expected);
    expect(asked).toBe(asks);
  });
});
