/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { BasePlugin, ConfigurationError, type Content, type Event, InvalidMessageError } from '@eventloom/core';
import { functionCallEvent, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import type { Script } from './fixtures/custom-agent.ts';
import { KEY, saying, scenario, textOf } from './fixtures/scenario.ts';

/** A plugin with the given callbacks. */
class Plugin extends BasePlugin {
  constructor(name: string, callbacks: Partial<BasePlugin>) {
    super(name);
    Object.assign(this, callbacks);
  }
}

const echo: Script = async function* ({ userContent }) {
  yield modelEvent('bot', `heard ${userContent?.parts?.[0]?.text}`);
};

/** Streaming runs of a runner with these plugins. */
async function setUp(plugins: readonly BasePlugin[], agent: Script = echo) {
  const played = await scenario({ agent, plugins, runConfig: { streamingMode: 'sse' } });
  return { ...played, texts: async () => (await played.stored()).map(textOf) };
}

// The message.

test('the first plugin that replaces the message is the last one called', async () => {
  const { run, texts } = await setUp([
    new Plugin('silent', { onUserMessageCallback: () => undefined }),
    new Plugin('first', {
      onUserMessageCallback: ({ userMessage }) => ({ parts: [{ text: `${userMessage.parts?.[0]?.text}!` }] }),
    }),
    new Plugin('second', { onUserMessageCallback: () => expect.unreachable() }),
  ]);
  expect((await run()).map(textOf)).toEqual(['heard hi!']);
  expect(await texts()).toEqual(['hi!', 'heard hi!']);
});

test('a replaced message is validated', async () => {
  const { run, texts } = await setUp([new Plugin('empty', { onUserMessageCallback: () => ({ parts: [] }) })]);
  await expect(run()).rejects.toBeInstanceOf(InvalidMessageError);
  const answering = { parts: [{ functionResponse: { id: 'lost', response: {} } }] };
  const other = await setUp([new Plugin('lost', { onUserMessageCallback: () => answering })]);
  await expect(other.run()).rejects.toThrow('there is no call with the id "lost"');
  expect(await texts()).toEqual([]);
});

test('function responses in a replaced message get the names of their calls', async () => {
  const script: Script = async function* () {
    yield functionCallEvent('bot', [{ id: 'c1', name: 'approve' }], { longRunningToolIds: ['c1'] });
  };
  const answering: Content = { parts: [{ functionResponse: { id: 'c1', response: {} } }] };
  let runs = 0;
  const plugin = new Plugin('answering', { onUserMessageCallback: () => (runs++ === 0 ? undefined : answering) });
  const { run, sessionService } = await setUp([plugin], script);
  await run();
  await run();
  const session = await sessionService.getSession(KEY);
  expect(session?.events[2]?.content?.parts?.[0]?.functionResponse).toEqual({
    id: 'c1',
    name: 'approve',
    response: {},
  });
});

// The run.

test('content from beforeRunCallback is stored as the only answer, and the agent does not run', async () => {
  const log: string[] = [];
  const { run, texts } = await setUp(
    [
      new Plugin('silent', { beforeRunCallback: () => undefined }),
      new Plugin('closed', {
        beforeRunCallback: () => ({ parts: [{ text: 'closed' }] }),
        afterRunCallback: () => void log.push('afterRun'),
      }),
      new Plugin('late', {
        beforeRunCallback: () => expect.unreachable(),
        onEventCallback: ({ event }) => void log.push(`onEvent ${textOf(event)}`),
      }),
    ],
    async function* () {
      expect.unreachable();
    },
  );
  expect(await run()).toMatchObject([{ author: 'bot', content: { role: 'model', parts: [{ text: 'closed' }] } }]);
  expect(await texts()).toEqual(['hi', 'closed']);
  expect(log).toEqual(['onEvent closed', 'afterRun']);
});

test('afterRunCallback of every plugin runs in order after the last event', async () => {
  const log: string[] = [];
  const after = (name: string) => new Plugin(name, { afterRunCallback: () => void log.push(name) });
  const { runner } = await setUp([after('one'), after('two')]);
  const stream = runner.runAsync(saying());
  await stream.next();
  expect(log).toEqual([]);
  await stream.next();
  expect(log).toEqual(['one', 'two']);
});

test('plugins get the session, the user and the invocation', async () => {
  const seen: unknown[] = [];
  const { run } = await setUp([
    new Plugin('seeing', {
      beforeRunCallback: ({ invocationContext: { appName, userId, session, userContent } }) => {
        seen.push([appName, userId, session.id, session.events.map(textOf), userContent?.role]);
        return undefined;
      },
    }),
  ]);
  await run();
  expect(seen).toEqual([['app', 'u', 's', ['hi'], 'user']]);
});

// Events.

test('onEventCallback changes an event before it is stored; id, invocation and time stay', async () => {
  const { run, texts, sessionService } = await setUp([
    new Plugin('first', {
      onEventCallback: ({ event }) => ({
        ...event,
        id: 'forged',
        invocationId: 'forged',
        timestamp: 1,
        content: { role: 'model', parts: [{ text: `${textOf(event)}?` }] },
      }),
    }),
    new Plugin('second', { onEventCallback: () => expect.unreachable() }),
  ]);
  const [event] = await run();
  expect(textOf(event as Event)).toBe('heard hi?');
  expect(event?.id).not.toBe('forged');
  expect(event?.invocationId).toMatch(/^e-/);
  expect(event?.timestamp).toBeGreaterThan(1);
  expect(await texts()).toEqual(['hi', 'heard hi?']);
  expect((await sessionService.getSession(KEY))?.events[1]).toEqual(event);
});

test('onEventCallback gets chunks too, and its replacement is yielded', async () => {
  const { run, texts } = await setUp(
    [
      new Plugin('loud', {
        onEventCallback: ({ event }) => ({
          ...event,
          content: { parts: [{ text: `${textOf(event)}`.toUpperCase() }] },
        }),
      }),
    ],
    async function* () {
      yield modelEvent('bot', 'he', { partial: true });
      yield modelEvent('bot', 'hello');
    },
  );
  expect((await run()).map(textOf)).toEqual(['HE', 'HELLO']);
  expect(await texts()).toEqual(['hi', 'HELLO']);
});

test('state that a plugin adds to an event is stored with it', async () => {
  const { run, sessionService } = await setUp([
    new Plugin('counting', {
      onEventCallback: ({ event }) => ({ ...event, actions: { ...event.actions, stateDelta: { seen: 1 } } }),
    }),
  ]);
  await run();
  expect((await sessionService.getSession(KEY))?.state).toEqual({ seen: 1 });
});

test('a plugin may end the invocation', async () => {
  const { run } = await setUp(
    [
      new Plugin('ending', {
        onEventCallback: ({ invocationContext }): undefined => {
          invocationContext.endInvocation = true;
        },
      }),
    ],
    async function* () {
      yield modelEvent('bot', 'one');
      expect.unreachable();
    },
  );
  expect((await run()).map(textOf)).toEqual(['one']);
});

test('two plugins with one name throw a ConfigurationError', async () => {
  await expect(setUp([new Plugin('same', {}), new Plugin('same', {})])).rejects.toBeInstanceOf(ConfigurationError);
});
