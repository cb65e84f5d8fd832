import { describe, expect, test, vi } from 'vitest';
import type { Content } from '../content/content.ts';
import { AbortGuard } from '../context/abort-guard.ts';
import { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors/configuration-error.ts';
import { createEvent } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { systemPlatform } from '../platform/platform.ts';
import { BasePlugin } from '../plugin/base-plugin.ts';
import { PluginManager } from '../plugin/plugin-manager.ts';
import { BaseAgent, type BaseAgentConfig } from './base-agent.ts';
import { isBaseAgent } from './is-base-agent.ts';

function say(text: string): Content {
  return { role: 'model', parts: [{ text }] };
}

/** An agent that says `work`, or does what it is told instead. */
class Worker extends BaseAgent {
  readonly #work: (context: InvocationContext) => AsyncGenerator<Event, void, void>;

  constructor(
    config: Partial<BaseAgentConfig> = {},
    work: (context: InvocationContext) => AsyncGenerator<Event, void, void> = sayWork,
  ) {
    super({ name: 'worker', ...config });
    this.#work = work;
  }

  protected runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#work(context);
  }
}

async function* sayWork(context: InvocationContext): AsyncGenerator<Event, void, void> {
  yield context.createEvent({ content: say('work') });
}

// eslint-disable-next-line require-yield -- what fails has nothing to say
async function* fail(): AsyncGenerator<Event, void, void> {
  throw new TypeError('broken');
}

function contextOf(plugins: BasePlugin[] = [], abort = new AbortGuard()): InvocationContext {
  return InvocationContext.create({
    invocationId: 'e-1',
    rootAgent: new Worker({ name: 'root' }, sayWork),
    session: {
      id: 's',
      appName: 'app',
      userId: 'u',
      state: {},
      events: [],
      lastUpdateTime: 0,
      lastSeq: 0,
      incarnation: 'i',
    },
    runConfig: {},
    userContent: undefined,
    abort,
    platform: systemPlatform,
    plugins: new PluginManager(plugins),
    artifactService: undefined,
    memoryService: undefined,
    models: undefined,
    derived: new Map(),
    recordToolCall: () => Promise.resolve(),
  });
}

async function run(agent: BaseAgent, context = contextOf()): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of agent.runAsync(context)) events.push(event);
  return events;
}

/** What was said, event by event; an event without text by its state. */
async function said(agent: BaseAgent, context = contextOf()): Promise<(string | object)[]> {
  const events = await run(agent, context);
  return events.map((event) => event.content?.parts?.[0]?.text ?? event.actions.stateDelta);
}

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

describe('before callbacks', () => {
  test('run in order, and the first content is said instead of the agent', async () => {
    const asked: string[] = [];
    const agent = new Worker({
      beforeAgentCallback: [
        () => void asked.push('first'),
        async () => {
          asked.push('second');
          return Promise.resolve(say('instead'));
        },
        () => void asked.push('third'),
      ],
      afterAgentCallback: () => say('after'),
    });
    expect(await said(agent)).toEqual(['instead']);
    expect(asked).toEqual(['first', 'second']);
  });

  test('that only write state say so in an event of their own, and the agent runs', async () => {
    const agent = new Worker({ beforeAgentCallback: (context) => context.state.set('a', 1) });
    expect(await said(agent)).toEqual([{ a: 1 }, 'work']);
  });

  test('that say and write do both in one event', async () => {
    const agent = new Worker({
      beforeAgentCallback: (context) => {
        context.state.set('a', 1);
        return { parts: [{ text: 'instead' }] };
      },
    });
    const [event, ...more] = await run(agent);
    expect(event).toMatchObject({ content: say('instead'), actions: { stateDelta: { a: 1 } } });
    expect(more).toEqual([]);
  });

  test('that throw fail the run, and the error callback is not asked', async () => {
    const agent = new Worker({
      beforeAgentCallback: () => {
        throw new TypeError('broken');
      },
      onAgentErrorCallback: () => say('recovered'),
    });
    await expect(run(agent)).rejects.toThrow(TypeError);
  });
});

