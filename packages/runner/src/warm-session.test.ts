import {
  type BeginRunRequest,
  type BegunRun,
  type AppendEventRequest,
  BaseAgent,
  type Event,
  type GetSessionRequest,
  type InvocationContext,
  type Session,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { fixedPlatform, modelEvent, ScriptedModel, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { CountingService } from './fixtures/counting-service.ts';
import type { Runner } from './runner.ts';
import { KEY, saying, scenario, type ScenarioOptions } from './fixtures/scenario.ts';

/** A model that replies with its request. */
class Seeing extends BaseAgent {
  protected override async *runAsyncImpl({ session }: InvocationContext): AsyncGenerator<Event, void, void> {
    yield modelEvent('bot', session.events.map(textOf).join(' '));
  }
}

const SEEING = new Seeing({ name: 'bot' });

/** A scenario whose agent yields the texts that it sees. */
async function setUp({ platform = fixedPlatform(), ...options }: ScenarioOptions = {}) {
  const sessionService = new CountingService({ platform });
  const played = await scenario({ agent: SEEING, platform, sessionService, ...options });
  const run = async (text: string, params: object = {}): Promise<string | undefined> =>
    textOf((await played.run(text, params)).at(-1));
  return { ...played, run, sessionService };
}

function textOf(event: Event | undefined): string | undefined {
  return event?.content?.parts?.[0]?.text?.split(' ').at(-1);
}

test('a run reads of the events that this process has cached only the last one again', async () => {
  const { run, sessionService } = await setUp();
  for (const text of ['a', 'b', 'c', 'd', 'e']) await run(text);
  // Nothing is cached after a session's first run, so its two events are read once more.
  expect(sessionService.read).toBe(5);
  sessionService.read = 0;
  await run('f');
  expect(sessionService.read).toBe(1);
});

test('events appended by another process are read, in order', async () => {
  const { run, runner, sessionService, restart } = await setUp();
  await run('a');
  await run('b');
  const other = restart();
  await other.run('x');
  const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
  await sessionService.appendEvent({ session, event: userEvent('y', { id: 'y' }) });
  await run('c');
  const events = await textsSeen(runner);
  expect(events).toEqual(['a', 'a', 'b', 'b', 'x', 'x', 'y', 'c', 'c', 'z']);
});

/** The texts that an agent of the runner sees in its next run. */
async function textsSeen(runner: Runner): Promise<(string | undefined)[]> {
  const [event] = await runner.run(saying('z'));
  return event?.content?.parts?.[0]?.text?.split(' ') ?? [];
}

test('a session that was deleted and created again is read completely', async () => {
  const { run, runner, sessionService } = await setUp();
  await run('a');
  await run('b');
  await sessionService.deleteSession(KEY);
  await sessionService.createSession({ ...KEY, state: { fresh: true } });
  expect(await textsSeen(runner)).toEqual(['z']);
  const session = await sessionService.getSession(KEY);
  expect(session?.events).toHaveLength(2);
});

test('a new session with as many events as the deleted one is read completely', async () => {
  const { run, runner, sessionService } = await setUp();
  await run('a');
  await run('b');
  await sessionService.deleteSession(KEY);
  const session = await sessionService.createSession(KEY);
  for (const id of ['1', '2', '3', '4'])
    await sessionService.appendEvent({ session, event: userEvent(`new${id}`, { id }) });
  expect(await textsSeen(runner)).toEqual(['new1', 'new2', 'new3', 'new4', 'z']);
});

test('a session restored from a copy with fewer events is read completely', async () => {
  class Restored extends CountingService {
    isRestored = false;
    readonly configs: (GetSessionRequest['config'] | undefined)[] = [];

    override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
      const session = await super.getSession(request);
      this.configs.push(request.config);
      return session && this.isRestored ? { ...session, lastSeq: session.lastSeq - 1 } : session;
    }

    override async beginRun(request: BeginRunRequest): Promise<BegunRun> {
      const begun = await super.beginRun(request);
      this.configs.push(request.read);
      const { session } = begun;
      return this.isRestored ? { ...begun, session: { ...session, lastSeq: session.lastSeq - 1 } } : begun;
    }
  }
  const sessionService = new Restored();
  const { run } = await setUp({ sessionService });
  for (const text of ['a', 'b']) await run(text);
  sessionService.configs.length = 0;
  sessionService.isRestored = true;
  await run('c');
  expect(sessionService.configs).toEqual([{ afterSeq: 3 }, { numRecentEvents: 100 }]);
});

test('a run that lost its session leaves no outdated cache entry', async () => {
  const { run, runner, restart } = await setUp();
  await run('a');
  await run('b');
  const other = restart();
  const stream = runner.runAsync(saying('lost'));
  await stream.next();
  await other.run('x', { runConfig: { onBusy: 'interrupt' } });
  await stream.return();
  expect(await textsSeen(runner)).toEqual(['a', 'a', 'b', 'b', 'lost', 'lost', '', 'x', 'x', 'z']);
});

test('a failed append is not cached', async () => {
  class Failing extends CountingService {
    isFailing = false;

    override async appendEvent(request: AppendEventRequest): Promise<Event> {
      if (this.isFailing && request.event.author === 'bot') throw new RangeError('disk full');
      return super.appendEvent(request);
    }
  }
  const sessionService = new Failing();
  const { run, runner } = await setUp({ sessionService });
  await run('a');
  await run('b');
  sessionService.isFailing = true;
  await expect(run('c')).rejects.toThrow('disk full');
  sessionService.isFailing = false;
  expect(await textsSeen(runner)).toEqual(['a', 'a', 'b', 'b', 'c', '', 'z']);
});

test('getSessionConfig of one run does not affect the next', async () => {
  const { run, runner } = await setUp();
  await run('a');
  await run('b');
  await run('c', { runConfig: { getSessionConfig: { numRecentEvents: 1 } } });
  expect(await textsSeen(runner)).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'z']);
});

