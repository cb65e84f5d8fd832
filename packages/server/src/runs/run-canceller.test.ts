import { BasePlugin, createEvent, StaleWriterError, StorageError } from '@eventloom/core';
import { findLooseEnds } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { afterEach, expect, test } from 'vitest';
import { InMemoryRunRelay, RunNetwork } from '../conformance/in-memory-run-relay.ts';
import type { EventloomServer } from '../create-server.ts';
import type { RunState } from './run-state.ts';
import { KEY, serveApp } from '../fixtures/server-scenario.ts';

const RUNS = '/apps/app/users/ann/sessions/s/runs';

const servers: EventloomServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.drain(0)));
});

/** The storage of several servers, and the relay between them. */
async function setUp(isRelayed: boolean, plugins: readonly BasePlugin[] = []) {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const network = new RunNetwork();
  /** Starts a server, as in a separate process. Its model plays the steps. */
  const serve = (...steps: ScriptedStep[]) => {
    const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
    const slow = new FunctionTool({
      name: 'slow',
      description: '',
      execute: (_args, { abortSignal }) => new Gate().pass(abortSignal),
    });
    const { server } = serveApp({
      steps,
      agent: { tools: [wait, slow] },
      runner: { plugins, resumable: true },
      sessionService,
      relay: isRelayed ? new InMemoryRunRelay(network) : undefined,
      // A cancellation is answered with 200, even on a slow machine.
      limits: { respondAfterMs: 60_000 },
    });
    servers.push(server);
    const ask = async (path: string, init: RequestInit = {}): Promise<{ status: number; text: string }> => {
      const response = await server.fetch(new Request(`http://localhost${RUNS}${path}`, init));
      return { status: response.status, text: await response.text() };
    };
    return {
      server,
      send: (requestId: string, part: object = { text: requestId }, more: object = {}) =>
        ask('', { method: 'POST', body: JSON.stringify({ requestId, newMessage: { parts: [part] }, ...more }) }),
      cancel: (id: string) => ask(`/${id}`, { method: 'DELETE' }),
      follow: (id: string) => ask(`/${id}`),
      stateOf: async (id: string): Promise<RunState> =>
        JSON.parse((await ask(`/${id}`, { headers: { accept: 'application/json' } })).text),
    };
  };
  return { serve, sessionService };
}

test.each([false, true])(
  'a request that was cancelled while it waited is refused in every process, relayed: %j',
  async (isRelayed) => {
    const { serve, sessionService } = await setUp(isRelayed);
    const holding = new Gate();
    const a = serve({ gate: holding, text: 'first' });
    const b = serve('never');
    await a.send('r-1');
    await holding.reached;
    const waiting = a.send('r-2');
    await expect.poll(() => a.stateOf('r-2')).toMatchObject({ state: 'queued' });
    expect((await a.cancel('r-2')).status).toBe(200);
    expect(await waiting).toMatchObject({ status: 409, text: expect.stringContaining('RUN_ABORTED') });
    for (const { stateOf, follow, send, cancel } of [a, b]) {
      expect(await stateOf('r-2')).toEqual({
        invocationId: 'r-2',
        state: 'interrupted',
        code: 'RUN_ABORTED',
        error: 'the request was cancelled before its run began',
      });
      expect((await follow('r-2')).text).toContain('RUN_ABORTED');
      expect(await send('r-2')).toMatchObject({
        status: 409,
        text: expect.stringContaining('was cancelled before its run began'),
      });
      expect((await cancel('r-2')).status).toBe(200);
    }
    holding.open();
    await expect.poll(() => a.stateOf('r-1')).toMatchObject({ state: 'completed' });
    expect((await b.send('r-2')).status).toBe(409);
    expect((await b.follow('r-2')).text).toContain('RUN_ABORTED');
    expect((await sessionService.getSession(KEY))?.events.some(({ requestId }) => requestId === 'r-2')).toBe(false);
  },
);

test('a copy of a cancelled request that waits in a process which the relay does not know does not begin', async () => {
  const { serve, sessionService } = await setUp(false);
  const holding = new Gate();
  const a = serve({ gate: holding, text: 'first' });
  const b = serve('never');
  await a.send('r-1');
  await holding.reached;
  const waiting = [a.send('r-2'), b.send('r-2')];
  await expect.poll(() => a.server.runsInFlight + b.server.runsInFlight).toBe(3);
  expect((await a.cancel('r-2')).status).toBe(200);
  holding.open();
  for (const { status, text } of await Promise.all(waiting))
    expect([status, text]).toEqual([409, expect.stringContaining('RUN_ABORTED')]);
  expect((await sessionService.getSession(KEY))?.events.some(({ requestId }) => requestId === 'r-2')).toBe(false);
});

