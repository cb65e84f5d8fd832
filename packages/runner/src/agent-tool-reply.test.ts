import { Calls } from '@eventloom/core/internal';
import { AgentTool } from '@eventloom/multi-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { caller } from './fixtures/agent-tool-run.ts';
import { responsesOf, scenario, scripted, textOf } from './fixtures/scenario.ts';

describe('the reply of an AgentTool', () => {
  test('is the value of its output schema', async () => {
    const helper = scripted('helper', ['{"count": 3}'], { outputSchema: z.object({ count: z.number() }) });
    const { run } = await scenario({ agent: caller(helper) });
    expect(responsesOf(await run())).toEqual([{ count: 3 }]);
  });

  test('is an error if it never matches the output schema', async () => {
    const helper = scripted(
      'helper',
      Array.from({ length: 4 }, () => 'no'),
      { outputSchema: z.object({ count: z.number() }) },
    );
    const { run } = await scenario({ agent: caller(helper) });
    expect(responsesOf(await run())).toEqual([{ error: expect.stringContaining('does not match the schema') }]);
  });

  test('has no thoughts, and is empty without text', async () => {
    const { run } = await scenario({ agent: caller(scripted('helper', [{ thought: 'hm', text: 'yes' }])) });
    expect(responsesOf(await run())).toEqual([{ result: 'yes' }]);
    const silent = new CustomAgent('silent', async function* () {});
    const second = await scenario({ agent: caller(silent) });
    expect(responsesOf(await second.run())).toEqual([{ result: '' }]);
  });

  test('does not include replies of agents that it called as tools', async () => {
    const deep = scripted('deep', ['deep words']);
    const call = { calls: [{ name: 'deep', args: { request: 'x' } }] };
    const middle = scripted('middle', [call, { parts: [] }], {
      tools: [new AgentTool({ agent: deep, streamInner: true })],
    });
    const { run } = await scenario({ agent: caller(middle) });
    expect(responsesOf(await run()).at(-1)).toEqual({ result: '' });
  });

  test('is the public message of an error if the agent fails; the program gets the reason, and the caller continues', async () => {
    const helper = scripted('helper', [new TypeError('no network')]);
    const { run, platform } = await scenario({ agent: caller(helper) });
    const events = await run();
    const error = 'the model of agent "helper" failed; the reason was reported to the program that runs it';
    expect(responsesOf(events)).toEqual([{ error }]);
    await expect(platform.drain()).rejects.toThrow('no network');
    expect(textOf(events.at(-1) ?? expect.unreachable())).toBe('done');
  });

  test('is an error if the agent would have to wait, and its call is cancelled', async () => {
    const later = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
    const helper = scripted('helper', [{ calls: [{ name: 'later', id: 'inner' }] }], { tools: [later] });
    const { run, runner, stored } = await scenario({ agent: caller(helper) });
    const events = await run();
    expect(responsesOf(events)).toEqual([{ error: expect.stringContaining('helper waits for the result of later') }]);
    expect(events.some((event) => event.author === 'helper')).toBe(false);
    const newMessage = { parts: [{ functionResponse: { id: 'inner', name: 'later', response: {} } }] };
    await expect(runner.run({ userId: 'u', sessionId: 's', newMessage })).rejects.toThrow(
      'the call "inner" was cancelled with its run or its agent',
    );
    expect(new Calls(await stored()).waiting).toEqual([]);
  });

  test('is an error if the model stopped without content', async () => {
    const helper = scripted('helper', [{ response: { finishReason: 'SAFETY' } }]);
    const { run } = await scenario({ agent: caller(helper) });
    expect(responsesOf(await run())).toEqual([{ error: 'the model stopped with SAFETY' }]);
  });

  test('is an error with the partial text if the model stopped in the middle', async () => {
    const truncated: ScriptedStep = {
      response: { finishReason: 'MAX_TOKENS', content: { parts: [{ text: 'The dose is 5' }] } },
    };
    const { run } = await scenario({ agent: caller(scripted('helper', [truncated])) });
    expect(responsesOf(await run())).toEqual([{ error: 'the model stopped with MAX_TOKENS', output: 'The dose is 5' }]);
  });

  test('ends the turn with skipSummarization', async () => {
    const { run } = await scenario({ agent: caller(scripted('helper', ['as it is']), { skipSummarization: true }) });
    const events = await run();
    expect(events).toHaveLength(2);
    expect(events[1]?.actions.skipSummarization).toBe(true);
  });
});
