import { type Event, getFunctionResponses, RunAbortedError, StaleWriterError, StreamingMode } from '@eventloom/core';
import { ParallelAgent } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { call, KEY, runToError, scenario, scripted, textOf } from './fixtures/scenario.ts';

describe('when the run ends, an agent inside AgentTool', () => {
  test('is aborted and stores nothing more', async () => {
    const controller = new AbortController();
    const gate = new Gate();
    let isClosed = false;
    const helper = new CustomAgent('helper', async function* (context) {
      try {
        await gate.pass(context.abortSignal);
        yield context.createEvent({ content: { role: 'model', parts: [{ text: 'late' }] } });
      } finally {
        isClosed = true;
      }
    });
    const { runner, stored } = await scenario({ agent: caller(helper) });
    const running = runner.run({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
      abortSignal: controller.signal,
    });
    await gate.reached;
    controller.abort();
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
    expect(isClosed).toBe(true);
    expect((await stored()).map(textOf)).not.toContain('late');
  });

  test('stores nothing more, even if it ignores the abort', async () => {
    const controller = new AbortController();
    const helper = new CustomAgent('helper', async function* (context) {
      controller.abort();
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'late' }] } });
    });
    const { runner, stored } = await scenario({ agent: caller(helper) });
    const running = runner.run({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
      abortSignal: controller.signal,
    });
    await expect(running).rejects.toBeInstanceOf(RunAbortedError);
    expect((await stored()).map(textOf)).not.toContain('late');
  });

  test('is closed if the reader of a streaming run stops', async () => {
    const closed = Promise.withResolvers<void>();
    const helper = new CustomAgent('helper', async function* (context) {
      try {
        for (;;) yield context.createEvent({ content: { role: 'model', parts: [{ text: 'more' }] } });
      } finally {
        closed.resolve();
      }
    });
    const { runner } = await scenario({ agent: caller(helper, { streamInner: true }) });
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
    })) {
      if (event.author === 'helper') break;
    }
    await closed.promise;
  });

  test.each([true, false])(
    'is aborted in the middle of its reply, and the run has an error event of its own (resumable: %j)',
    async (resumable) => {
      const controller = new AbortController();
      const helper = scripted('helper', [{ chunks: ['It is ', new Gate()] }]);
      const { runner, stored } = await scenario({ agent: caller(helper, { streamInner: true }), resumable });
      const reading = async () => {
        const newMessage = { parts: [{ text: 'hi' }] };
        const runConfig = { streamingMode: StreamingMode.SSE };
        const { signal: abortSignal } = controller;
        for await (const event of runner.runAsync({ userId: 'u', sessionId: 's', newMessage, runConfig, abortSignal }))
          if (textOf(event) === 'It is ') controller.abort();
      };
      await expect(reading()).rejects.toBeInstanceOf(RunAbortedError);
      const failures = (await stored()).filter(({ errorCode }) => errorCode);
      expect(failures).toMatchObject([
        { author: 'helper', branch: expect.stringContaining('helper@'), errorCode: 'RUN_ABORTED', interrupted: true },
        { author: 'lead', errorCode: 'RUN_ABORTED' },
      ]);
      expect(failures[1]?.branch).toBeUndefined();
    },
  );

  test('ends, and no model and no program gets an error, if the session was lost', async () => {
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ functionCall: call('search', {}, 'c2') }] } });
      await takeSession();
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'too late' }] } });
    });
    const lead = caller(helper);
    const { run, sessionService, platform } = await scenario({ agent: lead });
    const takeSession = async (): Promise<void> => {
      await sessionService.acquireLease({ ...KEY, onBusy: 'interrupt' });
    };
    await expect(run()).rejects.toBeInstanceOf(StaleWriterError);
    expect(modelOf(lead).calls).toBe(1);
    await platform.drain();
  });

  test('beside a failed agent gets responses to its calls, which are stored and not streamed', async () => {
    const began = new Gate();
    const search = new FunctionTool({
      name: 'search',
      description: '',
      execute: (_, { invocationContext }) => began.pass(invocationContext.abortSignal),
    });
    const helper = scripted('helper', [{ calls: [call('search', {}, 'c2')] }], { tools: [search] });
    // oxlint-disable-next-line require-yield -- it only fails
    const failing = new CustomAgent('failing', async function* () {
      await began.reached;
      throw new TypeError('broken');
    });
    const agent = new ParallelAgent({ name: 'par', subAgents: [caller(helper), failing] });
    const { start, stored } = await scenario({ agent });
    const { events } = await runToError(start());
    const idsIn = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({ id }) => id);
    expect(new Set(idsIn(await stored()))).toEqual(new Set(['c1', 'c2']));
    expect(idsIn(events)).toEqual(['c1']);
  });
});
