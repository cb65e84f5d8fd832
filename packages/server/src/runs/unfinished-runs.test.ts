import { type Event, SizeLimitError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { describe, expect, test, vi } from 'vitest';
import { InMemoryRunRelay, RunNetwork } from '../conformance/in-memory-run-relay.ts';
import type { EventloomServer } from '../create-server.ts';
import { LEASE_MS, type Run, setUp } from './fixtures/left-runs.ts';
import type { RelayHost } from './run-relay.ts';

/** A relay of a process that does not react to requests. */
class DeafRelay extends InMemoryRunRelay {
  /** The number of requests to end a run. */
  stops = 0;

  override attach(host: RelayHost): void {
    super.attach({ ...host, stop: () => void this.stops++ });
  }
}

const pathOf = ({ sessionId, invocationId }: Run) => `/apps/app/users/ann/sessions/${sessionId}/runs/${invocationId}`;

function follow(server: EventloomServer, run: Run, lastEventId?: string): Response | Promise<Response> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  return server.fetch(new Request(`http://localhost${pathOf(run)}`, { headers }));
}

/** Waits until a run can be followed, and reads it to its end. */
async function followed(server: EventloomServer, run: Run, lastEventId?: string): Promise<Event[]> {
  let text = '';
  const read = async () => {
    const answer = await follow(server, run, lastEventId);
    text = await answer.text();
    return { status: answer.status, isWhole: !text.includes('RUN_GOES_ON') };
  };
  await expect.poll(read).toEqual({ status: 200, isWhole: true });
  return Array.from(text.matchAll(/^data: (.*)$/gm), ([, json = '']) => JSON.parse(json) as Event);
}

const partsOf = (events: readonly Event[]) =>
  events.flatMap(({ content }) => content?.parts?.map((part) => part.text ?? Object.keys(part)[0]) ?? []);

const errorCodesOf = (events: readonly Event[]) => events.flatMap(({ errorCode }) => errorCode ?? []);

