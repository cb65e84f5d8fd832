import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  ConfigurationError,
  LlmCallLimitError,
  type RunBounds,
  type RunConfig,
  type RunConfigDefaults,
  ShuttingDownError,
} from '@eventloom/core';
import { Gate, modelEvent } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { isCompletion } from './fixtures/is-completion.ts';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { call, KEY, runToError, scenario, scripted } from './fixtures/scenario.ts';

const calling = { calls: [call('f')] };
const f = new FunctionTool({ name: 'f', description: '', execute: () => 'again' });

/** Returns the config that an agent sees in a run. */
async function seenConfig(defaults: RunConfigDefaults | undefined, given?: RunConfig, bounds?: RunBounds) {
  let seen: RunConfig | undefined;
  const { run } = await scenario({
    async *agent({ runConfig }) {
      seen = runConfig;
      yield modelEvent('bot', 'one');
    },
    runConfig: defaults,
  });
  await run('hi', { runConfig: given, bounds });
  return seen;
}

describe('the runConfig of a runner', () => {
  test('applies to runs without one, field by field', async () => {
    const defaults = { maxLlmCalls: 3, onBusy: 'reject', customMetadata: { a: 1, b: 1 } } as const;
    expect(await seenConfig(defaults)).toEqual(defaults);
    const given = { maxLlmCalls: 9, onBusy: undefined, customMetadata: { b: 2 } };
    expect(await seenConfig(defaults, given)).toEqual({ ...defaults, maxLlmCalls: 9, customMetadata: { a: 1, b: 2 } });
  });

  test('limits model calls of a run, AgentTools included', async () => {
    const { run, model } = await scenario({
      model: [calling, calling, 'never'],
      agent: { tools: [f] },
      runConfig: { maxLlmCalls: 2 },
    });
    await expect(run()).rejects.toBeInstanceOf(LlmCallLimitError);
    expect(model.calls).toBe(2);

    const helper = scripted('helper', [calling, calling, 'never'], { tools: [f] });
    const nested = await scenario({ agent: caller(helper), runConfig: { maxLlmCalls: 3 } });
    await expect(nested.run()).rejects.toBeInstanceOf(LlmCallLimitError);
    expect(modelOf(helper).calls).toBe(2);
  });

  test('limits concurrent tool calls inside AgentTools', async () => {
    const gates = [new Gate(), new Gate()];
    let running = 0;
    const wait = new FunctionTool({
      name: 'wait',
      description: '',
      execute: async ({ n }) => {
        running++;
        await gates[Number(n)]?.pass();
        return running--;
      },
    });
    const helper = scripted('helper', [{ calls: [call('wait', { n: 0 }), call('wait', { n: 1 })] }, 'ok'], {
      tools: [wait],
    });
    const { run } = await scenario({ agent: caller(helper), runConfig: { maxParallelToolCalls: 1 } });
    const done = run();
    await gates[0]?.reached;
    expect(running).toBe(1);
    for (const gate of gates) gate.open();
    await done;
  });

  test('is copied when the runner is created', async () => {
    const runConfig = { maxLlmCalls: 3, customMetadata: { a: { b: 1 } } };
    const { run, stored } = await scenario({ model: ['one'], runConfig });
    runConfig.maxLlmCalls = 1.5;
    runConfig.customMetadata.a.b = 2;
    await run();
    expect((await stored())[0]?.customMetadata).toEqual({ a: { b: 1 } });
  });

  test('with completionEvent applies to a run that is refused before it gets its session', async () => {
    const { runner, start, run } = await scenario({ model: ['one', 'two'], runConfig: { completionEvent: true } });
    expect((await run()).map(isCompletion)).toEqual([false, true]);
    expect((await run('hi', { runConfig: { completionEvent: false } })).map(isCompletion)).toEqual([false]);
    await runner.sessionService.acquireLease(KEY);
    const { events } = await runToError(start('hi', { abortSignal: AbortSignal.abort() }));
    expect(events.map(isCompletion)).toEqual([true]);
  });

  test.each<[unknown, string]>([
    [{ maxLlmCalls: '2' }, 'runConfig: maxLlmCalls: expected an integer'],
    [{ speechConfig: 'Puck' }, 'runConfig: speechConfig: expected an object'],
    [{ volume: 1 }, 'runConfig: has no option "volume"'],
    [{ requestId: 'r1' }, 'runConfig.requestId: belongs to a single request'],
    [{ streamingMode: 'bidi' }, 'is only for runLive'],
    [{ resumable: true }, 'runConfig.resumable: is an option of the runner'],
    [{ getSessionConfig: {} }, 'runConfig.getSessionConfig: is an option of the runner'],
    [{ saveInputBlobsAsArtifacts: true }, 'runConfig.saveInputBlobsAsArtifacts needs an artifactService'],
    [{ saveLiveBlob: true }, 'runConfig.saveLiveBlob needs an artifactService'],
    [{ customMetadata: { a: () => 1 } }, 'customMetadata.a: is a function'],
    [null, 'Runner: runConfig: expected an object, got null'],
    [[], 'Runner: runConfig: expected an object, got a list'],
  ])('%j is refused by the constructor', async (runConfig, message) => {
    const error: unknown = await scenario({ runConfig: runConfig as RunConfigDefaults }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as Error).message).toContain(message);
  });

  test('may use an option if the runner has its service', async () => {
    const artifactService = new InMemoryArtifactService();
    await scenario({ artifactService, runConfig: { saveInputBlobsAsArtifacts: true, saveLiveBlob: true } });
  });
});

