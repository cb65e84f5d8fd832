import { systemPlatform } from '@eventloom/core';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { InMemoryRunRelay, RunNetwork } from '../conformance/in-memory-run-relay.ts';
import type { RunLog } from '../runs/run-log.ts';
import type { RunPublication, RunRelay } from '../runs/run-relay.ts';
import { KEY, serveApp, SESSION } from '../fixtures/server-scenario.ts';

const JSON_STATE = { accept: 'application/json' };

/**
 * A relay whose runs other processes find only once their log has ended, so the response to the request that starts a
 * run waits for that.
 */
class LateRelay extends InMemoryRunRelay {
  override publish(log: RunLog): RunPublication {
    return { ...super.publish(log), announced: log.ended };
  }
}

/** A server on a database that can become read-only, like a file system. */
async function setUp(steps: readonly ScriptedStep[], beforeAgent = (): void => undefined, unfinishedRunsEveryMs = 0) {
  const database = new DatabaseSync(':memory:');
  const setWritable = (isWritable: boolean): void => database.exec(`PRAGMA query_only = ${isWritable ? 'off' : 'on'}`);
  const background = (work: Promise<unknown>): void => void work.catch(() => undefined);
  const platform = { ...systemPlatform, background };
  const sessionService = new SqliteSessionService({ database, platform });
  const errors: string[] = [];
  const serve = (script: readonly ScriptedStep[], relay?: RunRelay) => {
    const { server, send } = serveApp({
      steps: script,
      agent: { beforeAgentCallback: () => beforeAgent() },
      runner: { platform, resumable: true, leaseTtlMs: 200 },
      sessionService,
      platform,
      relay,
      onError: (error) => errors.push(String(error)),
      limits: { unfinishedRunsEveryMs, respondAfterMs: 60_000 },
    });
    const stateOf = async (id: string) => (await send('GET', `${SESSION}/runs/${id}`, undefined, JSON_STATE)).json();
    return { server, send, stateOf };
  };
  await sessionService.createSession(KEY);
  return { setWritable, errors, serve, ...serve(steps, new LateRelay(new RunNetwork())) };
}

const MESSAGE = { newMessage: { parts: [{ text: 'hi' }] }, requestId: 'r-1' };

test('a request whose run loses its storage at once is answered with the address of the run, which is recorded', async () => {
  let breakStore = (): void => undefined;
  const { setWritable, send, stateOf } = await setUp(['done'], () => breakStore());
  breakStore = () => setWritable(false);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const { invocationId, state } = (await begun.json()) as { invocationId: string; state: string };
  expect([begun.status, begun.headers.get('location'), state]).toEqual([
    202,
    `${SESSION}/runs/${invocationId}`,
    'running',
  ]);
  expect(await stateOf('r-1')).toEqual({ invocationId, state: 'running' });
});

test('the error of a run that continues has the address of the run', async () => {
  let breakStore = (): void => undefined;
  const { setWritable, send } = await setUp(['done'], () => breakStore());
  breakStore = () => setWritable(false);
  const answer = await send('POST', '/run', { ...KEY, ...MESSAGE });
  const id = answer.headers.get('eventloom-invocation-id');
  expect([answer.status, await answer.json()]).toEqual([
    409,
    { error: expect.stringContaining('follow the run'), code: 'RUN_GOES_ON', run: `${SESSION}/runs/${id}` },
  ]);
});

test('onError gets an outage in which leases are not renewed, once for all runs, which then end', async () => {
  const gates = [new Gate(), new Gate()];
  const { setWritable, errors, send } = await setUp(gates.map((gate) => ({ gate, text: 'done' })));
  await send('POST', SESSION.replace(/s$/, 't'));
  const answers = ['s', 't'].map((sessionId) => send('POST', '/run', { ...KEY, ...MESSAGE, sessionId }));
  await Promise.all(gates.map((gate) => gate.reached));
  setWritable(false);
  await expect.poll(() => errors).toHaveLength(1);
  expect(errors[0]).toMatch(/the lease of session "[st]" of user "ann" for the run e-.* was not renewed/);
  setWritable(true);
  for (const gate of gates) gate.open();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  expect(errors).toHaveLength(1);
});