describe('a starting server', () => {
  test('resumes an unfinished run, and its stream can be read from the start', async () => {
    const { leave, serve, ran, eventsOf, open, reported } = setUp();
    const run = await leave('s');
    const server = serve(['done']);
    expect(partsOf(await followed(server, run))).toEqual(['functionCall', 'functionResponse', 'done']);
    expect(ran).toEqual(['s']);
    expect((await eventsOf('s')).at(-1)?.object).toBe('runner.end');
    expect(await open()).toEqual([]);
    expect(reported).toEqual([]);
  });

  test('resumes it within its limits', async () => {
    const { leave, serve } = setUp();
    const run = await leave('s');
    const server = serve([{ calls: [{ id: 'c2', name: 'work' }] }, 'never'], { limits: { maxLlmCalls: 2 } });
    const events = await followed(server, run);
    expect(partsOf(events)).toEqual(['functionCall', 'functionResponse', 'functionCall', 'functionResponse']);
    expect(errorCodesOf(events)).toEqual(['LLM_CALL_LIMIT']);
  });

  test("yields stored events after the reader's number with unchanged numbers", async () => {
    const { leave, serve } = setUp();
    const run = await leave('s');
    const server = serve(['done']);
    expect(partsOf(await followed(server, run, '1.001000007'))).toEqual(['functionResponse', 'done']);
    const text = await (await follow(server, run)).text();
    const ids = Array.from(text.matchAll(/^id: (.+)$/gm), ([, id = '']) => id);
    expect(ids).toEqual(['1', '2', '3']);
    for (const [index, id] of ids.entries()) {
      const rest = await (await follow(server, run, id)).text();
      expect(rest).toBe(index < 2 ? text.slice(text.indexOf(`id: ${ids[index + 1]}`)) : '');
    }
    expect((await follow(server, run, ids.at(-1))).status).toBe(204);
    expect((await follow(server, run, '9')).status).toBe(404);
  });

  test('waits for the lease of a dead process', async () => {
    const { leave, serve, platform, eventsOf, open } = setUp();
    const run = await leave('s', 'dies');
    const server = serve(['done'], { limits: { unfinishedRunsEveryMs: 60_000 } });
    expect(await platform.nextTimer()).toBe(LEASE_MS);
    expect(await (await follow(server, run)).text()).toMatch(/^id: 2\n(.*\n){2}retry: 2000\n\ndata: .*RUN_GOES_ON/m);
    platform.advance(LEASE_MS);
    expect(partsOf(await followed(server, run))).toEqual(['functionCall', 'functionResponse', 'done']);
    expect((await eventsOf('s')).at(-1)?.object).toBe('runner.end');
    expect(await open()).toEqual([]);
  });

  test('resumes an unfinished run before messages that wait for its session', async () => {
    const { leave, serve, platform, open } = setUp();
    const run = await leave('s', 'dies');
    const server = serve(['done'], {
      limits: { unfinishedRunsEveryMs: 60_000 },
      runConfig: () => ({ onOpenRun: 'reject', busyWaitMs: 120_000 }),
    });
    expect(await platform.nextTimer()).toBe(LEASE_MS);
    const body = JSON.stringify({
      appName: 'app',
      userId: 'ann',
      sessionId: 's',
      newMessage: { parts: [{ text: 'ho' }] },
    });
    const say = async (): Promise<string> =>
      (await server.fetch(new Request('http://localhost/run', { method: 'POST', body }))).text();
    // A client that is refused sends its message again at once.
    let refusals = 0;
    const insist = async (): Promise<void> => {
      while (refusals < 1000 && (await say()).includes('RUN_OPEN')) refusals++;
    };
    const clients = [insist(), insist(), insist()];
    await expect.poll(() => server.runsInFlight).toBe(3);
    platform.advance(LEASE_MS);
    await Promise.all(clients);
    expect(refusals).toBeGreaterThan(0);
    expect(refusals).toBeLessThan(1000);
    expect(partsOf(await followed(server, run))).toEqual(['functionCall', 'functionResponse', 'done']);
    expect(await open()).toEqual([]);
  });

  test('does not touch a run that is active elsewhere', async () => {
    const { leave, serve, eventsOf, open } = setUp();
    await leave('s', 'dies');
    const before = await eventsOf('s');
    const server = serve([], { limits: { unfinishedRunsEveryMs: 0 } });
    expect(await server.takeUpUnfinishedRuns()).toBe(LEASE_MS);
    expect(await open()).toMatchObject([{ attempts: 1 }]);
    expect(await eventsOf('s')).toEqual(before);
  });

  test.each(['resume', 'close'] as const)(
    'does not wait for a run with a long lease that is active elsewhere, with onUnfinishedRuns %s',
    async (onUnfinishedRuns) => {
      const { leave, serve, eventsOf, open, reported } = setUp({ leaseTtlMs: 600_000 });
      await leave('s', 'dies');
      const before = await eventsOf('s');
      const server = serve([], { limits: { unfinishedRunsEveryMs: 0 }, onUnfinishedRuns });
      for (const _search of [1, 2]) {
        expect(await server.takeUpUnfinishedRuns()).toBe(60_000);
        expect(server.runsInFlight).toBe(0);
      }
      expect(await open()).toMatchObject([{ attempts: 1 }]);
      expect(await eventsOf('s')).toEqual(before);
      expect(reported).toEqual([]);
    },
  );

  test('gives up a run whose process died at each attempt, with an error event', async () => {
    const { leave, serve, serveAndDie, ran, eventsOf, open, platform } = setUp();
    const run = await leave('s', 'dies');
    for (const _attempt of [2, 3]) {
      platform.advance(LEASE_MS);
      await serveAndDie();
    }
    platform.advance(LEASE_MS);
    const server = serve([], { limits: { unfinishedRunsEveryMs: 0 } });
    await server.takeUpUnfinishedRuns();
    const events = await eventsOf('s');
    expect(events.find(({ errorCode }) => errorCode)).toMatchObject({
      invocationId: run.invocationId,
      errorCode: 'RUN_ABANDONED',
      errorMessage: expect.stringContaining('after attempt 3'),
    });
    expect(ran).toEqual(['s']);
    expect(await open()).toEqual([]);
  });

  test('closes unfinished runs with onUnfinishedRuns close', async () => {
    const { leave, serve, eventsOf, open } = setUp();
    await leave('a');
    await leave('b');
    serve([], { onUnfinishedRuns: 'close' });
    await expect.poll(open).toEqual([]);
    for (const id of ['a', 'b']) expect(errorCodesOf(await eventsOf(id))).toEqual(['RUN_ABANDONED']);
  });

  test('resumes the other runs if one can be neither resumed nor closed, which is reported once', async () => {
    const { leave, serve, sessions, open, reported } = setUp();
    const stuck = await leave('a');
    await leave('b');
    const appendEvents = sessions.appendEvents.bind(sessions);
    sessions.appendEvents = (request) =>
      request.session.id === 'a' ? Promise.reject(new SizeLimitError('too large')) : appendEvents(request);
    const server = serve([], { onUnfinishedRuns: 'close', limits: { unfinishedRunsEveryMs: 0 } });
    await server.takeUpUnfinishedRuns();
    await server.takeUpUnfinishedRuns();
    expect(await open()).toMatchObject([{ sessionId: 'a' }]);
    expect(reported.map(String)).toEqual([
      `StorageError: the run ${stuck.invocationId} of session "a" stays open, because it can be neither resumed nor closed: too large`,
    ]);
  });

  test('stores a message if another run was left behind while the previous run was closed', async () => {
    const { leave, serve, runnerOf, sessions, open, platform, eventsOf } = setUp();
    const { sessionId, invocationId } = await leave('s');
    const key = { appName: 'app', userId: 'ann', sessionId };
    const beginRun = sessions.beginRun.bind(sessions);
    let refusals = 0;
    sessions.beginRun = async (request) => {
      if (request.continues !== true || refusals++ > 0) return beginRun(request);
      // Another process closes the run, begins its own run, and dies.
      await runnerOf([]).closeRun({ userId: 'ann', sessionId, invocationId, reason: 'closed elsewhere' });
      await beginRun({ ...key, ttlMs: LEASE_MS, onBusy: 'reject', waitMs: 0, invocationId: 'e-2', resumable: true });
      platform.advance(LEASE_MS);
      return beginRun(request);
    };
    const server = serve(['done'], { onUnfinishedRuns: 'close', limits: { unfinishedRunsEveryMs: 0 } });
    const body = JSON.stringify({ ...key, newMessage: { parts: [{ text: 'next' }] } });
    const answer = await server.fetch(new Request('http://localhost/run', { method: 'POST', body }));
    expect([answer.status, partsOf((await answer.json()) as Event[])]).toEqual([200, ['done']]);
    expect(refusals).toBeGreaterThan(1);
    expect(await open()).toEqual([]);
    expect(errorCodesOf(await eventsOf('s'))).toEqual(['RUN_ABANDONED']);
  });

  test.each([true, false])(
    'does not resume a cancelled run whose process does not answer (relay: %j)',
    async (hasRelay) => {
      const { sessions, serve, runnerOf, platform, open, eventsOf } = setUp();
      const key = { appName: 'app', userId: 'ann', sessionId: 's' };
      await sessions.createSession(key);
      const network = new RunNetwork();
      const gate = new Gate();
      const dead = { ...platform, schedule: () => () => undefined };
      const runners = [runnerOf([{ gate, text: 'never' }], dead)];
      const deaf = new DeafRelay(network);
      const lost = serve([], { runners, platform: dead, ...(hasRelay && { relay: deaf }) });
      const newMessage = { parts: [{ text: 'hi' }] };
      const send = (server: EventloomServer) =>
        server.fetch(
          new Request('http://localhost/run', { method: 'POST', body: JSON.stringify({ ...key, newMessage }) }),
        );
      const answer = send(lost);
      await gate.reached;
      const [run = expect.unreachable()] = await open();
      const limits = { unfinishedRunsEveryMs: 0, respondAfterMs: 700 };
      const other = serve([], { limits, ...(hasRelay && { relay: new InMemoryRunRelay(network) }) });
      const cancelled = other.fetch(new Request(`http://localhost${pathOf(run)}`, { method: 'DELETE' }));
      if (hasRelay) {
        expect(await platform.nextTimer()).toBe(700);
        platform.advance(700);
      }
      expect((await cancelled).status).toBe(200);
      // The second request reaches a process that took the run over in the meantime.
      expect(deaf.stops).toBe(hasRelay ? 2 : 0);
      expect(await open()).toEqual([]);
      const third = serve(['next'], { limits });
      await third.takeUpUnfinishedRuns();
      expect(partsOf((await (await send(third)).json()) as Event[])).toEqual(['next']);
      const { errorMessage } = (await eventsOf('s')).find(({ errorCode }) => errorCode === 'RUN_ABORTED') ?? {};
      expect(errorMessage).toBe('the run was cancelled');
      // The process of the run answers again.
      gate.open();
      expect(await (await answer).json()).toMatchObject({ code: 'RUN_ABORTED', error: 'the run was cancelled' });
      expect(partsOf(await eventsOf('s'))).not.toContain('never');
    },
  );

  test('does not open a run again that was cancelled after it was listed', async () => {
    const { leave, serve, sessions } = setUp();
    const run = await leave('s');
    const server = serve([], { limits: { unfinishedRunsEveryMs: 0 } });
    const listed = new Gate();
    const listOpenRuns = sessions.listOpenRuns.bind(sessions);
    sessions.listOpenRuns = async (request) => {
      const page = await listOpenRuns(request);
      await listed.pass();
      return page;
    };
    const searching = server.takeUpUnfinishedRuns();
    await listed.reached;
    const cancelled = await server.fetch(new Request(`http://localhost${pathOf(run)}`, { method: 'DELETE' }));
    expect(cancelled.status).toBe(200);
    const beginRun = vi.spyOn(sessions, 'beginRun');
    listed.open();
    await searching;
    expect(beginRun).not.toHaveBeenCalled();
  });

  test('leaves unfinished runs with onUnfinishedRuns leave', async () => {
    const { leave, serve, open } = setUp();
    await leave('s');
    const server = serve([], { onUnfinishedRuns: 'leave' });
    expect(await server.takeUpUnfinishedRuns()).toBeUndefined();
    expect(await open()).toHaveLength(1);
  });

  test('closes runs that cannot be resumed, also with onUnfinishedRuns leave', async () => {
    const { leave, serve, open, eventsOf, platform } = setUp();
    await leave('s', 'dies', false);
    platform.advance(LEASE_MS);
    await serve([], { onUnfinishedRuns: 'leave' }).takeUpUnfinishedRuns();
    expect(await open()).toEqual([]);
    expect((await eventsOf('s')).at(-1)).toMatchObject({ errorCode: 'RUN_ABANDONED' });
  });

  test.each([0, 60_000])('resumes a limited number at a time, polling every %i ms', async (ms) => {
    const { leave, serve, open } = setUp();
    const runs = [await leave('a'), await leave('b'), await leave('c')];
    const gates = [new Gate(), new Gate(), new Gate()];
    const limits = { maxResumedRuns: 2, unfinishedRunsEveryMs: ms };
    const server = serve(
      gates.map((gate) => ({ gate, text: 'done' })),
      { limits },
    );
    if (ms === 0) await server.takeUpUnfinishedRuns();
    await gates[1]?.reached;
    expect(server.runsInFlight).toBe(2);
    expect(await open()).toMatchObject([{ attempts: 1 }, { attempts: 1 }, { attempts: 0 }]);
    gates[0]?.open();
    await gates[2]?.reached;
    gates[1]?.open();
    gates[2]?.open();
    for (const run of runs) expect(partsOf(await followed(server, run)).at(-1)).toBe('done');
  });

  test('leaves room for the runs of other users, and closes runs that need none', async () => {
    const { leave, serve, open } = setUp();
    for (let count = 0; count < 8; count++) await leave(`s${count}`);
    await leave('mine', 'ends', true, 'bob');
    await leave('over', 'ends', false, 'eve');
    const gates = Array.from({ length: 9 }, () => new Gate());
    const limits = { maxResumedRuns: 4, unfinishedRunsEveryMs: 0 };
    const server = serve(
      gates.map((gate) => ({ gate, text: 'done' })),
      { limits },
    );
    await server.takeUpUnfinishedRuns();
    await gates[3]?.reached;
    expect(server.runsInFlight).toBe(4);
    const begun = (await open()).filter(({ attempts }) => attempts > 0);
    expect(Map.groupBy(begun, ({ userId }) => userId).get('bob')).toHaveLength(1);
    expect((await open()).map(({ userId }) => userId)).not.toContain('eve');
    for (const gate of gates) gate.open();
    await expect.poll(open).toEqual([]);
  });

  test('leaves room for a run of another user whose lease has not expired, but is not renewed', async () => {
    const { leave, serve, open, platform, sessions, runnerOf } = setUp();
    for (let count = 0; count < 5; count++) await leave(`s${count}`, 'dies');
    platform.advance(LEASE_MS / 3);
    await leave('mine', 'dies', true, 'bob');
    // The process of this run lives, so the run needs no room.
    const living = new Gate();
    const { userId, sessionId } = { userId: 'eve', sessionId: 'hers' };
    await sessions.createSession({ appName: 'app', userId, sessionId });
    const stream = runnerOf([{ gate: living, text: 'done' }]).runAsync({
      userId,
      sessionId,
      newMessage: { parts: [{ text: 'hi' }] },
    });
    const running = stream.next();
    await living.reached;
    platform.advance((LEASE_MS * 2) / 3);
    const gates = Array.from({ length: 6 }, () => new Gate());
    const server = serve(
      gates.map((gate) => ({ gate, text: 'done' })),
      { limits: { maxResumedRuns: 4, unfinishedRunsEveryMs: 0 } },
    );
    const begunBy = async (user: string): Promise<number> =>
      (await open()).filter((run) => run.attempts > 1 && run.userId === user).length;
    await server.takeUpUnfinishedRuns();
    await gates[2]?.reached;
    expect([await begunBy('ann'), await begunBy('bob')]).toEqual([3, 0]);
    platform.advance(LEASE_MS / 3);
    await server.takeUpUnfinishedRuns();
    await gates[3]?.reached;
    expect([await begunBy('ann'), await begunBy('bob')]).toEqual([3, 1]);
    for (const gate of [...gates, living]) gate.open();
    await running;
    await stream.return();
    await expect.poll(open).toEqual([]);
  });

  test('does not resume a run that another server resumed', async () => {
    const { leave, serve, open, ran, reported } = setUp();
    const run = await leave('s');
    const gate = new Gate();
    const limits = { unfinishedRunsEveryMs: 0 };
    const [one, two] = [serve([{ gate, text: 'done' }], { limits }), serve([{ gate, text: 'done' }], { limits })];
    await Promise.all([one.takeUpUnfinishedRuns(), two.takeUpUnfinishedRuns()]);
    await gate.reached;
    await expect.poll(() => one.runsInFlight + two.runsInFlight).toBe(1);
    expect(await open()).toMatchObject([{ attempts: 1 }]);
    const [host, other] = one.runsInFlight === 1 ? [one, two] : [two, one];
    expect(await (await follow(other, run)).text()).toContain('RUN_GOES_ON');
    gate.open();
    expect(partsOf(await followed(host, run)).at(-1)).toBe('done');
    expect(ran).toEqual(['s']);
    expect(reported).toEqual([]);
  });

  test('does not wait for its own runs', async () => {
    const { leave, serve } = setUp();
    await leave('s');
    const gate = new Gate();
    const server = serve([{ gate, text: 'done' }], { limits: { unfinishedRunsEveryMs: 0 } });
    await server.takeUpUnfinishedRuns();
    await gate.reached;
    expect(await server.takeUpUnfinishedRuns()).toBeUndefined();
  });

  test('closes a run of a removed agent', async () => {
    const { leave, runnerOf, serve, eventsOf, open } = setUp();
    await leave('s');
    serve([], { runners: [runnerOf([], undefined, 'other')] });
    await expect.poll(async () => (await eventsOf('s')).at(-1)?.object).toBe('runner.end');
    expect(errorCodesOf(await eventsOf('s'))).toEqual(['RUN_ABANDONED']);
    await expect.poll(open).toEqual([]);
  });

  test('leaves its resumed runs for the next server when it shuts down', async () => {
    const { leave, serve, open, platform } = setUp();
    const run = await leave('s');
    const gate = new Gate();
    const server = serve([{ gate, text: 'done' }]);
    await gate.reached;
    const drained = server.drain(0);
    platform.advance(0);
    await drained;
    expect(await open()).toMatchObject([{ attempts: 0, heldUntilMs: 0 }]);
    expect(partsOf(await followed(serve(['done']), run)).at(-1)).toBe('done');
  });

  test.each([
    ['can be resumed', true, false, 'RUN_GOES_ON'],
    ['can be resumed, and whose sessions end with the process', true, true, 'RUN_ABANDONED'],
    ['cannot be resumed', false, false, 'RUN_ABORTED'],
  ])('sends a reader the outcome of the run that it stops, which %s', async (_, resumable, endsWithProcess, code) => {
    const { sessions, serve, runnerOf, platform, open, eventsOf, reported } = setUp({ endsWithProcess });
    await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const gate = new Gate();
    const server = serve([], { runners: [runnerOf([{ gate, text: 'never' }], platform, 'bot', resumable)] });
    const newMessage = { parts: [{ text: 'hi' }] };
    const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage });
    const answer = server.fetch(new Request('http://localhost/run', { method: 'POST', body }));
    await gate.reached;
    const drained = server.drain(0);
    platform.advance(0);
    await drained;
    const response = await answer;
    expect(await response.json()).toMatchObject({ code });
    // A client that tries again would get the same answer.
    expect(response.headers.has('retry-after')).toBe(false);
    const isOpen = code === 'RUN_GOES_ON';
    expect([await open(), errorCodesOf(await eventsOf('s'))]).toMatchObject(isOpen ? [[{}], []] : [[], [code]]);
    expect(reported).toEqual([]);
  });

  test('asks requests that wait for the session to try again, because nothing is stored', async () => {
    const { sessions, serve, runnerOf, platform } = setUp();
    await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const gate = new Gate();
    const server = serve([], { runners: [runnerOf([{ gate, text: 'never' }])] });
    const say = (text: string): Request => {
      const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text }] } });
      return new Request('http://localhost/run', { method: 'POST', body });
    };
    const first = server.fetch(say('one'));
    await gate.reached;
    const second = server.fetch(say('two'));
    await expect.poll(() => server.runsInFlight).toBe(2);
    const drained = server.drain(0);
    platform.advance(0);
    await drained;
    expect(await (await first).json()).toMatchObject({ code: 'RUN_GOES_ON' });
    expect(await (await second).json()).toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  test('reports a storage failure once, and keeps polling', async () => {
    const { leave, sessions, serve, platform, reported, open } = setUp();
    await leave('s');
    const failing = vi.spyOn(sessions, 'listOpenRuns').mockRejectedValue(new TypeError('no disk'));
    serve(['done']);
    await platform.nextTimer();
    platform.advance(LEASE_MS);
    await platform.nextTimer();
    expect(reported).toEqual([new TypeError('no disk')]);
    failing.mockRestore();
    platform.advance(LEASE_MS);
    await expect.poll(open).toEqual([]);
  });
});