describe('after callbacks', () => {
  test('add to what the agent said', async () => {
    const agent = new Worker({ afterAgentCallback: [() => undefined, () => say('after'), () => say('never')] });
    expect(await said(agent)).toEqual(['work', 'after']);
  });

  test('see what the agent wrote, and their own writing goes out', async () => {
    const agent = new Worker(
      { afterAgentCallback: ({ state }) => state.set('sum', (state.get<number>('n') ?? 0) + 1) },
      async function* (context) {
        Reflect.set(context.session.state, 'n', 2);
        yield context.createEvent({ content: say('work') });
      },
    );
    expect(await said(agent)).toEqual(['work', { sum: 3 }]);
  });
});

describe('error callbacks', () => {
  test('get the error, and what they say stands for the agent', async () => {
    const errors: unknown[] = [];
    const agent = new Worker(
      {
        onAgentErrorCallback: [({ error }) => void errors.push(error), () => say('recovered')],
        afterAgentCallback: () => say('after'),
      },
      fail,
    );
    expect(await said(agent)).toEqual(['recovered']);
    expect(errors).toEqual([new TypeError('broken')]);
  });

  test('that say nothing leave the error as it was', async () => {
    const agent = new Worker({ onAgentErrorCallback: () => undefined }, fail);
    await expect(run(agent)).rejects.toThrow(new TypeError('broken'));
  });

  test('keep what the agent said before it failed', async () => {
    const agent = new Worker({ onAgentErrorCallback: () => say('recovered') }, async function* (context) {
      yield context.createEvent({ content: say('half') });
      throw new TypeError('broken');
    });
    expect(await said(agent)).toEqual(['half', 'recovered']);
  });

  test('do not turn an abort into an answer', async () => {
    const agent = new Worker({ onAgentErrorCallback: () => say('recovered') }, fail);
    const abort = new AbortGuard();
    abort.abort(undefined);
    await expect(run(agent, contextOf([], abort))).rejects.toThrow(TypeError);
  });
});

describe('plugins', () => {
  class Guard extends BasePlugin {
    override beforeAgentCallback({ agent }: { agent: BaseAgent }): Content {
      return say(`no ${agent.name}`);
    }
  }

  class Rescue extends BasePlugin {
    override onAgentErrorCallback(): Content {
      return say('rescued');
    }
    override afterAgentCallback(): Content {
      return say('plugin after');
    }
  }

  test("are asked before the agent's own callbacks", async () => {
    const own = { beforeAgentCallback: () => say('own'), onAgentErrorCallback: () => say('own') };
    expect(await said(new Worker(own), contextOf([new Guard('guard')]))).toEqual(['no worker']);
    expect(
      await said(new Worker({ onAgentErrorCallback: () => say('own') }, fail), contextOf([new Rescue('rescue')])),
    ).toEqual(['rescued']);
    expect(await said(new Worker({ afterAgentCallback: () => say('own') }), contextOf([new Rescue('rescue')]))).toEqual(
      ['work', 'plugin after'],
    );
  });

  test('that have one hook alone run for an agent without callbacks', async () => {
    class After extends BasePlugin {
      override afterAgentCallback(): Content {
        return say('plugin after');
      }
    }
    class OnError extends BasePlugin {
      override onAgentErrorCallback(): Content {
        return say('rescued');
      }
    }
    expect(await said(new Worker(), contextOf([new After('after')]))).toEqual(['work', 'plugin after']);
    expect(await said(new Worker({}, fail), contextOf([new OnError('on error')]))).toEqual(['rescued']);
  });

  test('run for an agent without callbacks', async () => {
    expect(await said(new Worker(), contextOf([new Guard('guard')]))).toEqual(['no worker']);
  });
});

describe('endInvocation', () => {
  test('in a before callback: its event still goes out, the agent does not run', async () => {
    const agent = new Worker({
      beforeAgentCallback: (context) => {
        context.state.set('a', 1);
        context.invocationContext.endInvocation();
      },
    });
    expect(await said(agent)).toEqual([{ a: 1 }]);
  });

  test('in the agent: no after callback', async () => {
    const agent = new Worker({ afterAgentCallback: () => say('after') }, async function* (context) {
      context.endInvocation();
      yield context.createEvent({ content: say('last') });
    });
    expect(await said(agent)).toEqual(['last']);
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
