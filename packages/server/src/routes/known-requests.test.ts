import { type BeginRunRequest, createEvent, type Event } from '@eventloom/core';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, serverScenario } from '../fixtures/server-scenario.ts';
import { OutlivingSessions } from '../runs/fixtures/outliving-sessions.ts';

const ASK = { newMessage: { parts: [{ text: 'hi' }] }, requestId: 'r-1' };
const ANSWER = {
  newMessage: { parts: [{ functionResponse: { id: 'c', name: 'wait', response: { done: true } } }] },
  requestId: 'r-2',
};
const ROUTES = ['/run', '/run_sse', '/apps/app/users/ann/sessions/s/runs'];

/** A server that does not resume unfinished runs, and does not know the runs of other servers on its storage. */
async function setUp(steps: readonly ScriptedStep[], sessionService = new OutlivingSessions(), limits = {}) {
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const played = await serverScenario({
    steps,
    agent: { tools: [wait] },
    runner: { resumable: true },
    sessionService,
    onUnfinishedRuns: 'leave',
    limits,
  });
  const send = async (path: string, body: object): Promise<Response> =>
    played.send('POST', path, path.startsWith('/run') ? { ...KEY, ...body } : body);
  const events = async (body: object): Promise<string[]> =>
    ((await (await send('/run', body)).json()) as Event[]).map(({ id }) => id);
  return { ...played, send, events, sessionService };
}

const WAIT = { calls: [{ id: 'c', name: 'wait' }] };

