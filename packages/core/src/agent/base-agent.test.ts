import { describe, expect, test, vi } from 'vitest';
import { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import { createEvent } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { BaseAgent } from './base-agent.ts';
import { isBaseAgent } from './is-base-agent.ts';
import { contextOf, fail, run, said, say, Worker } from './fixtures/worker-agent.ts';

describe('the name', () => {
  test.each(['a', '_a', '$a', 'a1', 'агент', '助手', 'User', '__proto__'])('may be %s', (name) => {
    expect(new Worker({ name }).name).toBe(name);
  });

  test.each(['', '1a', 'a-b', 'a b', 'a.b', 'a\n', 'user', undefined, null, 5])('may not be %j', (name) => {
    expect(() => new Worker({ name: name as string })).toThrow(ConfigurationError);
  });
});

test('the description is what was given, or empty', () => {
  expect(new Worker({ description: 'works' }).description).toBe('works');
  expect(new Worker().description).toBe('');
});

test('an agent without callbacks yields its own events, authored by it', async () => {
  const [event, ...more] = await run(new Worker());
  expect(event).toMatchObject({ author: 'worker', invocationId: 'e-1', executionId: 'e-1', content: say('work') });
  expect(more).toEqual([]);
});

describe('the events of an agent that another one runs', () => {
  const lead = new Worker({ name: 'lead' });

  async function completed(...events: Event[]): Promise<Event[]> {
    const agent = new Worker({}, async function* () {
      yield* events;
    });
    return run(agent, contextOf().forAgent(lead, { branch: 'par.lead' }));
  }

  test('get what they lack: whose they are', async () => {
    const [event] = await completed(createEvent({ content: say('bare') }));
    expect(event).toMatchObject({
      author: 'worker',
      branch: 'par.lead',
      parentExecutionId: 'e-1',
      invocationId: 'e-1',
    });
    expect(event?.executionId).not.toBe('e-1');
    expect(event?.id).not.toBe('');
    expect(event?.timestamp).toBeGreaterThan(0);
  });

  test('keep what they say', async () => {
    const said = { id: 'mine', author: 'node', timestamp: 5, content: say('more') };
    expect((await completed(createEvent(said)))[0]).toMatchObject(said);
    const whole = createEvent({ executionId: 'e-9' });
    expect((await completed(whole))[0]).toBe(whole);
  });

  test('are left to the runner when they are none', async () => {
    expect(await completed(null as unknown as Event, 5 as unknown as Event)).toEqual([null, 5]);
  });

  test('are handed on as they are by an agent that says that it makes them whole', async () => {
    class Whole extends Worker {
      protected override get makesCompleteEvents(): boolean {
        return true;
      }
    }
    const bare = createEvent();
    const agent = new Whole({}, async function* () {
      yield bare;
    });
    expect((await run(agent, contextOf().forAgent(lead)))[0]).toBe(bare);
  });
});

test('a caller who stops listening ends the agent', async () => {
  const log: string[] = [];
  async function* work(context: InvocationContext): AsyncGenerator<Event, void, void> {
    try {
      yield context.createEvent({ content: say('first') });
      yield context.createEvent({ content: say('second') });
    } finally {
      log.push('ended');
    }
  }
  for (const config of [{}, { afterAgentCallback: () => void log.push('after') }]) {
    for await (const _event of new Worker(config, work).runAsync(contextOf())) break;
  }
  expect(log).toEqual(['ended', 'ended']);
});

test('one agent serves several runs at once', async () => {
  const agent = new Worker({ beforeAgentCallback: (context) => context.state.set('a', 1) });
  const runs = await Promise.all([said(agent), said(agent), said(agent)]);
  expect(runs).toEqual(Array.from({ length: 3 }, () => [{ a: 1 }, 'work']));
});

test('isBaseAgent knows the agents of another loaded copy of this package, and nothing else', async () => {
  vi.resetModules();
  const copy = await import('./base-agent.ts');
  const { isBaseAgent: copiedIsBaseAgent } = await import('./is-base-agent.ts');
  expect(copy.BaseAgent).not.toBe(BaseAgent);
  class Foreign extends copy.BaseAgent {
    protected runAsyncImpl(): AsyncGenerator<Event, void, void> {
      return fail();
    }
  }
  for (const agent of [new Worker(), new Foreign({ name: 'worker' })]) {
    expect(isBaseAgent(agent)).toBe(true);
    expect(copiedIsBaseAgent(agent)).toBe(true);
  }
  for (const value of [undefined, null, 'worker', Worker, { name: 'worker' }]) expect(isBaseAgent(value)).toBe(false);
});