test('users with sessions of one id have separate caches', async () => {
  const { run, runner, sessionService } = await setUp();
  await sessionService.createSession({ ...KEY, userId: 'v' });
  for (const text of ['a', 'b']) {
    await run(text);
    await runner.run({ userId: 'v', sessionId: 's', newMessage: { parts: [{ text: `v${text}` }] } });
  }
  expect(await textsSeen(runner)).toEqual(['a', 'a', 'b', 'b', 'z']);
});

test('every run reads the current state', async () => {
  class Remembering extends BaseAgent {
    protected override async *runAsyncImpl({ session }: InvocationContext): AsyncGenerator<Event, void, void> {
      yield modelEvent('bot', JSON.stringify(session.state), {
        actions: { stateDelta: { n: Number(session.state['n'] ?? 0) + 1, 'app:x': 1 } },
      });
    }
  }
  const { run, runner, sessionService } = await setUp({ agent: new Remembering({ name: 'bot' }) });
  await run('a');
  await run('b');
  await sessionService.createSession({ ...KEY, sessionId: 'other', state: { 'app:x': 'elsewhere' } });
  const [event] = await runner.run(saying('c'));
  expect(JSON.parse(event?.content?.parts?.[0]?.text ?? '')).toEqual({ n: 2, 'app:x': 'elsewhere' });
});

test('with a cache of one session, runs of another evict it and stay correct', async () => {
  const { run, runner, sessionService } = await setUp({ sessionCache: { maxSessions: 1 } });
  await sessionService.createSession({ ...KEY, sessionId: 'other' });
  const other = (text: string) => runner.run({ userId: 'u', sessionId: 'other', newMessage: { parts: [{ text }] } });
  for (const text of ['a', 'b', 'c']) {
    await run(text);
    await other(text);
  }
  expect(sessionService.read).toBe(2 * (0 + 2 + 4));
  expect(await textsSeen(runner)).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'z']);
});

test('a model gets the same contents warm and cold', async () => {
  const steps = ['one', 'two', 'three', 'four'];
  const model = new ScriptedModel([...steps, ...steps]);
  const agent = new LlmAgent({ name: 'bot', model });
  const warm = await setUp({ agent });
  const cold = await setUp({ agent, sessionCache: { maxSessions: 0 } });
  for (const { run } of [warm, cold]) for (const text of ['a', 'b', 'c', 'd']) await run(text);
  const contents = model.requests.map(({ request }) => request.contents);
  expect(contents.slice(0, 4)).toEqual(contents.slice(4));
  expect(cold.sessionService.read).toBe(0 + 2 + 4 + 6);
});

test('a session used by two runners at once stays in order for both', async () => {
  const model = new ScriptedModel(Array.from({ length: 40 }, (_, index) => `answer${index}`));
  const even = await scenario({ model });
  const odd = even.restart();
  const runs = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? even : odd).run(`q${index}`));
  await Promise.all(runs);
  const texts = (await even.stored()).map((event) => event.content?.parts?.[0]?.text);
  expect(texts).toHaveLength(80);
  for (const [call, { request }] of model.requests.entries()) {
    expect(request.contents.map((content) => content.parts?.[0]?.text)).toEqual(texts.slice(0, 2 * call + 1));
  }
});
