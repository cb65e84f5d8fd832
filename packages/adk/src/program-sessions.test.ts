import {
  type AppendEventRequest,
  ConfigurationError,
  createEvent,
  type Event,
  getFunctionResponses,
  type GetSessionRequest,
  type Session,
  SessionNotFoundError,
} from '@eventloom/core';
import { sessionServiceConformance } from '@eventloom/sessions/conformance';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test, vi } from 'vitest';
import type { AdkSession } from './base-session-service.ts';
import { JsonSessions } from './fixtures/json-sessions.ts';
import { AdkLiveRequestQueue } from './live-requests.ts';
import { AdkLlmAgent } from './llm-agent.ts';
import { toRunSessions } from './program-sessions.ts';
import { AdkRunner, type AdkRunnerConfig } from './runner.ts';
import { AdkInMemorySessionService, readAsAdk } from './session-reads.ts';
import { createSession } from './sessions.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const HAS_NO_LIMIT = 'the service of the program holds the states, and decides how large they may be';
const HAS_NO_IMPORT = 'a service with the methods of the ADK has no import';

describe('a session service of a program keeps the contract of sessions, but for imports and the size of states', () => {
  const make: Parameters<typeof sessionServiceConformance>[0] = async ({ platform }) => ({
    service: toRunSessions(new JsonSessions(() => platform.now()), platform),
  });
  const imports = sessionServiceConformance(make).filter(({ id }) => id.startsWith('import.'));
  // These cases fill their sessions with an import.
  const others = ['events.limit', 'open.not-exported', 'run.imported', 'export.long-session', 'export.deleted-midway'];
  const deviations = {
    ...Object.fromEntries([...imports.map(({ id }) => id), ...others].map((id) => [id, HAS_NO_IMPORT])),
    'size.state-total': HAS_NO_LIMIT,
    'size.state-of-others': HAS_NO_LIMIT,
    'size.check': HAS_NO_LIMIT,
    'appends.all-or-none': HAS_NO_LIMIT,
  };
  for (const { id, title, run } of sessionServiceConformance(make, { deviations })) test(`${id}: ${title}`, run);

  test('an import is refused with the calls to write in its place', async () => {
    const service = new InMemorySessionService();
    await service.createSession(KEY);
    const records = service.exportSession(KEY);
    await expect(toRunSessions(new JsonSessions()).importSession({ records })).rejects.toThrow(
      'importSession: the session service of the program has no import; write createSession, and appendEvent for each event',
    );
  });
});

function runnerOver(
  sessionService: AdkRunnerConfig['sessionService'],
  model: ScriptedModel,
  tools: FunctionTool[] = [],
): AdkRunner {
  return new AdkRunner({ appName: 'app', agent: new AdkLlmAgent({ name: 'helper', model, tools }), sessionService });
}

const say = (text: string) => ({ userId: 'ann', sessionId: 's', newMessage: { role: 'user', parts: [{ text }] } });
const textsOf = (events: readonly Event[] = []): string[] =>
  events.flatMap(({ content }) => content?.parts?.flatMap(({ text = '' }) => text) ?? []);

