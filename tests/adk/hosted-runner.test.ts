import {
  type BaseAgent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  node,
  RequestInput,
  Runner,
  Workflow,
} from '@eventloom/adk';
import { type Event, ModelError } from '@eventloom/core';
import { createServer } from '@eventloom/server';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';

const SESSION = '/apps/app/users/ann/sessions/s';

const HELLO = { role: 'user', parts: [{ text: 'Hello?' }] };

/**
 * Serves a runner of the ADK, with a session. Its streams end where a program of the ADK expects no error; a server
 * must know the error.
 */
async function open(agent: BaseAgent) {
  const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
  const server = createServer({ runners: [runner], onError: () => undefined });
  const request = (method: string, path: string, body?: object, headers: object = {}): Promise<Response> =>
    Promise.resolve(
      server.fetch(
        new Request(`http://localhost${path}`, {
          method,
          headers: { 'content-type': 'application/json', ...headers },
          body: body ? JSON.stringify(body) : null,
        }),
      ),
    );
  await request('POST', SESSION, {});
  return { server, request };
}

/** Serves a runner of the ADK, and starts a run. */
async function serve(agent: BaseAgent) {
  const { server, request } = await open(agent);
  const newMessage = HELLO;
  expect((await request('POST', `${SESSION}/runs`, { requestId: 'r1', streaming: true, newMessage })).status).toBe(202);
  const run = `${SESSION}/runs/r1`;
  return {
    server,
    run,
    request,
    state: async (): Promise<unknown> => (await request('GET', run, undefined, { accept: 'application/json' })).json(),
    frames: async (): Promise<string> => (await request('GET', run)).text(),
  };
}

/** Returns the frames of server-sent events. */
function framesOf(text: string): object[] {
  const blocks = text.split('\n\n').filter((block) => block !== '');
  return blocks.map((block) => JSON.parse(block.replace(/^(id: .*\n)?data: /, '')) as object);
}

const helper = (...steps: ScriptedStep[]): LlmAgent =>
  new LlmAgent({ name: 'helper', model: new ScriptedModel(steps) });

test('a server says that a run of a Runner of the ADK was cancelled', async () => {
  const { run, request, frames, state } = await serve(helper({ chunks: ['one', new Gate(), 'two'] }));
  await request('DELETE', run);
  expect(await frames()).toContain('{"error":"the run was cancelled","code":"RUN_ABORTED"}');
  expect(await state()).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
});

test('a server says that a model of a Runner of the ADK failed', async () => {
  const { frames, state } = await serve(helper({ error: new Error('no connection') }));
  expect(await frames()).toContain('"code":"MODEL"');
  expect(await state()).toMatchObject({ state: 'failed' });
});

test('a server says that an agent of a Runner of the ADK failed, and not with which error', async () => {
  const agent = new LlmAgent({
    name: 'helper',
    model: new ScriptedModel([]),
    beforeAgentCallback: () => {
      throw new Error('the password is 1234');
    },
  });
  const { frames, state } = await serve(agent);
  expect(await frames()).toContain('"code":"AGENT"');
  expect(await state()).toMatchObject({ state: 'failed', code: 'AGENT' });
  expect(await frames()).not.toContain('1234');
});

/** A helper that calls a tool before its model fails. */
const failing = (error: Error): LlmAgent => {
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'blue' });
  const model = new ScriptedModel([{ calls: [{ name: 'look' }] }, { error }]);
  return new LlmAgent({ name: 'helper', model, tools: [look] });
};

test.each([
  ['a service', new ModelError('slow down', { errorCode: 'RESOURCE_EXHAUSTED' }), 'RESOURCE_EXHAUSTED'],
  ['a model class of the program', new Error('no connection'), 'MODEL_ERROR'],
])(
  'clients of the ADK get a failed call of %s as an event of the run, which has no other error',
  async (_, error, code) => {
    for (const route of ['/run', '/run_sse']) {
      const { request } = await open(failing(error));
      const body = { appName: 'app', userId: 'ann', sessionId: 's', requestId: 'r1', newMessage: HELLO };
      // A repeated request gets the same answer.
      for (const times of [1, 2]) {
        const answer = await request('POST', route, body);
        const text = await answer.text();
        const events = (route === '/run' ? JSON.parse(text) : framesOf(text)) as Event[];
        expect([times, answer.status, ...events.map(({ errorCode }) => errorCode)]).toEqual([
          times,
          200,
          undefined,
          undefined,
          code,
        ]);
      }
      const state = await request('GET', `${SESSION}/runs/r1`, undefined, { accept: 'application/json' });
      expect(await state.json()).toMatchObject({ state: 'failed', code });
      const numbered = await request('POST', '/run_sse', body, { 'eventloom-event-ids': '1' });
      expect(framesOf(await numbered.text()).at(-1)).toMatchObject({ code, error: expect.any(String) });
    }
  },
);

