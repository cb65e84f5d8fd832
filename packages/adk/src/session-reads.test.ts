import { type InvocationContext, type Session } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { InMemorySessionService as CoreSessions } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { JsonSessions } from './fixtures/json-sessions.ts';
import {
  BaseAgent,
  createEvent,
  createEventActions,
  createSession,
  InMemorySessionService,
  LlmAgent,
  Runner,
} from './index.ts';
import { readAsAdk } from './session-reads.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const STATE = { cart: [1], 'user:city': 'Oslo' };
const ODD = JSON.parse('{"__proto__": {"polluted": true}, "hasOwnProperty": 1}') as Record<string, unknown>;

/** Expects the state to be an object as a program writes it. */
function expectObject(state: Session['state'] | undefined, expected: object = STATE): void {
  expect(state).toStrictEqual(expected);
  expect(Object.getPrototypeOf(state)).toBe(Object.prototype);
  expect(state?.hasOwnProperty('cart')).toBe(true);
}

test('a session that is created with an empty id gets a new one', async () => {
  const session = await new InMemorySessionService().createSession({ ...KEY, sessionId: '' });
  expect(session.id).toMatch(/^[\w-]{8,}$/);
});

test('the state of created, read and listed sessions has the methods of an object', async () => {
  const sessions = new InMemorySessionService();
  const session = await sessions.createSession({ ...KEY, state: STATE });
  expectObject(session.state);
  expectObject((await sessions.getSession(KEY))?.state);
  expectObject((await sessions.listSessions(KEY)).sessions[0]?.state);
  await sessions.appendEvent({
    session,
    event: createEvent({ author: 'bot', actions: createEventActions({ stateDelta: { n: 2 } }) }),
  });
  expectObject(session.state, { ...STATE, n: 2 });
});

test.each([
  ['an InMemorySessionService', () => new InMemorySessionService()],
  ['a service that reads as the ADK', () => readAsAdk(new CoreSessions())],
])('listSessions of %s refuses pages of the ADK', async (_, createSessions) => {
  const sessions = createSessions();
  for (const pages of [{ page: 2 }, { offset: 1 }, { order: 'asc' }])
    await expect(sessions.listSessions({ ...KEY, limit: 1, ...pages })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: `listSessions: ${Object.keys(pages).join()} is not offered; write limit, and as cursor the nextCursor of the previous page`,
    });
});

test.each([
  ['the service in memory', () => new InMemorySessionService()],
  ['a service of the program', () => new JsonSessions()],
])('the state in a run on %s has the methods of an object', async (_, createSessions) => {
  const sessionService = createSessions();
  await sessionService.createSession({ ...KEY, state: { cart: [1] } });
  const seen: unknown[] = [];
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel(['Hi.']),
    beforeAgentCallback: ({ invocationContext }) => {
      const { state } = invocationContext.session;
      seen.push(state.hasOwnProperty('cart'), Object.getPrototypeOf(state));
      return undefined;
    },
  });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
  for await (const _event of runner.runAsync({ userId: 'ann', sessionId: 's', newMessage }));
  expect(seen).toEqual([true, Object.prototype]);
});

test('runs of a long session read the stored events, without a copy', async () => {
  const sessionService = new InMemorySessionService();
  const session = await sessionService.createSession(KEY);
  for (let index = 0; index < 300; index++)
    await sessionService.appendEvent({
      session,
      event: createEvent({ author: 'user', content: { parts: [{ text: 'x' }] } }),
    });
  const first: unknown[] = [];
  class Reader extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      first.push(context.session.events[0]);
      yield context.createEvent({ content: { parts: [{ text: 'read' }] } });
    }
  }
  for (const name of ['one', 'two']) {
    const runner = new Runner({ appName: 'app', agent: new Reader({ name }), sessionService });
    const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
    for await (const _event of runner.runAsync({ userId: 'ann', sessionId: 's', newMessage }));
  }
  expect(first[0]).toHaveProperty('author', 'user');
  expect(first[0] === first[1]).toBe(true);
});

test('keys such as __proto__ and hasOwnProperty are data, and change no prototype', async () => {
  class Writer extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      yield context.createEvent({ actions: { stateDelta: ODD, removedState: ['cart'] } });
      seen.push(Object.entries(context.session.state), Object.getPrototypeOf(context.session.state));
      yield context.createEvent({ actions: { removedState: ['__proto__', 'hasOwnProperty'] } });
      seen.push(Object.entries(context.session.state), Object.getPrototypeOf(context.session.state));
    }
  }
  const seen: unknown[] = [];
  const sessionService = new InMemorySessionService();
  const created = await sessionService.createSession({ ...KEY, state: { ...STATE, ...ODD } });
  const runner = new Runner({ appName: 'app', agent: new Writer({ name: 'bot' }), sessionService });
  const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
  for await (const _event of runner.runAsync({ userId: 'ann', sessionId: 's', newMessage }));
  const entries: unknown = expect.arrayContaining([...Object.entries(ODD), ['user:city', 'Oslo']]);
  expect(Object.entries(created.state)).toEqual(entries);
  expect(seen).toEqual([entries, Object.prototype, [['user:city', 'Oslo']], Object.prototype]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('getSession and appendEvent return promises, which a wrong argument rejects', async () => {
  for (const service of [new InMemorySessionService(), readAsAdk(new CoreSessions())]) {
    const session = await service.createSession(KEY);
    const event = createEvent({ author: 'user' });
    expect(service.getSession({ ...KEY, sessionId: session.id })).toBeInstanceOf(Promise);
    expect(service.appendEvent({ session, event })).toBeInstanceOf(Promise);
    await expect(service.getSession(undefined as never)).rejects.toThrow('getSession');
    await expect(service.appendEvent({} as never)).rejects.toThrow('appendEvent');
  }
});

test('appendEvent stores the event of a session object that the program has made itself', async () => {
  for (const service of [new InMemorySessionService(), readAsAdk(new CoreSessions())]) {
    await service.createSession({ ...KEY, state: STATE });
    const made = createSession({ id: 's', appName: 'app', userId: 'ann' });
    await service.appendEvent({ session: made, event: createEvent({ id: 'e1', author: 'user' }) });
    const literal = { id: 's', appName: 'app', userId: 'ann', state: {}, events: [], lastUpdateTime: 0 };
    const actions = createEventActions({ stateDelta: { step: 1 } });
    await service.appendEvent({ session: literal as never, event: createEvent({ id: 'e2', author: 'user', actions }) });
    const stored = await service.getSession(KEY);
    expect(stored?.events.map(({ id }) => id)).toEqual(['e1', 'e2']);
    expect(stored?.state).toMatchObject({ step: 1 });
    expect(literal).toMatchObject({ state: { step: 1 }, events: [{ id: 'e1' }, { id: 'e2' }] });
    const missing = createSession({ id: 'none', appName: 'app', userId: 'ann' });
    const append = service.appendEvent({ session: missing, event: createEvent({ author: 'user' }) });
    await expect(append).rejects.toThrow('is not stored');
  }
});
