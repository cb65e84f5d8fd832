import { BasePlugin, RunTimeoutError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import {
  call,
  expectFree,
  KEY,
  responsesOf,
  runToError,
  scenario,
  type ScenarioOptions,
  textOf,
} from './fixtures/scenario.ts';

const LIMIT = { runConfig: { maxRunMs: 5000 } };

/** A tool whose first call ignores its abort signal and never settles, and a promise that resolves when it is called. */
function hangingTool(): { readonly tool: FunctionTool; readonly gate: Gate; signal: AbortSignal | undefined } {
  const gate = new Gate();
  const hanging = {
    gate,
    signal: undefined as AbortSignal | undefined,
    tool: new FunctionTool({
      name: 'f',
      description: '',
      execute: (_args, { abortSignal }) => {
        hanging.signal = abortSignal;
        return gate.pass();
      },
    }),
  };
  return hanging;
}

class Silent extends BasePlugin {
  constructor() {
    super('silent');
  }

  override afterRunCallback(): Promise<void> {
    return Promise.withResolvers<void>().promise;
  }
}

describe('a run that takes longer than maxRunMs', () => {
  test('ends with RUN_TIMEOUT, with responses to its calls, although its tool never settles', async () => {
    const hanging = hangingTool();
    const { runner, start, stored, platform, run, sessionService } = await scenario({
      model: [{ calls: [call('f', {}, 'c1')] }, 'hello again'],
      agent: { tools: [hanging.tool] },
    });
    const stream = start('hi', { requestId: 'r1', ...LIMIT });
    const ending = runToError(stream);
    await hanging.gate.reached;
    platform.advance(4999);
    expect(hanging.signal?.aborted).toBe(false);
    platform.advance(1);
    const { events, error } = await ending;
    expect(error).toBeInstanceOf(RunTimeoutError);
    expect(hanging.signal?.aborted).toBe(true);
    expect(events.slice(1)).toMatchObject([
      { content: { parts: [{ functionResponse: { id: 'c1', name: 'f' } }] } },
      { errorCode: 'RUN_TIMEOUT', errorMessage: expect.stringContaining('longer than 5000 ms') },
    ]);
    expect((await stored()).slice(1)).toEqual(events);
    expect(await sessionService.findRun({ ...KEY, id: 'r1' })).toMatchObject({
      end: { state: 'failed', code: 'RUN_TIMEOUT' },
    });
    await expectFree(runner);
    expect((await run('and now?')).map(textOf)).toEqual(['hello again']);
  });

  test('ends although its model never replies, and stores the reply as far as it came', async () => {
    const gate = new Gate();
    const { start, stored, platform } = await scenario({
      model: [{ chunks: ['The answer ', gate, 'is'] }],
    });
    const ending = runToError(start('hi', { runConfig: { maxRunMs: 5000, streamingMode: 'sse' } }));
    await gate.reached;
    platform.advance(5000);
    const { error } = await ending;
    expect(error).toBeInstanceOf(RunTimeoutError);
    expect((await stored()).at(-1)).toMatchObject({
      errorCode: 'RUN_TIMEOUT',
      content: { parts: [{ text: 'The answer ' }] },
    });
  });

  test.each<[string, ScenarioOptions]>([
    [
      'its agent ignores the abort',
      {
        // eslint-disable-next-line require-yield
        async *agent() {
          await Promise.withResolvers().promise;
        },
      },
    ],
    [
      'a plugin never answers',
      {
        model: ['hello'],
        plugins: [new Silent()],
      },
    ],
  ])('ends although %s', async (_, options) => {
    const { start, stored, platform } = await scenario(options);
    const ending = runToError(start('hi', LIMIT));
    await new Promise((resolve) => setImmediate(resolve));
    platform.advance(5000);
    expect((await ending).error).toBeInstanceOf(RunTimeoutError);
    expect((await stored()).at(-1)).toMatchObject({ errorCode: 'RUN_TIMEOUT' });
  });

  test('has failed for its completion event', async () => {
    const hanging = hangingTool();
    const { start, platform } = await scenario({ model: [{ calls: [call('f')] }], agent: { tools: [hanging.tool] } });
    const ending = runToError(start('hi', { runConfig: { maxRunMs: 5000, completionEvent: true } }));
    await hanging.gate.reached;
    platform.advance(5000);
    expect((await ending).events.at(-1)).toMatchObject({ customMetadata: { outcome: 'failed' } });
  });
});

describe('maxRunMs', () => {
  test('leaves no timer behind when the run ends', async () => {
    const { run, platform } = await scenario({ model: ['one', 'two', 'three'] });
    await run('hi');
    const before = platform.pendingTimers;
    await run('hi', LIMIT);
    expect(platform.pendingTimers).toBe(before);
    platform.advance(5000);
    expect((await run('hi')).map(textOf)).toEqual(['three']);
  });

  test('does not count the wait for the session', async () => {
    const gate = new Gate();
    const { start, run, platform } = await scenario({ model: [{ text: 'one', gate }, 'two'] });
    const first = runToError(start('hi')).catch(() => undefined);
    await gate.reached;
    const second = run('hi', LIMIT);
    await new Promise((resolve) => setImmediate(resolve));
    platform.advance(6000);
    gate.open();
    await first;
    expect((await second).map(textOf)).toEqual(['two']);
  });

  test.each([
    ['is higher', LIMIT],
    ['is absent', {}],
  ])('of the bounds applies if that of the run %s', async (_, params) => {
    const hanging = hangingTool();
    const { start, platform } = await scenario({ model: [{ calls: [call('f')] }], agent: { tools: [hanging.tool] } });
    const ending = runToError(start('hi', { ...params, bounds: { maxRunMs: 1000 } }));
    await hanging.gate.reached;
    platform.advance(1000);
    expect((await ending).error).toBeInstanceOf(RunTimeoutError);
  });

  test('gives a run the whole time again when an answer continues it', async () => {
    const hanging = hangingTool();
    const ask = new LongRunningFunctionTool({ name: 'ask', description: '', execute: () => undefined });
    const { run, start, platform } = await scenario({
      model: [{ calls: [call('ask', {}, 'c1')] }, { calls: [call('f', {}, 'c2')] }],
      agent: { tools: [hanging.tool, ask] },
      resumable: true,
    });
    const [asked] = await run('hi', LIMIT);
    platform.advance(60_000);
    const answer = { functionResponse: { id: 'c1', name: 'ask', response: { ok: true } } };
    const ending = runToError(start(answer, { invocationId: asked?.invocationId }));
    await hanging.gate.reached;
    platform.advance(4999);
    expect(hanging.signal?.aborted).toBe(false);
    platform.advance(1);
    const { events, error } = await ending;
    expect(error).toBeInstanceOf(RunTimeoutError);
    expect(responsesOf(events)).toHaveLength(1);
  });
});
