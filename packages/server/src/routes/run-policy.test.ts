import { type Event, type RunConfig, type RunConfigDefaults } from '@eventloom/core';
import { fixedPlatform, Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { KEY, serverScenario } from '../fixtures/server-scenario.ts';
import { ForbiddenError } from '../errors.ts';
import type { RunConfigHook } from '../http/run-policy.ts';
import type { ServerOptions } from '../server-options.ts';

const ASK = { ...KEY, newMessage: { parts: [{ text: 'hi' }] } };
const calling: ScriptedStep = { calls: [{ name: 'f', args: {} }] };

interface Setup extends Pick<ServerOptions, 'runConfig' | 'limits' | 'authenticate' | 'platform'> {
  readonly steps?: readonly ScriptedStep[];
  readonly defaults?: RunConfigDefaults | undefined;
  readonly resumable?: boolean;
}

/** A server of one agent whose tool records the config of its run. */
async function setUp({ steps, defaults, resumable, ...options }: Setup = {}) {
  const seen: RunConfig[] = [];
  const f = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_args, context) => {
      seen.push(context.invocationContext.runConfig);
      return 'again';
    },
  });
  const reported: unknown[] = [];
  const played = await serverScenario({
    steps: steps ?? Array.from({ length: 9 }, () => calling),
    agent: { tools: [f] },
    runner: { runConfig: defaults, resumable, ...(options.platform && { platform: options.platform }) },
    onError: (error) => reported.push(error),
    ...options,
  });
  const send = async (body: object, path = '/run', headers: Record<string, string> = {}) => {
    const response = await played.send('POST', path, body, headers);
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return {
      status: response.status,
      text,
      json: (isJson ? JSON.parse(text) : {}) as { code?: string; error?: string },
    };
  };
  return { ...played, send, seen, reported };
}

describe('a run body', () => {
  test.each(['/run', '/run_sse'])('with an option of RunConfig is refused at %s, and nothing runs', async (path) => {
    const { send, model, stored } = await setUp();
    for (const name of ['maxLlmCalls', 'max_llm_calls']) {
      const { status, json } = await send({ ...ASK, [name]: 2 }, path);
      expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
      expect(json.error).toBe(
        `${name}: is set on the server, not by a request; for all runs of an app write ` +
          'new Runner({ runConfig: { maxLlmCalls: … } }), for single requests use the hook runConfig of the server',
      );
    }
    expect([model.calls, await stored()]).toEqual([0, []]);
  });
});

describe('limits.maxRunMs', () => {
  test.each<[string, Setup]>([
    ['has no limit', {}],
    ['has a higher one', { defaults: { maxRunMs: 60_000 } }],
    ['has a higher one by the hook', { runConfig: () => ({ maxRunMs: 60_000 }) }],
  ])('ends a run that %s and hangs, and its readers get the error', async (_, options) => {
    const gate = new Gate();
    const platform = fixedPlatform();
    const steps: ScriptedStep[] = [calling, { text: 'late', gate }];
    const { send, stored } = await setUp({ ...options, steps, platform, limits: { maxRunMs: 5000 } });
    const answered = [send({ ...ASK, requestId: 'r1' }), send({ ...ASK, requestId: 'r1' }, '/run_sse')];
    await gate.reached;
    platform.advance(5000);
    const [whole, streamed] = await Promise.all(answered);
    expect([whole?.status, whole?.json.code]).toEqual([504, 'RUN_TIMEOUT']);
    expect(streamed?.text).toContain('RUN_TIMEOUT');
    expect((await stored()).at(-1)).toMatchObject({ errorCode: 'RUN_TIMEOUT' });
  });
});