describe('a message to a session with an unfinished run', () => {
  const say = (sessionId: string, more: object = {}): Request => {
    const newMessage = { parts: [{ text: 'next' }] };
    const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId, newMessage, ...more });
    return new Request('http://localhost/run', { method: 'POST', body });
  };

  test('waits until that run is resumed here and completed', async () => {
    const { leave, serve, eventsOf, open } = setUp();
    const run = await leave('s');
    const gate = new Gate();
    const limits = { unfinishedRunsEveryMs: 0, respondAfterMs: 0 };
    const server = serve([{ gate, text: 'done' }, 'and next'], { limits });
    const answer = server.fetch(say('s'));
    await gate.reached;
    const following = await follow(server, run);
    expect(server.runsInFlight).toBe(2);
    gate.open();
    expect(partsOf((await (await answer).json()) as Event[])).toEqual(['and next']);
    expect(await following.text()).toContain('"done"');
    expect(partsOf(await eventsOf('s'))).toEqual([
      'hi',
      'functionCall',
      'functionResponse',
      'done',
      'next',
      'and next',
    ]);
    expect(await open()).toEqual([]);
  });

  test('counts as a request that waits until it has the session', async () => {
    const { leave, serve } = setUp();
    await leave('s');
    const gates = [new Gate(), new Gate()];
    const [taken, next] = gates;
    const limits = { unfinishedRunsEveryMs: 0, respondAfterMs: 0, maxQueuedRequests: 1 };
    const server = serve([...gates.map((gate) => ({ gate, text: 'done' })), 'third'], { limits });
    const first = server.fetch(say('s'));
    await taken?.reached;
    expect((await server.fetch(say('s'))).status).toBe(503);
    taken?.open();
    await next?.reached;
    const second = server.fetch(say('s'));
    next?.open();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });

  test('is answered with the id of its run immediately', async () => {
    const { leave, serve } = setUp();
    await leave('s');
    const gate = new Gate();
    const limits = { unfinishedRunsEveryMs: 0, respondAfterMs: 0 };
    const server = serve([{ gate, text: 'done' }, 'and next'], { limits });
    const response = await server.fetch(new Request('http://localhost/run_sse', say('s')));
    await gate.reached;
    gate.open();
    const events = Array.from(
      (await response.text()).matchAll(/^data: (.*)$/gm),
      ([, json = '']) => JSON.parse(json) as Event,
    );
    expect(events.map(({ invocationId }) => invocationId)).toEqual([response.headers.get('Eventloom-Invocation-Id')]);
  });

  test('is stored after the close of a run that is not resumable', async () => {
    const { leave, serve, runnerOf, eventsOf, open } = setUp();
    await leave('s');
    const limits = { unfinishedRunsEveryMs: 0 };
    const server = serve([], { limits, runners: [runnerOf(['and next'], undefined, 'other')] });
    expect((await server.fetch(say('s'))).status).toBe(200);
    expect(errorCodesOf(await eventsOf('s'))).toEqual(['RUN_ABANDONED']);
    expect(partsOf(await eventsOf('s')).slice(-2)).toEqual(['next', 'and next']);
    expect(await open()).toEqual([]);
  });

  test('is not stored if the server shuts down first, and may be sent again', async () => {
    const { leave, serve, eventsOf, open, platform } = setUp();
    await leave('s');
    const gate = new Gate();
    const server = serve([{ gate, text: 'done' }], { limits: { unfinishedRunsEveryMs: 0 } });
    const answer = server.fetch(say('s'));
    await gate.reached;
    const drained = server.drain(0);
    platform.advance(0);
    await drained;
    expect(await (await answer).json()).toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(partsOf(await eventsOf('s'))).not.toContain('next');
    expect(await open()).toHaveLength(1);
  });
});