test.each(['/run', '/run_sse'])(
  'clients of the ADK get the failure of a workflow as an error of %s, also if the model of a node failed, as from its server',
  async (route) => {
    const failed = failing(new ModelError('slow down', { errorCode: 'RESOURCE_EXHAUSTED' }));
    const { request } = await open(new Workflow({ name: 'flow', edges: [['START', failed]] }));
    const body = { appName: 'app', userId: 'ann', sessionId: 's', requestId: 'r1', newMessage: HELLO };
    // A repeated request gets the same answer.
    for (const times of [1, 2]) {
      const answer = await request('POST', route, body);
      const text = await answer.text();
      const last: unknown = route === '/run' ? JSON.parse(text) : framesOf(text).at(-1);
      const error = "Node 'helper' failed: RESOURCE_EXHAUSTED: slow down";
      expect([times, answer.status, last]).toEqual([
        times,
        route === '/run' ? 500 : 200,
        { error, code: 'ADK_NODE_REPORTED' },
      ]);
    }
  },
);

test.each(['/run', '/run_sse'])(
  'clients of the ADK get other failures as errors of %s, as from its server',
  async (route) => {
    const agent = new LlmAgent({
      name: 'helper',
      model: new ScriptedModel([]),
      beforeAgentCallback: () => {
        throw new Error('the password is 1234');
      },
    });
    const { request } = await open(agent);
    const answer = await request('POST', route, { appName: 'app', userId: 'ann', sessionId: 's', newMessage: HELLO });
    const text = await answer.text();
    expect([answer.status, text]).toEqual([
      route === '/run' ? 500 : 200,
      expect.stringMatching(/\{"error":"agent .*"code":"AGENT"\}/),
    ]);
  },
);

test('a client follows the run that its text answers, in the process that has the run', async () => {
  const gate = new Gate();
  const ask = node(() => new RequestInput({ interruptId: 'city', message: 'Which city?' }), { name: 'ask' });
  const travel = node(async (_, city: unknown) => (await gate.pass(), `off to ${JSON.stringify(city)}`), {
    name: 'travel',
  });
  const { request } = await open(new Workflow({ name: 'flow', edges: [['START', ask, travel]] }));
  const body = { appName: 'app', userId: 'ann', sessionId: 's' };
  const asked = await request('POST', '/run_sse', { ...body, newMessage: HELLO });
  await asked.text();
  const answered = await request('POST', '/run_sse', {
    ...body,
    newMessage: { role: 'user', parts: [{ text: 'Oslo' }] },
  });
  const id = asked.headers.get('eventloom-invocation-id') ?? '';
  expect(answered.headers.get('eventloom-invocation-id')).toBe(id);
  const followed = await request('GET', `${SESSION}/runs/${id}`, undefined, { 'last-event-id': '2' });
  gate.open();
  expect(await followed.text()).toContain('off to');
  expect(await answered.text()).toContain('off to');
});

test('a run that a server starts again after another run of its session has the fields of the ADK in its events', async () => {
  const sessionService = new InMemorySessionService();
  const flow = new Workflow({ name: 'flow', edges: [['START', node(() => 'done', { name: 'only' })]] });
  const runner = new Runner({ appName: 'app', agent: flow, sessionService });
  const refused = runner.runAsync({ userId: 'ann', sessionId: 's', newMessage: HELLO });
  await expect(refused.next()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
  const ids: unknown[] = [];
  for await (const { longRunningToolIds } of refused.retry()) ids.push(longRunningToolIds);
  expect(ids).toEqual(ids.map(() => []));
  expect(ids).not.toEqual([]);
});
