import { type Event, InvalidMessageError, SessionBusyError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { findLooseEnds } from '../find-loose-ends.ts';
import { answer, asked, call, KEY, responses, setUp, WAITING } from '../fixtures/confirmed-run.ts';
import { IDS, scenario } from '../fixtures/scenario.ts';
import { Runner } from '../runner.ts';
import { dying } from './fixtures/dying-service.ts';

const CANCELLED = { error: 'cancelled', message: 'The run or the agent ended while the call waited for an answer.' };
const APPROVED = { confirmed: true };

const idOf = ([event]: readonly Event[]): string => event?.invocationId ?? expect.unreachable();
const endOf = async ({ runner }: Awaited<ReturnType<typeof setUp>>, id: string) =>
  (await runner.sessionService.findRun({ ...KEY, id }))?.end;

describe.each([true, false])('cancelling a run that waits for a confirmation (resumable: %s)', (resumable) => {
  const waiting = async (...later: string[]) => {
    const played = await setUp([{ calls: [call(1), call(2, 'look')] }, ...later], {}, { resumable });
    const events = await played.send({ text: 'hi' });
    return { ...played, events, invocationId: idOf(events), request: asked(events)[0] };
  };

  test('stores the end of the run and responses to its calls', async () => {
    const played = await waiting();
    const { runner, invocationId, request, events } = played;
    const error = await runner.cancelRun({ ...IDS, invocationId });
    expect(error).toMatchObject({ invocationId, errorCode: 'RUN_ABORTED', errorMessage: 'the run was cancelled' });
    const stored = await played.stored();
    expect(responses(stored.slice(events.length + 1))).toEqual([
      ['c1', CANCELLED],
      [request, CANCELLED],
    ]);
    expect(await endOf(played, invocationId)).toEqual({
      state: 'interrupted',
      code: 'RUN_ABORTED',
      lastSeq: stored.length,
    });
    expect(await findLooseEnds(runner.sessionService, KEY)).toEqual([]);
  });

  test('refuses a later answer, and no tool runs', async () => {
    const { runner, send, stored, ran, invocationId, request } = await waiting();
    await runner.cancelRun({ ...IDS, invocationId });
    const before = await stored();
    const refused = send(answer(request, APPROVED));
    await expect(refused).rejects.toThrow(InvalidMessageError);
    await expect(refused).rejects.toThrow(
      /the call ".*" was cancelled with its run or its agent, so it takes no answer/,
    );
    expect(ran).toEqual([]);
    expect(await stored()).toEqual(before);
  });

  test('changes nothing the second time', async () => {
    const { runner, stored, invocationId } = await waiting();
    await runner.cancelRun({ ...IDS, invocationId });
    const before = await stored();
    expect(await runner.cancelRun({ ...IDS, invocationId })).toBeUndefined();
    expect(await stored()).toEqual(before);
  });

  test('changes nothing once the run was answered', async () => {
    const played = await waiting('paid');
    await played.send(answer(played.request, APPROVED));
    const before = await played.stored();
    expect(await played.runner.cancelRun({ ...IDS, invocationId: played.invocationId })).toBeUndefined();
    expect(await played.stored()).toEqual(before);
    expect(await endOf(played, played.invocationId)).toMatchObject({ state: 'completed' });
  });

  test('gives the model the cancelled response in the next run', async () => {
    const { runner, send, model, invocationId } = await waiting('ok');
    await runner.cancelRun({ ...IDS, invocationId });
    await send({ text: 'never mind' });
    const given = model.requests.at(-1)?.request.contents.flatMap(({ parts = [] }) => parts) ?? [];
    expect(given.flatMap(({ functionResponse }) => functionResponse?.response ?? [])).toContainEqual(CANCELLED);
    expect(JSON.stringify(given)).not.toContain(WAITING.error);
  });

  test('takes part of the answers, and cancels the rest', async () => {
    const { runner, send, ran, stored } = await setUp([{ calls: [call(1), call(2)] }, 'one'], {}, { resumable });
    const events = await send({ text: 'hi' });
    const [first, second] = asked(events);
    await send(answer(first, APPROVED));
    await runner.cancelRun({ ...IDS, invocationId: idOf(events) });
    await expect(send(answer(second, APPROVED))).rejects.toThrow('was cancelled with its run');
    await expect(send(answer(first, APPROVED))).rejects.toThrow(InvalidMessageError);
    expect(ran.map(({ args }) => args)).toEqual([{ n: 1 }]);
    expect(responses(await stored())).toContainEqual(['c2', CANCELLED]);
  });
});

test.each([true, false])('a result of a cancelled long-running call is refused (resumable: %s)', async (resumable) => {
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const { runner, run, stored } = await scenario({
    model: [{ calls: [call(1, 'wait')] }],
    agent: { tools: [wait] },
    resumable,
  });
  const invocationId = idOf(await run());
  await runner.cancelRun({ ...IDS, invocationId });
  expect(responses(await stored())).toEqual([['c1', CANCELLED]]);
  const result = { functionResponse: { id: 'c1', name: 'wait', response: { done: true } } };
  await expect(run(result)).rejects.toThrow('the call "c1" was cancelled with its run');
});

test('a cancelled request for input is refused', async () => {
  const order = new FunctionTool({
    name: 'order',
    description: '',
    execute: (_, context) => context.getInput() ?? context.requestInput({ message: 'Which size?' }),
  });
  const { runner, run } = await scenario({
    model: [{ calls: [call(1, 'order')] }],
    agent: { tools: [order] },
    resumable: true,
  });
  const events = await run();
  const request = events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? [])[0] ?? expect.unreachable();
  await runner.cancelRun({ ...IDS, invocationId: idOf(events) });
  const result = { functionResponse: { id: request, name: 'adk_request_input', response: { result: 'small' } } };
  await expect(run(result)).rejects.toThrow('was cancelled with its run');
});

