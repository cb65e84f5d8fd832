import { ToolTimeoutError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, type ToolExecuteFunction } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, responsesOf, scenario, textOf } from './fixtures/scenario.ts';

const LATE = 'the call of f took longer than 3000 ms and was stopped; it may have had its effect or not';

function limited(execute: ToolExecuteFunction<undefined>): FunctionTool {
  return new FunctionTool({ name: 'f', description: '', timeoutMs: 3000, execute });
}

test('the model gets an error for a call that takes longer than timeoutMs, and the signal of the call fires, but not that of the run', async () => {
  const gate = new Gate();
  const signals: AbortSignal[] = [];
  const { run, platform, stored } = await scenario({
    model: [{ calls: [call('f')] }, 'It hangs.'],
    agent: {
      tools: [
        limited((_args, { abortSignal, invocationContext, state }) => {
          signals.push(abortSignal, invocationContext.parent?.abortSignal ?? abortSignal);
          state.set('tried', true);
          return gate.pass();
        }),
      ],
    },
  });
  const running = run();
  await gate.reached;
  platform.advance(2999);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  platform.advance(1);
  const events = await running;
  expect(responsesOf(events)).toEqual([{ error: LATE }]);
  expect(events.map(textOf).at(-1)).toBe('It hangs.');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  gate.open();
  expect(responsesOf(await stored())).toEqual([{ error: LATE }]);
});

test('onToolErrorCallback gets the ToolTimeoutError, and a call that returned in time leaves no timer behind', async () => {
  const gate = new Gate();
  const errors: unknown[] = [];
  let calls = 0;
  const { run, platform } = await scenario({
    model: ['hello', { calls: [call('f')] }, 'done', { calls: [call('f')] }, 'done'],
    agent: {
      tools: [limited(() => (calls++ === 0 ? 'at once' : gate.pass()))],
      onToolErrorCallback: ({ error }) => {
        errors.push(error);
        return { sorry: true };
      },
    },
  });
  await run();
  const before = platform.pendingTimers;
  expect(responsesOf(await run())).toEqual([{ result: 'at once' }]);
  expect(platform.pendingTimers).toBe(before);
  const running = run();
  await gate.reached;
  platform.advance(3000);
  expect(responsesOf(await running)).toEqual([{ sorry: true }]);
  expect(errors).toEqual([expect.any(ToolTimeoutError)]);
});

test('a generator that takes longer than timeoutMs has its chunks so far beside the error, and later ones are not read', async () => {
  const gate = new Gate();
  const closed = Promise.withResolvers<void>();
  const { start, platform } = await scenario({
    model: [{ calls: [call('f')] }, 'done'],
    agent: {
      tools: [
        limited(async function* () {
          try {
            yield 'one';
            await gate.pass();
            yield 'two';
          } finally {
            closed.resolve();
          }
        }),
      ],
    },
  });
  const seen: unknown[] = [];
  for await (const event of start('hi', { runConfig: { streamingMode: 'sse' } })) {
    seen.push(...responsesOf(event));
    if (event.partial && responsesOf(event).length > 0) void gate.reached.then(() => platform.advance(3000));
  }
  expect(seen).toEqual([{ output: 'one' }, { error: LATE }]);
  gate.open();
  await closed.promise;
});

test('an agent that is called as a tool and takes longer than timeoutMs is stopped, with responses to its calls, and its caller continues', async () => {
  const gate = new Gate();
  const slow = new FunctionTool({ name: 'slow', description: '', execute: () => gate.pass() });
  const helper = new LlmAgent({
    name: 'helper',
    model: new ScriptedModel([{ calls: [call('slow', {}, 'c2')] }]),
    tools: [slow],
  });
  const { run, platform, stored } = await scenario({
    model: [{ calls: [call('helper', { request: 'go' }, 'c1')] }, 'It hangs.', 'fine'],
    agent: { tools: [new AgentTool({ agent: helper, timeoutMs: 3000 })] },
  });
  const running = run();
  await gate.reached;
  platform.advance(3000);
  const events = await running;
  expect(events.map(textOf).at(-1)).toBe('It hangs.');
  expect(responsesOf(events)).toEqual([
    { error: expect.stringContaining('the call of helper took longer than 3000 ms') },
  ]);
  expect(
    (await stored()).flatMap(({ content }) => content?.parts?.map((part) => part.functionResponse?.id) ?? []),
  ).toContain('c2');
  expect((await run('again')).map(textOf)).toEqual(['fine']);
});
