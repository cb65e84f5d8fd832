import { BaseAgent, BasePlugin, ConfigurationError, type Event, type LlmResponse, ModelError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, modelEvent, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import type { ServerLimits } from '../server-limits.ts';
import { KEY, serverScenario, SESSION } from '../fixtures/server-scenario.ts';

async function setUp(
  steps: readonly ScriptedStep[],
  resumable: boolean,
  sessionService = new InMemorySessionService(),
  agent?: BaseAgent,
  plugins: BasePlugin[] = [],
  limits?: Partial<ServerLimits>,
) {
  const { server } = await serverScenario({ steps, agent, runner: { resumable, plugins }, sessionService, limits });
  const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
    server.fetch(new Request(`http://localhost${path}`, init));
  const start = async (text = 'hi'): Promise<string> => {
    const body = JSON.stringify({ newMessage: { parts: [{ text }] }, streaming: true });
    return (await send(`${SESSION}/runs`, { method: 'POST', body })).headers.get('location') ?? '';
  };
  const follow = (path: string, id = '0'): Promise<Response> => send(path, { headers: { 'last-event-id': id } });
  const stateOf = async (path: string): Promise<object> =>
    (await send(path, { headers: { accept: 'application/json' } })).json();
  return { send, start, follow, stateOf, sessionService };
}

/** An agent that yields a text; the runner cannot know that nothing follows. */
class Speaking extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
    yield modelEvent('agent', 'heard');
  }
}

/** Returns the frames of whole events, and of the failure. */
const framesOf = (text: string): { id: string; data: { error?: string; code?: string; errorCode?: string } }[] =>
  [...text.matchAll(/id: (\S+)\ndata: (.*)\n\n/g)].flatMap(([, id = '', data = '']) =>
    data.includes('"partial":true') ? [] : [{ id, data: JSON.parse(data) }],
  );

const truncated = (finishReason: string): LlmResponse => ({
  content: { role: 'model', parts: [{ text: 'Hel' }] },
  finishReason,
});

const ENDS: readonly (readonly [string, ScriptedStep, object])[] = [
  ['completed', { text: 'Hello.' }, { state: 'completed' }],
  ['was ended early by its model', { response: truncated('MAX_TOKENS') }, { state: 'completed' }],
  ['was blocked by its model', { response: truncated('SAFETY') }, { state: 'completed' }],
  ['broke in mid-stream', { chunks: ['Hel'], error: new TypeError('cut') }, { state: 'failed', code: 'MODEL_ERROR' }],
  ['met an error of its own', { error: new ConfigurationError('no') }, { state: 'failed', code: 'CONFIGURATION' }],
  [
    'was refused by the service',
    { error: new ModelError('busy', { errorCode: 'RESOURCE_EXHAUSTED' }) },
    { state: 'failed', code: 'RESOURCE_EXHAUSTED' },
  ],
];

for (const resumable of [false, true])
  test.each(ENDS)(
    `a run that %s has the same state and stream after a restart, resumable: ${resumable}`,
    async (_, step, end) => {
      const first = await setUp([step, { text: 'Something else.' }], resumable);
      const path = await first.start();
      const before = framesOf(await (await first.follow(path)).text());
      const stateBefore = await first.stateOf(path);
      expect(stateBefore).toMatchObject(end);
      // Events of a later run do not belong to it.
      await (await first.follow(await first.start('more'))).text();
      const second = await setUp([], resumable, first.sessionService);
      expect(await second.stateOf(path)).toEqual(stateBefore);
      const after = framesOf(await (await second.follow(path)).text());
      expect(after.map(({ data }) => data)).toEqual(before.map(({ data }) => data));
      const codes = after.flatMap(({ data }) => data.code ?? data.errorCode ?? []);
      if ('code' in end) expect(codes).toEqual([end.code, end.code]);
      const [last, ...rest] = after.toReversed();
      expect((await second.follow(path, last?.id)).status).toBe(204);
      expect((await second.follow(path, before.at(-1)?.id)).status).toBe(204);
      if (rest[0]) expect(framesOf(await (await second.follow(path, rest[0].id)).text())).toEqual([last]);
      const { firstSeq = 0, end: recorded } =
        (await first.sessionService.findRun({ ...KEY, id: path.split('/').at(-1) ?? '' })) ?? {};
      // The numbers of events after the last one that readers get, and of events that the session does not have.
      const lastSeq = Math.floor(Number(before.at(-1)?.id));
      const beyond = Array.from(
        { length: Number(recorded?.lastSeq) - firstSeq + 2 - lastSeq },
        (_each, i) => lastSeq + 1 + i,
      );
      for (const { follow } of [first, second])
        for (const id of beyond) expect([id, (await follow(path, `${id}`)).status]).toEqual([id, 404]);
    },
  );