describe('the runConfig hook', () => {
  test('limits the model calls of each run', async () => {
    const { send, model } = await setUp({ runConfig: () => ({ maxLlmCalls: 2 }) });
    const { status, json } = await send(ASK);
    expect([status, json.code, model.calls]).toEqual([500, 'LLM_CALL_LIMIT', 2]);
  });

  test('gets the request, the user and the app, and may be asynchronous', async () => {
    const asked: unknown[] = [];
    const { send, model } = await setUp({
      authenticate: (request) => ({ userId: request.headers.get('authorization') ?? '', mayWriteAppState: true }),
      runConfig: async (request, user, appName) => {
        asked.push([new URL(request.url).pathname, user, appName]);
        await Promise.resolve();
        return { maxLlmCalls: Number(request.headers.get('x-calls')) };
      },
    });
    await send(ASK, '/run_sse', { authorization: 'ann', 'x-calls': '3' });
    expect(asked).toEqual([['/run_sse', { userId: 'ann', mayWriteAppState: true }, 'app']]);
    expect(model.calls).toBe(3);
  });

  test('overrides the body, which overrides the runner; customMetadata is merged by key', async () => {
    const { send, seen } = await setUp({
      steps: [calling, 'done'],
      runConfig: () => ({ customMetadata: { by: 'hook', hook: 1 }, busyWaitMs: 7 }),
      defaults: { customMetadata: { by: 'runner', runner: 1 }, busyWaitMs: 5, maxLlmCalls: 4, completionEvent: true },
    });
    const { text } = await send({ ...ASK, customMetadata: { by: 'body', body: 1 }, completionEvent: false });
    expect(seen).toMatchObject([
      { customMetadata: { by: 'hook', hook: 1, body: 1, runner: 1 }, busyWaitMs: 7, maxLlmCalls: 4 },
    ]);
    expect((JSON.parse(text) as Event[]).some(({ object }) => object === 'runner.completion')).toBe(false);
  });

  test("is bounded by the server's limits, as are the runner's config and defaults", async () => {
    const limits = { maxLlmCalls: 3, maxParallelToolCalls: 2 };
    for (const said of [{ maxLlmCalls: 100, maxParallelToolCalls: 100 }, { maxLlmCalls: 0 }, undefined]) {
      for (const set of [{ runConfig: () => said }, { defaults: said }]) {
        const { send, seen, model } = await setUp({ limits, ...set });
        expect((await send(ASK)).json.code).toBe('LLM_CALL_LIMIT');
        expect(model.calls).toBe(3);
        expect(seen[0]).toMatchObject(limits);
      }
    }
    const { send, model } = await setUp({ limits, runConfig: () => ({ maxLlmCalls: 2 }) });
    const { json } = await send(ASK);
    expect([model.calls, json.error]).toEqual([2, expect.stringContaining('and limits.maxLlmCalls of a server')]);
  });

  test('sets onBusy and busyWaitMs', async () => {
    const gate = new Gate();
    let policy: ReturnType<RunConfigHook>;
    const { send } = await setUp({ steps: [{ gate, text: 'late' }], runConfig: () => policy });
    const running = send(ASK);
    await gate.reached;
    policy = { busyWaitMs: 0 };
    expect((await send(ASK)).json.code).toBe('SESSION_BUSY');
    policy = { onBusy: 'reject' };
    expect((await send({ ...ASK, onBusy: 'queue' })).json.code).toBe('SESSION_BUSY');
    gate.open();
    await running;
  });

  test('sets resumable', async () => {
    for (const resumable of [true, false]) {
      const { send, stored } = await setUp({
        steps: ['done'],
        resumable: !resumable,
        runConfig: () => ({ resumable }),
      });
      await send(ASK);
      expect((await stored())[0]?.actions.agentState !== undefined).toBe(resumable);
    }
  });

  // The tests of the same check in core have a wrong value of every option.
  test.each<[string, unknown]>([
    ['maxLlmCalls: expected an integer', { maxLlmCalls: '2' }],
    ['speechConfig: expected an object', { speechConfig: 'Puck' }],
    ['has no option "volume"', { volume: 1 }],
    ['customMetadata.a', { customMetadata: { a: 1n } }],
    ['a plain object, got null', null],
    ['a plain object, got a list', []],
    ['a plain object, got a string', 'maxLlmCalls'],
    ['a plain object, got an object of the class Map', new Map([['maxLlmCalls', 2]])],
  ])('that returns a wrong value fails the request, is reported, and nothing is run: %s', async (what, policy) => {
    const { send, model, reported, stored } = await setUp({ runConfig: () => policy as never });
    const { status, json } = await send(ASK);
    expect([status, json.code]).toEqual([500, 'CONFIGURATION']);
    expect(json.error).toMatch(/^the runConfig hook of the server: runConfig/);
    expect(json.error).toContain(what);
    expect([model.calls, await stored()]).toEqual([0, []]);
    expect(reported).toMatchObject([{ code: 'CONFIGURATION' }]);
  });

  test('that throws refuses the run with a coded error, or fails it with a 500', async () => {
    const failure = new TypeError('the database of tenants is down');
    let thrown: Error = new ForbiddenError('no runs today');
    const { send, reported, stored } = await setUp({
      runConfig: () => {
        throw thrown;
      },
    });
    expect(await send(ASK)).toMatchObject({ status: 403, json: { code: 'FORBIDDEN', error: 'no runs today' } });
    expect(reported).toEqual([]);
    thrown = failure;
    const answer = await send(ASK);
    expect([answer.status, answer.json.code, reported]).toEqual([500, 'INTERNAL', [failure]]);
    expect(answer.text).not.toContain('tenants');
    expect(await stored()).toEqual([]);
  });

  test('whose config throws when it is read fails the run with a 500 that does not quote the error', async () => {
    const failure = new TypeError('the database of tenants is down');
    const config = {
      get maxLlmCalls(): number {
        throw failure;
      },
    };
    const { send, reported } = await setUp({ runConfig: () => config });
    const answer = await send(ASK);
    expect([answer.status, answer.json.code, reported]).toEqual([500, 'INTERNAL', [failure]]);
    expect(answer.text).not.toContain('tenants');
  });

  test('that does not settle fails the request after 10 seconds, and the next run of its user starts', async () => {
    const platform = fixedPlatform();
    const answers: ReturnType<RunConfigHook>[] = [new Promise<never>(() => undefined), undefined];
    const limits = { maxRunsPerUser: 1, unfinishedRunsEveryMs: 0 };
    const { send, reported, stored } = await setUp({
      steps: ['done'],
      platform,
      limits,
      runConfig: () => answers.shift(),
    });
    const waiting = send(ASK);
    expect(await platform.nextTimer()).toBe(10_000);
    platform.advance(10_000);
    expect(await waiting).toMatchObject({
      status: 500,
      json: { code: 'CONFIGURATION', error: expect.stringContaining('runConfig hook of the server: did not settle') },
    });
    expect([reported.length, await stored()]).toEqual([1, []]);
    expect((await send(ASK)).status).toBe(200);
  });

  test('is not called for a request that is refused earlier', async () => {
    let times = 0;
    const { send } = await setUp({
      runConfig: () => {
        times++;
        return undefined;
      },
    });
    for (const body of [
      { ...ASK, appName: 'none' },
      { ...ASK, userId: '' },
      { ...ASK, maxLlmCalls: 1 },
    ])
      await send(body);
    expect(times).toBe(0);
  });
});

describe('limits of runs', () => {
  test.each([0, 1.5, -1, Number.NaN, '5'])('are integers of at least 1, and not %j', async (value) => {
    for (const limit of ['maxLlmCalls', 'maxParallelToolCalls', 'maxRunAttempts'])
      await expect(setUp({ limits: { [limit]: value } as never })).rejects.toThrow(
        `limits: ${limit}: expected an integer of at least 1`,
      );
  });
});
