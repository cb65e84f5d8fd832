import * as core from '@eventloom/core';
import { AgentError, type BaseAgent, BaseLlm, type EventloomError, type LlmResponse } from '@eventloom/core';
import { END, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import * as server from '../index.ts';
import { RunNotBegunError, ServerBusyError } from '../errors.ts';
import { createReporter, errorBody, errorStatus } from './error-response.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

const errors = Object.values({ ...core, ...server }).filter(
  (value): value is typeof core.EventloomError =>
    typeof value === 'function' && value.prototype instanceof core.EventloomError,
);

test('every error of core and server has an explicit status', () => {
  // A forgotten code also gets 500, so the codes that mean 500 are listed.
  const meant500 = ['AGENT', 'CONFIGURATION', 'HAND_OVER_LIMIT', 'LLM_CALL_LIMIT'];
  const unmapped = errors
    .map(({ code }) => code)
    .filter((code) => errorStatus(code) === 500 && !meant500.includes(code));
  expect(unmapped).toEqual([]);
});

test('an unknown code is a 500', () => {
  expect([errorStatus('NOPE'), errorStatus('__proto__'), errorStatus('toString')]).toEqual([500, 500, 500]);
});

const SECRET = 'connect ECONNREFUSED postgres://root:hunter2@db/x';
const fail = (): never => {
  throw new Error(SECRET);
};

class BrokenModel extends BaseLlm {
  constructor() {
    super({ model: 'broken' });
  }

  // eslint-disable-next-line require-yield
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    await Promise.resolve();
    fail();
  }
}

const model = new ScriptedModel([]);
const AGENTS: readonly (readonly [string, number, string, BaseAgent, string])[] = [
  ['a callback', 500, 'AGENT', new LlmAgent({ name: 'helper', model, beforeAgentCallback: fail }), 'agent "helper"'],
  ['a model', 502, 'MODEL_ERROR', new LlmAgent({ name: 'helper', model: new BrokenModel() }), 'agent "helper"'],
  [
    'a node of a graph',
    500,
    'NODE',
    new StateGraph({ name: 'graph' }).addNode('fetch', fail).addEdge(START, 'fetch').addEdge('fetch', END).compile(),
    'node "fetch"',
  ],
];

test.each(AGENTS)(
  'an error of %s is reported to the program, and its message is sent to no client or session',
  async (...of) => {
    const [, failed, code, agent, who] = of;
    const sessionService = new InMemorySessionService();
    const reported: unknown[] = [];
    const { send } = serveApp({ agent, sessionService, onError: (error) => reported.push(error) });
    const post = async (path: string, body: object) => {
      const response = await send('POST', path, body);
      return { status: response.status, text: await response.text() };
    };
    const key = { appName: 'app', userId: 'ann', sessionId: 's' };
    await post('/apps/app/users/ann/sessions/s', {});
    const newMessage = { parts: [{ text: 'hi' }] };
    const { status, text } = await post('/run', { ...key, newMessage });
    expect([status, JSON.parse(text)]).toEqual([failed, { error: expect.stringContaining(who), code }]);
    const stream = await post('/run_sse', { ...key, newMessage, streaming: true });
    const stored = JSON.stringify(await sessionService.getSession(key));
    expect(stored).toContain('errorMessage');
    expect(`${text}${stream.text}${stored}`).not.toContain('hunter2');
    expect(stored).toContain(`"errorCode":"${code}"`);
    expect(reported).toMatchObject([{ cause: { message: SECRET } }, { cause: { message: SECRET } }]);
  },
);

test('a full server is reported once a minute, every other failure each time, and a run that has not begun never', () => {
  const platform = fixedPlatform();
  const codes: unknown[] = [];
  const report = createReporter(platform, (error) => codes.push((error as EventloomError).code));
  const refuse = (): void => report(new ServerBusyError('the server is full'));
  refuse();
  refuse();
  report(new AgentError('no'));
  report(new AgentError('no'));
  report(new RunNotBegunError('not yet'));
  platform.advance(59_999);
  refuse();
  platform.advance(1);
  refuse();
  expect(codes).toEqual(['SERVER_BUSY', 'AGENT', 'AGENT', 'SERVER_BUSY']);
});

test('the message of a coded error is sent to clients', () => {
  expect(errorBody(new AgentError('no such order'))).toEqual({ error: 'no such order', code: 'AGENT' });
});

const BROKEN_REPORTERS: readonly (readonly [string, () => unknown])[] = [
  ['throws', fail],
  ['rejects', () => Promise.reject(new Error(SECRET))],
];

test.each(BROKEN_REPORTERS)(
  'an onError that %s does not affect runs, and its error is reported to the platform with the failure',
  async (_, onError) => {
    const agent = new LlmAgent({ name: 'helper', model: new BrokenModel() });
    const reported: string[] = [];
    const background = (work: Promise<unknown>) => void work.catch((error: unknown) => reported.push(String(error)));
    const platform = { ...fixedPlatform(), background };
    const app = serveApp({ agent, onError, platform, limits: { maxRuns: 1, unfinishedRunsEveryMs: 0 } });
    const { server } = app;
    const send = async (method: string, path: string, body?: object) => (await app.send(method, path, body)).status;
    const session = '/apps/app/users/ann/sessions/s';
    const message = { appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
    await send('POST', session, {});
    expect([await send('POST', '/run', message), await send('POST', '/run', message)]).toEqual([502, 502]);
    expect(server.runsInFlight).toBe(0);
    expect(await send('DELETE', session)).toBe(200);
    await server.drain(0);
    expect(reported).toEqual(
      expect.arrayContaining([`Error: ${SECRET}`, `ModelError: the model of agent "helper" failed: ${SECRET}`]),
    );
  },
);

test('the message of a refused request is short and printable, whatever it quotes, and the message of a failure is complete', () => {
  const name = `a\u202e\u001b\u2028${'k'.repeat(2000)}`;
  const { error } = errorBody(new core.InvalidRequestError(`no field ${name}\nat all`));
  expect([error.slice(0, 40), error.length]).toEqual([String.raw`no field a\u{202e}\u{1b}\u{2028}kkkkkkkk`, 1020]);
  expect(errorBody(new core.InvalidRequestError('one\ntwo')).error).toBe('one\ntwo');
  expect(errorBody(new core.ModelError(name, { errorCode: 'INTERNAL' })).error).toBe(name);
});