test('a repeated answer gets the events of its run: in flight, completed, and from another server', async () => {
  const gate = new Gate();
  const first = await setUp([WAIT, { text: 'Thanks.', gate }]);
  const asked = await first.events(ASK);
  const answering = first.events(ANSWER);
  await gate.reached;
  const following = first.events(ANSWER);
  gate.open();
  const answered = await answering;
  expect(answered).toHaveLength(1);
  expect(await following).toEqual(answered);
  const second = await setUp([], first.sessionService);
  for (const { events, send } of [first, second]) {
    expect(await events(ANSWER)).toEqual(answered);
    expect(await events(ASK)).toEqual([...asked, ...answered]);
    const streamed = await (await send('/run_sse', ANSWER)).text();
    expect(streamed.match(/"id":"[^"]+"/g)).toEqual(answered.map((id) => `"id":"${id}"`));
  }
});

test.each(['/run', '/run_sse'])(
  'POST %s answers an answer again without events while its run waits for another answer',
  async (path) => {
    const first = await setUp([{ calls: ['c', 'd'].map((id) => ({ id, name: 'wait' })) }, { text: 'Thanks.' }]);
    await first.events(ASK);
    const read = async ({ send }: typeof first): Promise<unknown> => {
      const response = await send(path, ANSWER);
      return [response.status, await response.text()];
    };
    const answered = [200, path === '/run' ? '[]' : ''];
    expect(await read(first)).toEqual(answered);
    for (const each of [first, await setUp([], first.sessionService)]) expect(await read(each)).toEqual(answered);
    const [part] = ANSWER.newMessage.parts;
    const other = { functionResponse: { ...part?.functionResponse, id: 'd' } };
    expect(await first.events({ newMessage: { parts: [other] }, requestId: 'r-3' })).toHaveLength(1);
    expect(await first.events(ANSWER)).toHaveLength(1);
  },
);

test('a run that waited in one process and continues in another one is read as it is in the session', async () => {
  const first = await setUp([WAIT]);
  const asked = (await (await first.send('/run', ASK)).json()) as Event[];
  const path = `/apps/app/users/ann/sessions/s/runs/${asked[0]?.invocationId}`;
  const follow = async ({ server }: typeof first, id = '0'): Promise<[number, string[]]> => {
    const response = await server.fetch(new Request(`http://localhost${path}`, { headers: { 'last-event-id': id } }));
    const text = await response.text();
    return [response.status, [...text.matchAll(/"(?:code|text)":"([^"]+)"/g)].map(([, value = '']) => value)];
  };
  expect(await follow(first, '1')).toEqual([204, []]);
  const gate = new Gate();
  const second = await setUp([{ text: 'Thanks.', gate }], first.sessionService);
  const answering = second.events(ANSWER);
  await gate.reached;
  expect(await follow(first)).toEqual([200, ['RUN_GOES_ON']]);
  expect(await follow(first, '2')).toEqual([200, ['RUN_GOES_ON']]);
  gate.open();
  await answering;
  for (const each of [first, second]) expect(await follow(each, '2')).toEqual([200, ['Thanks.']]);
});

test('a request that another process stored while both waited is answered with the run of that process', async () => {
  const first = await setUp([WAIT, 'Thanks.']);
  await first.events(ASK);
  const second = await setUp([], first.sessionService, { respondAfterMs: 0 });
  const lease = await first.sessionService.acquireLease(KEY);
  const answering = first.events(ANSWER);
  await new Promise(setImmediate);
  const repeated = second.send('/run_sse', ANSWER);
  await new Promise(setImmediate);
  // Fires after the timer of respondAfterMs, which was set earlier.
  await new Promise((resolve) => setTimeout(resolve, 1));
  await first.sessionService.releaseLease(lease);
  const [id] = await answering;
  const answer = await repeated;
  const text = await answer.text();
  expect(text).toContain(id);
  expect(text).not.toContain('REQUEST_KNOWN');
  const { invocationId } = (await first.sessionService.findRun({ ...KEY, id: 'r-2' })) ?? {};
  expect(answer.headers.get('eventloom-invocation-id')).toBe(invocationId);
});

test('a known request id is refused with another message, and with the same message if ifKnown is reject', async () => {
  const { events, send, stored } = await setUp(['Hello.']);
  await events(ASK);
  const before = await stored();
  for (const path of ROUTES) {
    const other = await send(path, { ...ASK, newMessage: { parts: [{ text: 'ho' }] } });
    expect([other.status, await other.json()]).toMatchObject([422, { code: 'REQUEST_ID_REUSED' }]);
    const again = await send(path, { ...ASK, ifKnown: 'reject' });
    expect([again.status, await again.json()]).toMatchObject([409, { code: 'REQUEST_KNOWN' }]);
    const nameless = await send(path, { ...ASK, requestId: undefined, ifKnown: 'follow' });
    expect([nameless.status, await nameless.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
    const unclear = await send(path, { ...ASK, ifKnown: 'maybe' });
    expect([unclear.status, await unclear.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
  }
  expect(await stored()).toEqual(before);
});

test('a known request id is refused with another stateDelta or run, and answered with other options of the answer', async () => {
  const { send, stored } = await setUp([WAIT, 'Thanks.', 'More.']);
  const stateDelta = { theme: 'dark', 'temp:once': 1 };
  await (await send('/run', { ...ASK, stateDelta })).text();
  await (await send('/run', ANSWER)).text();
  const before = await stored();
  const [first] = before ?? [];
  for (const path of ROUTES) {
    for (const other of [
      { ...ASK, stateDelta: { theme: 'light' } },
      { ...ASK, stateDelta: { ...stateDelta, more: 1 } },
      ASK,
      { ...ANSWER, stateDelta },
      { ...ANSWER, invocationId: 'e-other' },
    ]) {
      const answer = await send(path, other);
      expect([answer.status, await answer.json()]).toMatchObject([422, { code: 'REQUEST_ID_REUSED' }]);
    }
    const again = await send(path, { ...ASK, stateDelta, streaming: true, customMetadata: { a: 1 }, onBusy: 'reject' });
    expect([again.ok, again.headers.get('eventloom-invocation-id')]).toEqual([true, first?.invocationId]);
    await again.text();
    const answered = await send(path, { ...ANSWER, invocationId: first?.invocationId });
    expect(answered.ok).toBe(true);
    await answered.text();
  }
  expect(await stored()).toEqual(before);
});

test.each(ROUTES)('POST %s resumes an unfinished run only with ifKnown resume', async (path) => {
  const gate = new Gate();
  const first = await setUp([{ text: 'never', gate }]);
  const running = first.send('/run', ASK);
  await gate.reached;
  await first.server.drain(0);
  expect(await (await running).json()).toMatchObject({ code: 'RUN_GOES_ON' });
  const second = await setUp(['Hello.'], first.sessionService);
  const left = await second.send(path, ASK);
  expect(await left.text()).toMatch(path.endsWith('runs') ? /"running"/ : /RUN_GOES_ON/);
  expect((await second.runner.listOpenRuns()).runs).toHaveLength(1);
  const resumed = await second.send(path, { ...ASK, ifKnown: 'resume' });
  expect(resumed.ok).toBe(true);
  expect(await resumed.text()).toMatch(path.endsWith('runs') ? /"running"/ : /Hello\./);
  expect(await (await second.send('/run', ASK)).text()).toContain('Hello.');
  expect((await second.runner.listOpenRuns()).runs).toEqual([]);
});

test('the status of RUN_GOES_ON does not depend on earlier errors of the run', async () => {
  const gate = new Gate();
  const first = await setUp([{ text: 'never', gate }]);
  const running = first.send('/run', ASK);
  await gate.reached;
  const { invocationId = '' } = (await first.sessionService.findRun({ ...KEY, id: 'r-1' })) ?? {};
  const lease = await first.sessionService.acquireLease({ ...KEY, onBusy: 'interrupt' });
  const session = (await first.sessionService.getSession(KEY)) ?? expect.unreachable();
  const error = { type: 'MODEL_ERROR', message: 'busy', code: 'MODEL' };
  const event = createEvent({ invocationId, author: 'agent', errorCode: 'MODEL_ERROR', errorMessage: 'busy', error });
  await first.sessionService.appendEvent({ session, event, lease });
  await first.sessionService.releaseLease(lease);
  gate.open();
  await running;
  const second = await setUp([], first.sessionService);
  const answer = await second.send('/run', ASK);
  expect([answer.status, await answer.json()]).toMatchObject([409, { code: 'RUN_GOES_ON' }]);
});

test('a server that shuts down answers RUN_GOES_ON to a request that another server stored', async () => {
  const gate = new Gate();
  const first = await setUp([WAIT, { text: 'Thanks.', gate }]);
  await first.events(ASK);
  const { sessionService } = first;
  const held = new Gate();
  const second = await setUp(
    [],
    new Proxy(sessionService, {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name);
        if (name === 'beginRun')
          return async (request: BeginRunRequest) => {
            await held.pass(request.abortSignal);
            return target.beginRun(request);
          };
        return typeof found === 'function' ? found.bind(target) : found;
      },
    }),
  );
  const requests = ['r-2', 'r-3'].map((requestId) => second.send('/run', { ...ANSWER, requestId }));
  await held.reached;
  const answering = first.events(ANSWER);
  await gate.reached;
  await second.server.drain(0);
  const [stored, unknown] = await Promise.all(requests);
  const { invocationId } = (await sessionService.findRun({ ...KEY, id: 'r-2' })) ?? {};
  expect([stored?.status, await stored?.json()]).toMatchObject([409, { code: 'RUN_GOES_ON' }]);
  expect(stored?.headers.get('eventloom-invocation-id')).toBe(invocationId);
  expect([unknown?.status, await unknown?.json()]).toMatchObject([503, { code: 'SHUTTING_DOWN' }]);
  gate.open();
  expect(await answering).toHaveLength(1);
});