test('a copy of a request that begins in another process while the request is cancelled is cancelled there', async () => {
  const { serve, sessionService } = await setUp(false);
  const [holding, running] = [new Gate(), new Gate()];
  const a = serve({ gate: holding, text: 'first' });
  const b = serve({ gate: running, text: 'never' });
  await a.send('r-1');
  await holding.reached;
  const waiting = [a.send('r-2'), b.send('r-2')];
  await expect.poll(() => a.server.runsInFlight + b.server.runsInFlight).toBe(3);
  const cancelRequest = sessionService.cancelRequest.bind(sessionService);
  sessionService.cancelRequest = async (request) => {
    holding.open();
    await running.reached;
    return cancelRequest(request);
  };
  expect((await a.cancel('r-2')).status).toBe(200);
  const [refused, begun] = await Promise.all(waiting);
  // The run that the request began may have completed before it could be cancelled: the client follows it.
  expect(refused).toMatchObject({ status: 409, text: expect.stringContaining('RUN_GOES_ON') });
  expect(begun).toMatchObject({ status: 202 });
  for (const { stateOf } of [a, b])
    expect(await stateOf('r-2')).toMatchObject({
      invocationId: expect.stringMatching('e-'),
      state: 'interrupted',
      code: 'RUN_ABORTED',
    });
});

test('a request whose process could not store its cancellation is recorded as cancelled by the other process', async () => {
  const { serve, sessionService } = await setUp(true);
  const holding = new Gate();
  const a = serve({ gate: holding, text: 'first' });
  const b = serve();
  await a.send('r-1');
  await holding.reached;
  const waiting = b.send('r-2');
  await expect.poll(() => a.stateOf('r-2')).toMatchObject({ state: 'queued' });
  const cancelRequest = sessionService.cancelRequest.bind(sessionService);
  sessionService.cancelRequest = () => {
    sessionService.cancelRequest = cancelRequest;
    return Promise.reject(StorageError.of('the database', new Error('no')));
  };
  expect((await a.cancel('r-2')).status).toBe(200);
  expect((await waiting).status).toBe(503);
  holding.open();
  expect(await b.send('r-2')).toMatchObject({ status: 409, text: expect.stringContaining('RUN_ABORTED') });
});

test('a request is not reported as cancelled if its cancellation cannot be stored', async () => {
  const { serve, sessionService } = await setUp(false);
  const holding = new Gate();
  const a = serve({ gate: holding, text: 'first' });
  await a.send('r-1');
  await holding.reached;
  const waiting = a.send('r-2');
  await expect.poll(() => a.stateOf('r-2')).toMatchObject({ state: 'queued' });
  sessionService.cancelRequest = () => Promise.reject(StorageError.of('the database', new Error('no')));
  expect(await a.cancel('r-2')).toMatchObject({ status: 503, text: expect.stringContaining('cancel it again') });
  expect((await waiting).status).toBe(503);
});

