/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { BaseLlm, type LlmResponse, StreamingMode } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import type { RunAsyncParams } from './run-request.ts';
import { abortable, aborted, textOf } from './fixtures/aborted-run.ts';
import { expectFree, KEY } from './fixtures/scenario.ts';

/** A model that ignores its signal and never answers. */
class DeafModel extends BaseLlm {
  readonly asked = Promise.withResolvers<void>();

  constructor() {
    super({ model: 'deaf' });
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    this.asked.resolve();
    await new Promise(() => undefined);
  }
}

// Models and tools.

test('an abort while the model streams ends the model call, and the received part of the reply is stored', async () => {
  const gate = new Gate();
  const model = new ScriptedModel([{ chunks: ['Hel', gate, 'lo'] }]);
  const { runner, controller, hi, stored } = await abortable({ agent: new LlmAgent({ name: 'bot', model }) });
  const running = aborted(runner, { ...hi, runConfig: { streamingMode: 'sse' } });
  await gate.reached;
  controller.abort();
  expect((await running).events.map(textOf)).toEqual(['Hel']);
  const content = { role: 'model', parts: [{ text: 'Hel' }] };
  expect((await stored()).slice(1)).toMatchObject([{ content, errorCode: 'RUN_ABORTED', interrupted: true }]);
  await expectFree(runner);
});

test('an abort does not wait for a model that ignores its signal', async () => {
  const model = new DeafModel();
  const { runner, controller, hi } = await abortable({ agent: new LlmAgent({ name: 'bot', model }) });
  const running = aborted(runner, hi);
  await model.asked.promise;
  controller.abort();
  expect((await running).events).toEqual([]);
  await expectFree(runner);
});

test('a tool that ignores its signal saves no artifact after the abort', async () => {
  const gate = new Gate();
  const saving = Promise.withResolvers<Promise<number>>();
  const late = new FunctionTool({
    name: 'late',
    description: '',
    execute: async (_, context) => {
      await gate.pass();
      const saved = context.saveArtifact('late.txt', { text: 'late' });
      saving.resolve(saved);
      return saved;
    },
  });
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'late', args: {} }] }]);
  const artifactService = new InMemoryArtifactService();
  const agent = new LlmAgent({ name: 'bot', model, tools: [late] });
  const { runner, controller, hi } = await abortable({ agent, artifactService });
  const running = aborted(runner, hi);
  await gate.reached;
  controller.abort();
  await running;
  gate.open();
  await expect(saving.promise).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  expect(await artifactService.listArtifactKeys(KEY)).toEqual([]);
});

test('an abort does not wait for a tool that ignores its signal; its call is answered as interrupted', async () => {
  const started = Promise.withResolvers<void>();
  const hangs = new FunctionTool({
    name: 'hangs',
    description: '',
    execute: () => {
      started.resolve();
      return new Promise(() => undefined);
    },
  });
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'hangs', args: {} }] }]);
  const { runner, controller, hi, texts } = await abortable({
    agent: new LlmAgent({ name: 'bot', model, tools: [hangs] }),
  });
  const running = aborted(runner, hi);
  await started.promise;
  controller.abort();
  const { events } = await running;
  expect(events.map(textOf)).toEqual(['hangs']);
  expect(await texts()).toEqual(['hi', 'hangs', 'hangs', 'RUN_ABORTED']);
  const invocationId = events[0]?.invocationId ?? '';
  expect(await runner.sessionService.listToolCalls({ ...KEY, invocationId })).toMatchObject([
    { entryId: expect.stringMatching(/\/c1$/) as string, status: 'started' },
  ]);
  await expectFree(runner);
});

test('an abort does not wait for a callback that ignores its signal', async () => {
  const started = Promise.withResolvers<void>();
  const beforeModelCallback = () => {
    started.resolve();
    return new Promise<undefined>(() => undefined);
  };
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([]), beforeModelCallback });
  const { runner, controller, hi } = await abortable({ agent });
  const running = aborted(runner, hi);
  await started.promise;
  controller.abort();
  await running;
  await expectFree(runner);
});

test('the abort signal of a tool fires when the run is aborted', async () => {
  const stopped = Promise.withResolvers<void>();
  const { runner, controller, hi } = await abortable({
    agent: new LlmAgent({
      name: 'bot',
      model: new ScriptedModel([{ calls: [{ name: 'listens', args: {} }] }]),
      tools: [
        new FunctionTool({
          name: 'listens',
          description: '',
          execute: (_, { abortSignal }) => {
            abortSignal.addEventListener('abort', () => stopped.resolve());
            controller.abort();
            return stopped.promise;
          },
        }),
      ],
    }),
  });
  await aborted(runner, hi);
  await stopped.promise;
});

test('a model call that stops because another run took the session is not reported as failed', async () => {
  const gate = new Gate();
  let asked = false;
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel([{ text: 'never', gate }, 'second']),
    onModelErrorCallback: () => void (asked = true),
    onAgentErrorCallback: () => void (asked = true),
  });
  const { runner, hi, texts } = await abortable({ agent });
  const params: RunAsyncParams = { ...hi, abortSignal: undefined };
  const first = runner.run(params).catch((thrown: unknown) => thrown);
  await gate.reached;
  await runner.run({ ...params, runConfig: { onBusy: 'interrupt' } });
  expect(await first).toMatchObject({ code: 'RUN_ABORTED' });
  expect(asked).toBe(false);
  expect(await texts()).toEqual(['hi', 'RUN_ABORTED', 'hi', 'second']);
});

test('a run that another one interrupts keeps the text that was streamed, for the model of the next', async () => {
  const gate = new Gate();
  const model = new ScriptedModel([{ chunks: ['w0 ', 'w1 ', gate, 'w2'] }, 'second']);
  const { runner, hi, texts } = await abortable({ agent: new LlmAgent({ name: 'bot', model }) });
  const params: RunAsyncParams = { ...hi, abortSignal: undefined };
  const first = runner.run({ ...params, runConfig: { streamingMode: StreamingMode.SSE } }).catch(() => undefined);
  await gate.reached;
  await runner.run({ ...params, runConfig: { onBusy: 'interrupt' } });
  await first;
  expect(await texts()).toEqual(['hi', 'w0 w1 ', 'hi', 'second']);
  expect(model.requests[1]?.request.contents.map(({ parts }) => parts?.[0]?.text)).toEqual(['hi', 'w0 w1 ', 'hi']);
});

test('a hanging tool does not delay the end of a run that is interrupted, and is not reported as failed', async () => {
  const started = Promise.withResolvers<void>();
  let asked = false;
  const hangs = new FunctionTool({
    name: 'hangs',
    description: '',
    execute: () => {
      started.resolve();
      return new Promise(() => undefined);
    },
  });
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel([{ calls: [{ name: 'hangs', args: {} }] }, 'second']),
    tools: [hangs],
    onToolErrorCallback: () => void (asked = true),
    afterToolCallback: () => void (asked = true),
  });
  const { runner, hi } = await abortable({ agent });
  const params: RunAsyncParams = { ...hi, abortSignal: undefined };
  const first = runner.run(params).catch((thrown: unknown) => thrown);
  await started.promise;
  await runner.run({ ...params, runConfig: { onBusy: 'interrupt' } });
  expect(await first).toMatchObject({ code: 'RUN_ABORTED' });
  expect(asked).toBe(false);
});