describe('a resumed run', () => {
  /**
   * A run that is interrupted when its first tool call is stored, in a runner with these defaults, and then resumed
   * with these options.
   */
  async function resumedCalls(
    defaults: RunConfigDefaults,
    given: RunConfig,
    later: RunConfigDefaults,
    resumedWith: { runConfig?: RunConfig; bounds?: RunBounds } = {},
  ): Promise<number> {
    const agent = { tools: [f] };
    const first = await scenario({ model: [calling], agent, resumable: true, runConfig: defaults });
    const abort = new AbortController();
    const stream = first.start('hi', { runConfig: given, abortSignal: abort.signal });
    await stream.next();
    abort.abort(new ShuttingDownError('the process ends'));
    await expect(stream.next()).rejects.toThrow('aborted');
    const steps = Array.from({ length: 20 }, () => calling);
    const second = first.restart({ model: steps, agent, resumable: true, runConfig: later });
    const { invocationId } = stream;
    const running = second.run('', { newMessage: undefined, invocationId, ...resumedWith });
    await expect(running).rejects.toBeInstanceOf(LlmCallLimitError);
    // The call before the interruption counts.
    return second.model.calls + 1;
  }

  test('keeps the options it started with if the defaults have changed', async () => {
    expect(await resumedCalls({}, { maxLlmCalls: 3 }, { maxLlmCalls: 7 })).toBe(3);
    expect(await resumedCalls({ maxLlmCalls: 4 }, {}, { maxLlmCalls: 7 })).toBe(4);
  });

  test('uses the defaults for other options, and its own options before all others', async () => {
    expect(await resumedCalls({}, {}, { maxLlmCalls: 6 })).toBe(6);
    expect(await resumedCalls({ maxLlmCalls: 4 }, {}, {}, { runConfig: { maxLlmCalls: 5 } })).toBe(5);
  });

  test('stays within the bounds', async () => {
    expect(await resumedCalls({}, { maxLlmCalls: 9 }, {}, { bounds: { maxLlmCalls: 3 } })).toBe(3);
    expect(await resumedCalls({}, { maxLlmCalls: 3 }, {}, { bounds: { maxLlmCalls: 9 } })).toBe(3);
  });
});

describe('bounds', () => {
  test.each<[RunConfigDefaults | undefined, RunConfig | undefined, RunConfig]>([
    [undefined, undefined, { maxLlmCalls: 20, maxParallelToolCalls: 4 }],
    [{ maxLlmCalls: 50 }, undefined, { maxLlmCalls: 20, maxParallelToolCalls: 4 }],
    [{ maxLlmCalls: 5 }, { maxParallelToolCalls: 2 }, { maxLlmCalls: 5, maxParallelToolCalls: 2 }],
    [{ maxLlmCalls: 5 }, { maxLlmCalls: -1 }, { maxLlmCalls: 20, maxParallelToolCalls: 4 }],
  ])('take precedence over the defaults %j and the config %j', async (defaults, given, expected) => {
    expect(await seenConfig(defaults, given, { maxLlmCalls: 20, maxParallelToolCalls: 4 })).toEqual(expected);
  });

  test('apply to the open run that is finished first', async () => {
    const gate = new Gate();
    const agent = { tools: [f] };
    const first = await scenario({ model: [calling, { gate, text: 'never' }], agent, resumable: true });
    const controller = new AbortController();
    const left = first.run('hi', { abortSignal: controller.signal });
    await gate.reached;
    controller.abort(new ShuttingDownError('the process ends'));
    await expect(left).rejects.toThrow();
    const second = first.restart({ model: [calling, 'next'], agent, resumable: true });
    expect((await second.run('go on', { bounds: { maxLlmCalls: 2 } })).at(-2)).toMatchObject({
      content: { parts: [{ text: 'next' }] },
    });
    const codes = (await second.stored()).flatMap(({ errorCode }) => errorCode ?? []);
    expect(codes).toEqual(['LLM_CALL_LIMIT']);
  });

  test.each([{ maxLlmCalls: 0 }, { maxLlmCalls: Infinity }, { maxParallelToolCalls: 'x' }, { onBusy: 'reject' }, 5])(
    'invalid defaults %j refuse the run, and nothing is stored',
    async (bounds) => {
      const { run, stored } = await scenario({ model: ['never'] });
      await expect(run('hi', { bounds: bounds as never })).rejects.toBeInstanceOf(ConfigurationError);
      expect(await stored()).toEqual([]);
    },
  );
});