test.each([false, true])(
  'a cancelled run has the same frames in its process as in others, relayed: %j',
  async (isRelayed) => {
    const { serve, sessionService } = await setUp(isRelayed);
    const [a, b] = [serve({ calls: [{ id: 'c', name: 'slow' }] }), serve()];
    const { invocationId } = JSON.parse((await a.send('r-1')).text) as RunState;
    const calls = async (): Promise<number> => (await sessionService.listToolCalls({ ...KEY, invocationId })).length;
    await expect.poll(calls).toBe(1);
    await a.cancel('r-1');
    const { text } = await a.follow(invocationId);
    expect(text).toMatch(/"functionCall"[^]*"functionResponse"[^]*"errorCode":"RUN_ABORTED"[^]*\{"error":/);
    expect((await b.follow(invocationId)).text).toBe(text);
  },
);

test('a request is not reported as cancelled if the storage does not answer the start of its run', async () => {
  const { serve, sessionService } = await setUp(false);
  const a = serve('done');
  const beginRun = sessionService.beginRun.bind(sessionService);
  sessionService.beginRun = () => Promise.reject(StorageError.of('the database', new Error('no')));
  const waiting = a.send('r-1');
  await expect.poll(() => a.stateOf('r-1')).toMatchObject({ state: 'queued' });
  expect(await a.cancel('r-1')).toMatchObject({ status: 503, text: expect.stringContaining('cancel it again') });
  expect((await waiting).status).toBe(503);
  // The client does what the answer says.
  sessionService.beginRun = beginRun;
  expect((await a.send('r-1')).status).toBe(202);
});

test('a run that an answer continues while its record is read is cancelled', async () => {
  const { serve, sessionService } = await setUp(false);
  const [read, running] = [new Gate(), new Gate()];
  const server = serve({ calls: [{ id: 'c', name: 'wait' }] }, { gate: running, text: 'never' });
  await server.send('r-1');
  await expect.poll(() => server.stateOf('r-1')).toMatchObject({ state: 'waiting' });
  const { invocationId } = await server.stateOf('r-1');
  const findRun = sessionService.findRun.bind(sessionService);
  sessionService.findRun = async (request) => {
    sessionService.findRun = findRun;
    const found = await findRun(request);
    await read.pass();
    return found;
  };
  const cancelling = server.cancel(invocationId);
  await read.reached;
  await server.send('r-2', { functionResponse: { id: 'c', name: 'wait', response: { done: true } } });
  await running.reached;
  read.open();
  expect((await cancelling).status).toBe(200);
  expect(await server.stateOf(invocationId)).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
});

test.each([false, true])(
  'an answer that waits for a run to end is refused if the run is cancelled, also in another process: %j',
  async (isElsewhere) => {
    const { serve, sessionService } = await setUp(true);
    const calls = ['wait', 'slow'].map((name) => ({ id: name, name }));
    const a = serve({ calls }, 'never');
    const b = isElsewhere ? serve('never') : a;
    await a.send('r-1');
    const { invocationId } = await a.stateOf('r-1');
    const eventsOf = async () => (await sessionService.getSession(KEY))?.events ?? [];
    await expect.poll(async () => (await eventsOf()).length).toBe(2);
    const answering = b.send('r-2', { functionResponse: { id: 'wait', name: 'wait', response: { done: true } } });
    await expect.poll(() => b.server.runsInFlight).toBe(isElsewhere ? 1 : 2);
    expect((await a.cancel('r-1')).status).toBe(200);
    expect(await answering).toMatchObject({ status: 400, text: expect.stringContaining('was cancelled with its run') });
    const events = await eventsOf();
    expect(events.every((event) => event.invocationId === invocationId)).toBe(true);
    expect(
      events.flatMap(({ errorCode, object }) => (errorCode ? [errorCode] : object === 'runner.end' ? object : [])),
    ).toEqual(['RUN_ABORTED', 'runner.end']);
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  },
);

test('a run that was aborted keeps its end when its waiting calls are cancelled', async () => {
  const { serve, sessionService } = await setUp(false);
  const a = serve({ calls: ['wait', 'slow'].map((name) => ({ id: name, name })) }, 'second');
  await a.send('r-1');
  await expect.poll(async () => (await sessionService.getSession(KEY))?.events.length).toBe(2);
  // Another message takes the session.
  await a.send('r-2', { text: 'stop' }, { onBusy: 'interrupt' });
  await expect.poll(() => a.stateOf('r-2')).toMatchObject({ state: 'completed' });
  const ended = await a.stateOf('r-1');
  expect(ended).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
  const { text } = await a.follow('r-1');
  expect((await a.cancel('r-1')).status).toBe(200);
  const b = serve();
  for (const { stateOf, follow, send } of [a, b]) {
    expect(await stateOf('r-1')).toEqual(ended);
    expect((await follow('r-1')).text).toBe(text);
    const answer = { functionResponse: { id: 'wait', name: 'wait', response: { done: true } } };
    expect((await send('r-3', answer)).status).toBe(400);
  }
});

test('a run that was cancelled through another process is interrupted at once in the process that had it', async () => {
  const { serve } = await setUp(false);
  const running = new Gate();
  const a = serve();
  const b = serve({ gate: running, text: 'never' });
  await b.send('r-1');
  await running.reached;
  const { invocationId } = await b.stateOf('r-1');
  expect((await a.cancel(invocationId)).status).toBe(200);
  for (const id of ['r-1', invocationId]) {
    for (const { stateOf } of [a, b])
      expect(await stateOf(id)).toMatchObject({ invocationId, state: 'interrupted', code: 'RUN_ABORTED' });
  }
});

test('a run that another process resumes while its record is read is interrupted there', async () => {
  const { serve, sessionService } = await setUp(false);
  const [read, running] = [new Gate(), new Gate()];
  const a = serve();
  const b = serve({ gate: running, text: 'never' });
  const run = { invocationId: 'e-left', requestId: 'r-1', resumable: true };
  const message = createEvent({ ...run, author: 'user', content: { parts: [{ text: 'r-1' }] } });
  message.actions.agentState = { resumable: true };
  const { lease } = await sessionService.beginRun({ ...KEY, ...run, message });
  await sessionService.releaseLease(lease, { keepRunOpen: true });
  const findRun = sessionService.findRun.bind(sessionService);
  sessionService.findRun = async (request) => {
    sessionService.findRun = findRun;
    const found = await findRun(request);
    await read.pass();
    return found;
  };
  const cancelling = a.cancel('e-left');
  await read.reached;
  expect((await b.send('r-1', undefined, { ifKnown: 'resume' })).status).toBe(202);
  await running.reached;
  read.open();
  expect((await cancelling).status).toBe(200);
  for (const { stateOf } of [a, b])
    expect(await stateOf('r-1')).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
});

test.each(['the run is cancelled', 'the session is deleted'])(
  'the client of a message that is not stored yet hears so if %s in another process',
  async (what) => {
    const gate = new Gate();
    class Slow extends BasePlugin {
      override async onUserMessageCallback(): Promise<undefined> {
        await gate.pass();
      }
    }
    const { serve, sessionService } = await setUp(false, [new Slow('slow')]);
    const [a, b] = [serve('never'), serve()];
    const sent = a.send('r-1');
    await gate.reached;
    if (what === 'the run is cancelled') expect((await b.cancel('r-1')).status).toBe(200);
    else {
      await b.server.fetch(new Request(`http://localhost${RUNS.replace('/runs', '')}`, { method: 'DELETE' }));
      // A lease that is renewed after that is lost.
      sessionService.appendEvent = () => {
        throw new StaleWriterError('the lease is lost');
      };
    }
    gate.open();
    const text = what === 'the run is cancelled' ? 'because this one was cancelled' : 'the session was deleted';
    expect(await sent).toMatchObject({ status: 409, text: expect.stringContaining(text) });
  },
);

test('a request that waits in two processes is cancelled in both', async () => {
  const { serve, sessionService } = await setUp(true);
  const holding = new Gate();
  const a = serve({ gate: holding, text: 'first' });
  const b = serve('never');
  await a.send('r-1');
  await holding.reached;
  const waiting = [a.send('r-2')];
  await expect.poll(() => a.stateOf('r-2')).toMatchObject({ state: 'queued' });
  waiting.push(b.send('r-2'));
  await expect.poll(() => b.server.runsInFlight).toBe(1);
  expect((await a.cancel('r-2')).status).toBe(200);
  for (const { status, text } of await Promise.all(waiting))
    expect([status, text]).toEqual([409, expect.stringContaining('RUN_ABORTED')]);
  holding.open();
  for (const { stateOf } of [a, b])
    expect(await stateOf('r-2')).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
  expect((await sessionService.getSession(KEY))?.events.some(({ requestId }) => requestId === 'r-2')).toBe(false);
});

test('a run that waits is cancelled once a later run that its process left has ended', async () => {
  const { serve, sessionService } = await setUp(false);
  const server = serve({ calls: [{ id: 'c', name: 'wait' }] }, 'resumed');
  await server.send('r-1');
  await expect.poll(() => server.stateOf('r-1')).toMatchObject({ state: 'waiting' });
  const message = createEvent({ invocationId: 'e-left', author: 'user', content: { parts: [{ text: 'hi' }] } });
  const begin = { ...KEY, invocationId: 'e-left', resumable: false, message: { ...message, requestId: 'r-2' } };
  const { lease } = await sessionService.beginRun({ ...begin, requestId: 'r-2' });
  await sessionService.releaseLease(lease, { keepRunOpen: true });
  expect((await server.cancel('r-1')).status).toBe(200);
  expect(await server.stateOf('r-1')).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
  expect(await server.stateOf('r-2')).toMatchObject({ state: 'interrupted', code: 'RUN_ABANDONED' });
});

test('a run that waits is cancelled although processes leave further runs in its session meanwhile', async () => {
  const { serve, sessionService } = await setUp(false);
  const server = serve({ calls: [{ id: 'c', name: 'wait' }] });
  await server.send('r-1');
  await expect.poll(() => server.stateOf('r-1')).toMatchObject({ state: 'waiting' });
  const beginRun = sessionService.beginRun.bind(sessionService);
  let left = 0;
  sessionService.beginRun = async (request) => {
    const isCancelling = request.continues === true && !request.invocationId.startsWith('e-left');
    if (isCancelling && left < 3) {
      const invocationId = `e-left-${++left}`;
      const message = createEvent({ invocationId, author: 'user', content: { parts: [{ text: 'hi' }] } });
      const { lease } = await beginRun({ ...KEY, invocationId, resumable: false, message });
      await sessionService.releaseLease(lease, { keepRunOpen: true });
    }
    return beginRun(request);
  };
  expect((await server.cancel('r-1')).status).toBe(200);
  expect(left).toBe(3);
  expect(await server.stateOf('r-1')).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
});

test('a run that waits is cancelled although other requests take the session several times', async () => {
  const { serve, sessionService } = await setUp(false);
  const server = serve({ calls: [{ id: 'c', name: 'wait' }] });
  await server.send('r-1');
  await expect.poll(() => server.stateOf('r-1')).toMatchObject({ state: 'waiting' });
  const appendEvents = sessionService.appendEvents.bind(sessionService);
  let taken = 0;
  sessionService.appendEvents = async (request) => {
    if (taken++ < 3) {
      const lease = await sessionService.acquireLease({ ...KEY, onBusy: 'interrupt' });
      await sessionService.releaseLease(lease, { keepRunOpen: true });
    }
    return appendEvents(request);
  };
  expect((await server.cancel('r-1')).status).toBe(200);
  expect(taken).toBe(4);
  expect(await server.stateOf('r-1')).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
});

test.each([false, true])(
  'an answer that waits in another process is cancelled by its request id, and its run keeps waiting, named: %j',
  async (isNamed) => {
    const { serve, sessionService } = await setUp(true);
    const a = serve({ calls: [{ id: 'c', name: 'wait' }] }, 'thanks');
    const b = serve();
    await a.send('r-1');
    await expect.poll(() => a.stateOf('r-1')).toMatchObject({ state: 'waiting' });
    const { invocationId } = await a.stateOf('r-1');
    const lease = await sessionService.acquireLease(KEY);
    const answer = { functionResponse: { id: 'c', name: 'wait', response: { done: true } } };
    const answering = a.send('r-2', answer, isNamed ? { invocationId } : {});
    await expect.poll(() => b.stateOf('r-2')).toMatchObject({ state: 'queued' });
    expect((await b.cancel('r-2')).status).toBe(200);
    expect(await answering).toMatchObject({ status: 409, text: expect.stringContaining('RUN_ABORTED') });
    await sessionService.releaseLease(lease);
    for (const { stateOf } of [a, b]) expect(await stateOf('r-1')).toMatchObject({ invocationId, state: 'waiting' });
    await a.send('r-3', answer);
    for (const { stateOf } of [a, b])
      await expect.poll(() => stateOf('r-3')).toMatchObject({ invocationId, state: 'completed' });
  },
);

test('an answer that waited in another process is found by its request id once it continues its run', async () => {
  const { serve, sessionService } = await setUp(true);
  const running = new Gate();
  const a = serve({ calls: [{ id: 'c', name: 'wait' }] }, { gate: running, text: 'never' });
  const b = serve();
  await a.send('r-1');
  await expect.poll(() => a.stateOf('r-1')).toMatchObject({ state: 'waiting' });
  const { invocationId } = await a.stateOf('r-1');
  const lease = await sessionService.acquireLease(KEY);
  const answering = a.send('r-2', { functionResponse: { id: 'c', name: 'wait', response: { done: true } } });
  await expect.poll(() => b.stateOf('r-2')).toMatchObject({ state: 'queued' });
  const following = b.follow('r-2');
  await sessionService.releaseLease(lease);
  await answering;
  await running.reached;
  expect(await b.stateOf('r-2')).toEqual({ invocationId, state: 'running' });
  expect((await b.cancel('r-2')).status).toBe(200);
  await following;
  expect(await a.stateOf('r-1')).toMatchObject({ invocationId, state: 'interrupted', code: 'RUN_ABORTED' });
});