describe('a Runner over a session service of a program', () => {
  test('stores the message, the events and the state of a run', async () => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const count = new FunctionTool({
      name: 'count',
      description: 'Counts.',
      execute: (_input, context) => {
        context.state.set('count', 1);
        context.state.set('user:seen', true);
        context.state.set('temp:now', true);
        return 'counted';
      },
    });
    const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'count', args: {} }] }, { text: 'One.' }]);
    const events = await runnerOver(service, model, [count]).run(say('Count.'));
    const stored = await service.getSession(KEY);
    expect(stored?.events.map(({ id }) => id).slice(1)).toEqual(events.map(({ id }) => id));
    expect(stored?.state).toEqual({ count: 1, 'user:seen': true });
  });

  test('lets a second run of the session wait for the first, even if another runner started it', async () => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const gate = new Gate();
    const slow = new FunctionTool({ name: 'slow', description: 'Waits.', execute: () => gate.pass() });
    const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'slow', args: {} }] }, { text: 'First.' }]);
    const first = runnerOver(service, model, [slow]).run(say('One.'));
    await gate.reached;
    const second = runnerOver(service, new ScriptedModel([{ text: 'Second.' }])).run(say('Two.'));
    gate.open();
    await Promise.all([first, second]);
    expect(textsOf((await service.getSession(KEY))?.events).filter(Boolean)).toEqual([
      'One.',
      'First.',
      'Two.',
      'Second.',
    ]);
  });

  test('continues a session after its process was lost', async () => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const asks = new LongRunningFunctionTool({
      name: 'asks',
      description: 'Asks.',
      execute: () => ({ status: 'asked' }),
    });
    const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'asks', args: {} }] }, { text: 'I asked.' }]);
    await runnerOver(service, model, [asks]).run(say('Ask.'));
    const restarted = new JsonSessions();
    for (const [name, row] of service.rows) restarted.rows.set(name, row);
    const runner = runnerOver(restarted, new ScriptedModel([{ text: 'It is approved.' }]), [asks]);
    const response = { functionResponse: { id: 'c1', name: 'asks', response: { status: 'approved' } } };
    const events = await runner.run({ ...say(''), newMessage: { role: 'user', parts: [response] } });
    expect(textsOf(events)).toEqual(['It is approved.']);
  });

  /** Runs a tool whose process is lost while it works, and returns what a new process reads. */
  async function losesProcess(isResumable: boolean): Promise<JsonSessions> {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const gate = new Gate();
    const slow = new FunctionTool({ name: 'pay', description: 'Pays.', execute: () => gate.pass() });
    const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'pay', args: {} }] }, { text: 'Lost.' }]);
    const running = resumableOver(service, model, slow, isResumable).run(say('Pay.'));
    await gate.reached;
    const restarted = new JsonSessions();
    for (const [name, row] of service.rows) restarted.rows.set(name, row);
    gate.open();
    await running;
    return restarted;
  }

  function resumableOver(sessionService: JsonSessions, model: ScriptedModel, tool: FunctionTool, isResumable = true) {
    const agent = new AdkLlmAgent({ name: 'helper', model, tools: [tool] });
    return new AdkRunner({ appName: 'app', agent, sessionService, resumabilityConfig: { isResumable } });
  }

  test.each([
    [false, 0, { error: 'interrupted' }],
    [true, 1, { paid: 1 }],
  ])('runs a tool whose process was lost again only if it is idempotent: %s', async (idempotent, times, response) => {
    let ran = 0;
    const execute = () => ({ paid: ++ran });
    const pay = new FunctionTool({ name: 'pay', description: 'Pays.', idempotent, execute });
    const restarted = await losesProcess(true);
    const { invocationId = '' } = (await restarted.getSession(KEY))?.events[0] ?? {};
    const runner = resumableOver(restarted, new ScriptedModel([{ text: 'Done.' }]), pay);
    const events = await runner.run({ userId: 'ann', sessionId: 's', invocationId });
    expect(ran).toBe(times);
    expect(events.flatMap(getFunctionResponses)[0]?.response).toMatchObject(response);
    expect(textsOf(events).filter(Boolean)).toEqual(['Done.']);
  });

  test('closes a run whose process was lost while its tool worked when the next message comes', async () => {
    const pay = new FunctionTool({ name: 'pay', description: 'Pays.', execute: () => 'paid' });
    const restarted = await losesProcess(false);
    const runner = resumableOver(restarted, new ScriptedModel([{ text: 'Hello.' }]), pay, false);
    await runner.run(say('And now?'));
    const stored = (await restarted.getSession(KEY))?.events ?? [];
    expect(stored.flatMap(getFunctionResponses)[0]?.response).toMatchObject({ error: 'interrupted' });
    expect(stored.map(({ author, errorCode }) => errorCode ?? author)).toEqual([
      'user',
      'helper',
      'helper',
      'RUN_ABANDONED',
      'user',
      'helper',
    ]);
  });

  test.each<[method: 'getSession' | 'listSessions', value: unknown, message: string]>([
    ['getSession', 5, 'getSession: the session service of the program returned the number 5; return createSession('],
    [
      'getSession',
      { id: 's', state: {} },
      'getSession: the session service of the program returned an object with id, st',
    ],
    [
      'getSession',
      { id: 's', events: [] },
      'getSession: the session service of the program returned an object with id, events; return createSession(',
    ],
    [
      'getSession',
      createSession({ id: 'other', appName: 'app' }),
      'getSession: the session service of the program returned the session "other" in place of "s"; return the session with',
    ],
    [
      'getSession',
      { ...createSession({ id: 's', appName: 'app' }), events: [null] },
      'getSession: the session service of the program returned a session with null; return events that appendEvent got',
    ],
    [
      'getSession',
      createSession({ id: 's', appName: 'app', state: { clock: () => 1 } }),
      'getSession: the state of the program\'s session service has a function that cannot be copied at "clock"; write JSON',
    ],
    [
      'listSessions',
      [],
      'listSessions: the session service of the program returned a list; return { sessions: [ … ] }',
    ],
  ])('refuses an invalid value that a method of the service returns: %s returns %j', async (method, value, message) => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const runner = runnerOver(Object.assign(service, { [method]: async () => value }), new ScriptedModel([]));
    const using = method === 'getSession' ? runner.run(say('Hi.')) : runner.sessionService.listSessions(KEY);
    await expect(using).rejects.toThrow(message);
    await expect(using).rejects.toBeInstanceOf(ConfigurationError);
  });

  test('fails a run whose message the service refuses, and runs the next one', async () => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const runner = runnerOver(service, new ScriptedModel([{ text: 'Hello.' }]));
    service.failure = new Error('the table is full');
    await expect(runner.run(say('Hi.'))).rejects.toThrow('the table is full');
    expect(textsOf(await runner.run(say('Hi again.')))).toEqual(['Hello.']);
    expect(textsOf((await service.getSession(KEY))?.events)).toEqual(['Hi again.', 'Hello.']);
  });

  test('reads a session again after the program deleted and created it', async () => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const model = new ScriptedModel([{ text: 'First.' }, { text: 'Second.' }]);
    const runner = runnerOver(service, model);
    await runner.run(say('One.'));
    await service.deleteSession(KEY);
    await service.createSession(KEY);
    await runner.run(say('Two.'));
    expect(model.requests[1]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'Two.' }] }]);
  });

  test('reads events with timestamps in milliseconds', async () => {
    const service = new JsonSessions();
    const session = await service.createSession(KEY);
    const event = { ...createEvent({ author: 'user' }), timestamp: 1_800_000_000_000 };
    await service.appendEvent({ session, event });
    const read = await toRunSessions(service).getSession(KEY);
    expect(read?.events.map(({ timestamp }) => timestamp)).toEqual([1_800_000_000]);
  });

  test('gives the service a copy of the event, which it may change', async () => {
    class Stamping extends JsonSessions {
      override async appendEvent(request: Parameters<JsonSessions['appendEvent']>[0]): Promise<Event> {
        request.event.actions.stateDelta['stamped'] = true;
        return super.appendEvent(request);
      }
    }
    const service = new Stamping();
    await service.createSession(KEY);
    await runnerOver(service, new ScriptedModel([{ text: 'Hello.' }])).run(say('Hi.'));
    expect((await service.getSession(KEY))?.state).toEqual({ stamped: true });
  });

  test('lets the service choose the id of a session', async () => {
    const service = toRunSessions(new JsonSessions());
    const { id } = await service.createSession({ appName: 'app', userId: 'ann', state: { a: 1 } });
    expect(id).toBe('session-1');
    expect(await service.getSession({ ...KEY, sessionId: id })).toMatchObject({ state: { a: 1 } });
    class Stubborn extends JsonSessions {
      override createSession({ appName, userId }: typeof KEY) {
        return super.createSession({ appName, userId });
      }
    }
    await expect(toRunSessions(new Stubborn()).createSession(KEY)).rejects.toThrow(
      'createSession: the session service of the program gave the session the id "session-1" in place of "s"',
    );
  });

  test('appends to a session that was read before it was forgotten, and to a listed one', async () => {
    const service = new JsonSessions();
    await service.createSession(KEY);
    const sessions = toRunSessions(service);
    const append = async (session: Session | undefined) =>
      session && sessions.appendEvent({ session, event: createEvent({ author: 'user' }) });
    await append((await sessions.listSessions(KEY)).sessions[0]);
    const read = await sessions.getSession(KEY);
    for (let each = 0; each <= 1000; each++) {
      const { id: sessionId } = await service.createSession({ appName: 'app', userId: 'ann' });
      await sessions.getSession({ ...KEY, sessionId });
    }
    await append(read);
    expect((await service.getSession(KEY))?.events).toHaveLength(2);
  });

  test('does not create a session that does not exist', async () => {
    const runner = runnerOver(new JsonSessions(), new ScriptedModel([]));
    await expect(runner.run(say('Hi.'))).rejects.toThrow(SessionNotFoundError);
  });

  test('uses a service of Eventloom unchanged, and refuses a value without the methods', () => {
    const service = new InMemorySessionService();
    expect(toRunSessions(service)).toBe(service);
    const shared = new JsonSessions();
    expect(toRunSessions(shared)).toBe(toRunSessions(shared));
    const agent = new AdkLlmAgent({ name: 'helper', model: new ScriptedModel([]) });
    const sessionService = { createSession: () => createSession({ id: 's', appName: 'app' }) } as never;
    expect(() => new AdkRunner({ appName: 'app', agent, sessionService })).toThrow(
      new ConfigurationError(
        'Runner: sessionService: has no method getSession; write a class that extends BaseSessionService, or new InMemorySessionService()',
      ),
    );
  });
});

