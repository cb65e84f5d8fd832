import { type BaseAgent, InMemorySessionService, LlmAgent, Runner } from '@eventloom/adk';
import { createServer } from '@eventloom/server';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';

const SESSION = '/apps/app/users/ann/sessions/s';

/** Serves a runner of the ADK for one run. Its stream ends where a program of the ADK expects no error; a server must know the error. */
async function serve(agent: BaseAgent) {
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
  const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
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

const helper = (...steps: ConstructorParameters<typeof ScriptedModel>[0][number][]): LlmAgent =>
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