test.each(['/run_sse', '/run'])(
  'POST %s answers with the end of a run that another process interrupted',
  async (route) => {
    const gate = new Gate();
    class Stopping extends BasePlugin {
      override afterRunCallback(): Promise<void> {
        return gate.pass();
      }
    }
    const agent = new Speaking({ name: 'agent' });
    const { send, sessionService } = await setUp([], false, undefined, agent, [new Stopping('stopping')]);
    const body = JSON.stringify({ ...KEY, newMessage: { parts: [{ text: 'hi' }] } });
    const reading = send(route, { method: 'POST', body, headers: { 'eventloom-event-ids': '1' } });
    await gate.reached;
    // Another process takes the session and closes the run.
    const other = new Runner({ appName: 'app', agent, sessionService });
    const more = { userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'more' }] } };
    await other.run({ ...more, runConfig: { onBusy: 'interrupt' } });
    gate.open();
    const response = await reading;
    const text = await response.text();
    const interrupted = { error: 'another run of the session interrupted the run', code: 'RUN_ABANDONED' };
    if (route === '/run') expect([response.status, JSON.parse(text)]).toEqual([409, interrupted]);
    else expect(framesOf(text).at(-1)?.data).toEqual(interrupted);
    const path = `${SESSION}/runs/${response.headers.get('eventloom-invocation-id')}`;
    const followed = framesOf(await (await send(path)).text());
    expect(followed.map(({ data }) => data.errorCode ?? data.code)).toEqual([
      undefined,
      'RUN_ABANDONED',
      'RUN_ABANDONED',
    ]);
  },
);

test('a run whose session another process deleted ends as aborted', async () => {
  const gate = new Gate();
  const { send, sessionService } = await setUp([{ text: 'never', gate }], true);
  const body = JSON.stringify({ ...KEY, newMessage: { parts: [{ text: 'hi' }] } });
  const reading = send('/run', { method: 'POST', body });
  await gate.reached;
  await sessionService.deleteSession(KEY);
  gate.open();
  const response = await reading;
  expect([response.status, await response.json()]).toEqual([
    409,
    { error: 'the session was deleted', code: 'RUN_ABORTED' },
  ]);
});

test('a cancelled run has the state interrupted, after a restart too', async () => {
  const gate = new Gate();
  const first = await setUp([{ text: 'never', gate }], false);
  const path = await first.start();
  await gate.reached;
  expect((await first.send(path, { method: 'DELETE' })).status).toBe(200);
  const state = await first.stateOf(path);
  expect(state).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
  const second = await setUp([], false, first.sessionService);
  expect(await second.stateOf(path)).toEqual(state);
  expect(framesOf(await (await second.follow(path)).text()).at(-1)?.data).toMatchObject({ code: 'RUN_ABORTED' });
});

/** A plugin that never returns from its callback at the failure of a run. */
class Hanging extends BasePlugin {
  constructor() {
    super('hanging');
  }

  override onRunErrorCallback(): Promise<void> {
    return new Promise(() => undefined);
  }
}

test('a cancelled run whose plugin does not return is ended in its session, which is free for the next message', async () => {
  const gate = new Gate();
  const steps: ScriptedStep[] = [{ text: 'never', gate }, 'next'];
  const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(steps) });
  const limits = { respondAfterMs: 1 };
  const { start, send, stateOf } = await setUp(steps, true, undefined, agent, [new Hanging()], limits);
  const path = await start();
  await gate.reached;
  expect((await send(path, { method: 'DELETE' })).status).toBe(200);
  expect(await stateOf(path)).toMatchObject({ state: 'interrupted' });
  const body = JSON.stringify({ ...KEY, newMessage: { parts: [{ text: 'ho' }] } });
  expect(await (await send('/run', { method: 'POST', body })).text()).toContain('next');
});

test('large events that are read from the session count as answers that the user has not read', async () => {
  const limits = { maxResponseCharsPerUser: 1024 * 1024 };
  const text = 'x'.repeat(600 * 1024);
  const first = await setUp([{ text }], false);
  const path = await first.start();
  await (await first.follow(path)).text();
  const { follow } = await setUp([], false, first.sessionService, undefined, undefined, limits);
  const reader = (await follow(path)).body?.getReader();
  await reader?.read();
  const refused = await (await follow(path)).text();
  expect(refused).toMatch(/^data: \{"error":"the user may have 1048576 characters.*","code":"SLOW_READER"\}\n\n$/);
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read());
  expect(await (await follow(path)).text()).toContain(text);
});

test('a run whose session another process deleted and created again with other events is read from that session', async () => {
  const first = await setUp([{ text: 'Hello.' }], false);
  const path = await first.start();
  expect(await (await first.follow(path)).text()).toContain('Hello.');
  const { sessionService } = first;
  const { events = [], id: sessionId } = (await sessionService.getSession(KEY)) ?? {};
  const second = await setUp([], false, sessionService);
  await second.send(SESSION, { method: 'DELETE' });
  const body = JSON.stringify({ sessionId, events }).replace('Hello.', 'Good day.');
  expect((await second.send(SESSION.slice(0, SESSION.lastIndexOf('/')), { method: 'POST', body })).status).toBe(200);
  for (const { follow } of [first, second]) {
    const text = await (await follow(path)).text();
    expect([text.includes('Hello.'), text.includes('Good day.')]).toEqual([false, true]);
  }
});