/** Hides numbers of four digits in what it stores, refuses messages with bad words, and adds state to what it reads. */
class HidingSessions extends AdkInMemorySessionService {
  readonly archive: string[] = [];

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    const { content } = request.event;
    const texts = content?.parts?.map(({ text = '' }) => text) ?? [];
    if (texts.some((text) => text.includes('damn'))) throw new RangeError('a bad word');
    const parts = texts.map((text) => ({ text: text.replaceAll(/\d{4}/g, '****') }));
    const event = content ? { ...request.event, content: { ...content, parts } } : request.event;
    const stored = await super.appendEvent({ ...request, event });
    this.archive.push(...textsOf([stored]));
    return stored;
  }

  override async getSession(request: GetSessionRequest): Promise<AdkSession | undefined> {
    const session = await super.getSession(request);
    return session && { ...session, state: { ...session.state, place: 'Rome' } };
  }
}

describe('a Runner over an InMemorySessionService whose methods the program has overridden', () => {
  test('calls them for all events of a run, and the model reads what they store', async () => {
    const sessionService = new HidingSessions();
    await sessionService.createSession(KEY);
    const model = new ScriptedModel([{ text: 'Your pin is 1234.' }, { text: 'Yes.' }]);
    const agent = new AdkLlmAgent({ name: 'helper', model, instruction: 'You are in {place}.' });
    const runner = new AdkRunner({ appName: 'app', agent, sessionService });
    expect(textsOf(await runner.run(say('My pin is 1234.')))).toEqual(['Your pin is ****.']);
    await runner.run(say('Again.'));
    expect(sessionService.archive).toEqual(['My pin is ****.', 'Your pin is ****.', 'Again.', 'Yes.']);
    expect(textsOf((await sessionService.getSession(KEY))?.events)).toEqual(sessionService.archive);
    const texts = model.requests.map(({ request }) => request.contents.map(({ parts }) => parts?.[0]?.text));
    expect(texts).toEqual([['My pin is ****.'], sessionService.archive.slice(0, 3)]);
    expect(model.requests[0]?.request.config.systemInstruction).toContain('You are in Rome.');
  });

  test('throws the error of the service for a message, and calls no model', async () => {
    const sessionService = new HidingSessions();
    await sessionService.createSession(KEY);
    const runner = runnerOver(sessionService, new ScriptedModel([]));
    await expect(runner.run(say('damn'))).rejects.toThrow('a bad word');
    expect(sessionService.archive).toEqual([]);
  });

  test('calls methods that were assigned to the object, of a service over a driver too', async () => {
    const database = readAsAdk(new InMemorySessionService());
    for (const sessionService of [new AdkInMemorySessionService(), database]) {
      await sessionService.createSession(KEY);
      const appendEvent = vi.spyOn(sessionService, 'appendEvent');
      await runnerOver(sessionService, new ScriptedModel([{ text: 'Hello.' }])).run(say('Hi.'));
      expect(appendEvent.mock.calls.map(([{ event }]) => event.author)).toEqual(['user', 'helper']);
    }
  });

  test('refuses a run if a method was assigned after the runner was created', async () => {
    const sessionService = new AdkInMemorySessionService();
    await sessionService.createSession(KEY);
    const runner = runnerOver(sessionService, new ScriptedModel([]));
    sessionService.appendEvent = async ({ event }) => event;
    const message = 'Runner: sessionService.appendEvent was assigned after the runner was created; write new Runner';
    expect(() => runner.runAsync(say('Hi.'))).toThrow(message);
    expect(() => runner.runLive({ ...say('Hi.'), liveRequestQueue: new AdkLiveRequestQueue() })).toThrow(message);
  });
});