test('a run is not reported as cancelled before its end is stored', async () => {
  const gate = new Gate();
  const { setWritable, send, stateOf } = await setUp([{ gate, text: 'never' }]);
  const answer = send('POST', '/run', { ...KEY, ...MESSAGE });
  await gate.reached;
  setWritable(false);
  const refused = await send('DELETE', `${SESSION}/runs/r-1`);
  const error = expect.stringContaining('the run may continue: cancel it again');
  expect([refused.status, await refused.json()]).toEqual([503, { code: 'STORAGE_UNAVAILABLE', error }]);
  expect(await stateOf('r-1')).toMatchObject({ state: 'running' });
  expect((await answer).status).toBe(409);
  setWritable(true);
  await expect.poll(async () => (await send('DELETE', `${SESSION}/runs/r-1`)).status).toBe(200);
  expect(await stateOf('r-1')).toMatchObject({ state: 'interrupted' });
});

describe('a cancelled run whose end could not be stored', () => {
  async function cancelWithoutStorage(unfinishedRunsEveryMs?: number) {
    const gate = new Gate();
    const served = await setUp([{ gate, text: 'never' }, 'resumed'], undefined, unfinishedRunsEveryMs);
    const answer = served.send('POST', '/run', { ...KEY, ...MESSAGE });
    await gate.reached;
    served.setWritable(false);
    expect((await served.send('DELETE', `${SESSION}/runs/r-1`)).status).toBe(503);
    await answer;
    served.setWritable(true);
    return served;
  }

  test('is closed by its server instead of resumed', async () => {
    const { server, stateOf } = await cancelWithoutStorage();
    await server.takeUpUnfinishedRuns();
    expect(await stateOf('r-1')).toMatchObject({ state: 'interrupted', error: 'the run was cancelled' });
  });

  test('is closed soon after the storage is back, however seldom its server looks for unfinished runs', async () => {
    const { server, stateOf } = await cancelWithoutStorage(3_600_000);
    await expect.poll(() => stateOf('r-1')).toMatchObject({ state: 'interrupted', error: 'the run was cancelled' });
    await server.drain(0);
  });

  test('is closed before the next message', async () => {
    const { send, stateOf } = await cancelWithoutStorage();
    const next = await send('POST', '/run', { ...KEY, ...MESSAGE, requestId: 'r-2' });
    expect([next.status, JSON.stringify(await next.json())]).toEqual([200, expect.stringContaining('resumed')]);
    expect(await stateOf('r-1')).toMatchObject({ state: 'interrupted', error: 'the run was cancelled' });
  });

  test('is resumed if a client asks for it', async () => {
    const { send, server, stateOf } = await cancelWithoutStorage();
    const { invocationId } = (await stateOf('r-1')) as { readonly invocationId: string };
    await send('POST', '/run', { ...KEY, invocationId });
    await server.takeUpUnfinishedRuns();
    expect(await stateOf('r-1')).toMatchObject({ invocationId, state: 'completed' });
  });

  test('is not closed while another process works on it, which a client asked to resume it', async () => {
    const { serve, server, stateOf } = await cancelWithoutStorage();
    const { invocationId } = (await stateOf('r-1')) as { readonly invocationId: string };
    const gate = new Gate();
    const other = serve([{ gate, text: 'resumed elsewhere' }]);
    const answer = other.send('POST', '/run', { ...KEY, invocationId });
    await gate.reached;
    await server.takeUpUnfinishedRuns();
    gate.open();
    expect(JSON.stringify(await (await answer).json())).toContain('resumed elsewhere');
    expect(await stateOf('r-1')).toMatchObject({ invocationId, state: 'completed' });
  });

  test('is resumed, not closed, when the process is lost that a client asked to resume it', async () => {
    const { serve, server, stateOf } = await cancelWithoutStorage();
    const { invocationId } = (await stateOf('r-1')) as { readonly invocationId: string };
    const gate = new Gate();
    const other = serve([{ gate, text: 'never' }]);
    const answer = other.send('POST', '/run', { ...KEY, invocationId });
    await gate.reached;
    await other.server.drain(0);
    expect(await (await answer).json()).toMatchObject({ code: 'RUN_GOES_ON' });
    await server.takeUpUnfinishedRuns();
    await expect.poll(() => stateOf('r-1')).toMatchObject({ invocationId, state: 'completed' });
  });

  test('is closed before its server shuts down, if the storage is back by then', async () => {
    const { serve, server } = await cancelWithoutStorage();
    await server.drain(0);
    const next = serve(['never']);
    expect(await next.stateOf('r-1')).toMatchObject({ state: 'interrupted', error: 'the run was cancelled' });
  });
});