test('a rewind to before a cancelled run removes the cancellation together with the run', async () => {
  const { runner, send } = await setUp([{ calls: [call(1)] }, { calls: [call(1)] }], {}, { resumable: true });
  const events = await send({ text: 'hi' });
  await runner.cancelRun({ ...IDS, invocationId: idOf(events) });
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: idOf(events) });
  expect(asked(await send({ text: 'again' }))).toHaveLength(1);
});

describe.each([true, false])('cancelling a run with a request to a person (resumable: %s)', (resumable) => {
  const config = { model: [{ calls: [call(1), call(2, 'look')] }], resumable };
  const play = async (at: number) => {
    const sessionService = new InMemorySessionService({ platform: fixedPlatform() });
    const killed = dying(sessionService, at, true);
    const { send } = await setUp([], {}, { ...config, sessionService: killed.service });
    await send({ text: 'hi' }).catch(() => undefined);
    const [first] = (await sessionService.getSession(KEY))?.events ?? [];
    const runner = new Runner({ appName: 'app', agent: new LlmAgent({ name: 'bot' }), sessionService, resumable });
    await runner.cancelRun({ ...IDS, invocationId: first?.invocationId ?? expect.unreachable() });
    return { commits: killed.commits(), ends: await findLooseEnds(sessionService, KEY) };
  };

  test('leaves no loose end if its process was killed after any commit', async () => {
    const { commits } = await play(Infinity);
    expect(commits).toBeGreaterThan(4);
    for (let at = 1; at <= commits; at++) expect([at, (await play(at)).ends]).toEqual([at, []]);
  });
});

test('a cancellation waits for another run of the session, or is refused with onBusy reject', async () => {
  const { runner, send, stored } = await setUp([{ calls: [call(1)] }], {}, { resumable: true });
  const invocationId = idOf(await send({ text: 'hi' }));
  const lease = await runner.sessionService.acquireLease(KEY);
  await expect(runner.cancelRun({ ...IDS, invocationId, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
  const cancelled = runner.cancelRun({ ...IDS, invocationId });
  await runner.sessionService.releaseLease(lease);
  expect(await cancelled).toMatchObject({ errorCode: 'RUN_ABORTED' });
  expect((await stored()).at(-1)).toMatchObject({ object: 'runner.end' });
});

test('an abort signal of another kind is refused under the name of the method', async () => {
  const { runner } = await setUp([]);
  const refused = runner.cancelRun({ ...IDS, invocationId: 'e-1', abortSignal: {} as never });
  await expect(refused).rejects.toThrow('cancelRun: abortSignal');
});
