import { BaseLlm, type LlmRequest, type LlmResponse, ModelError } from '@eventloom/core';
import { FallbackModel } from '@eventloom/llm-agent';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { runToError, scenario, textOf } from './fixtures/scenario.ts';

/** A model that never replies and ignores its abort signal. */
class Deaf extends BaseLlm {
  readonly gate = new Gate();
  signal: AbortSignal | undefined;

  // eslint-disable-next-line require-yield -- the model never replies
  override async *generateContentAsync(
    _request: LlmRequest,
    _stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    this.signal = abortSignal;
    await this.gate.pass();
  }
}

test('a model that sends nothing for modelTimeoutMs fails its run with DEADLINE_EXCEEDED, and its signal fires', async () => {
  const model = new Deaf({ model: 'deaf' });
  const { start, stored, platform } = await scenario({ agent: { model, modelTimeoutMs: 4000 } });
  const ending = runToError(start());
  await model.gate.reached;
  platform.advance(3999);
  expect(model.signal?.aborted).toBe(false);
  platform.advance(1);
  const { error } = await ending;
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({ errorCode: 'DEADLINE_EXCEEDED', message: 'model "deaf": sent nothing for 4000 ms' });
  expect(model.signal?.aborted).toBe(true);
  expect((await stored()).at(-1)).toMatchObject({ errorCode: 'DEADLINE_EXCEEDED' });
});

test('onModelErrorCallback may reply in place of a model that sends nothing', async () => {
  const model = new Deaf({ model: 'deaf' });
  const { run, platform } = await scenario({
    agent: {
      model,
      modelTimeoutMs: 4000,
      onModelErrorCallback: ({ error }) => ({ content: { role: 'model', parts: [{ text: error.message }] } }),
    },
  });
  const running = run();
  await model.gate.reached;
  platform.advance(4000);
  expect((await running).map(textOf)).toEqual(['model "deaf": sent nothing for 4000 ms']);
});

test('a streamed reply that stalls fails, and has as an error event what came; each chunk starts the time again', async () => {
  const gates = [new Gate(), new Gate()] as const;
  const { start, platform } = await scenario({
    model: [{ chunks: ['one ', gates[0], 'two ', gates[1], 'three'] }],
    agent: { modelTimeoutMs: 4000 },
  });
  const ending = runToError(start('hi', { runConfig: { streamingMode: 'sse' } }));
  await gates[0].reached;
  platform.advance(3000);
  gates[0].open();
  await gates[1].reached;
  platform.advance(3999);
  platform.advance(1);
  const { events } = await ending;
  expect(events.at(-1)).toMatchObject({ errorCode: 'DEADLINE_EXCEEDED', content: { parts: [{ text: 'one two ' }] } });
});

test('a reply in time is not changed, and leaves no timer behind', async () => {
  const { run, platform } = await scenario({ model: ['one', 'two'], agent: { modelTimeoutMs: 4000 } });
  await run();
  const before = platform.pendingTimers;
  expect((await run()).map(textOf)).toEqual(['two']);
  expect(platform.pendingTimers).toBe(before);
});

test('a FallbackModel calls the next model when one sends nothing for timeoutMs', async () => {
  const deaf = new Deaf({ model: 'deaf' });
  const platform = fixedPlatform();
  const model = new FallbackModel({
    models: [deaf, new ScriptedModel(['from the second'])],
    timeoutMs: 4000,
    platform,
  });
  const { run } = await scenario({ agent: { model } });
  const running = run();
  await deaf.gate.reached;
  platform.advance(4000);
  expect(await running).toMatchObject([
    {
      content: { parts: [{ text: 'from the second' }] },
      customMetadata: { fallback: { failed: [{ model: 'deaf', errorCode: 'DEADLINE_EXCEEDED' }] } },
    },
  ]);
});
