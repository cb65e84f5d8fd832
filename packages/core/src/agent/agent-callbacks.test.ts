import { describe, expect, test } from 'vitest';
import type { Content } from '../content/content.ts';
import { AbortGuard } from '../context/abort-guard.ts';
import { BasePlugin } from '../plugin/base-plugin.ts';
import { BaseAgent } from './base-agent.ts';
import { contextOf, fail, run, said, say, Worker } from './fixtures/worker-agent.ts';

describe('before callbacks', () => {
  test('run in order, and the first returned content replaces the answer of the agent', async () => {
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

  test('that only write state yield their own event, and the agent runs', async () => {
    const agent = new Worker({ beforeAgentCallback: (context) => context.state.set('a', 1) });
    expect(await said(agent)).toEqual([{ a: 1 }, 'work']);
  });

  test('that return content and write state yield one event', async () => {
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

  test('that throw fail the run without a call of the error callback', async () => {
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
  test('add an event after those of the agent', async () => {
    const agent = new Worker({ afterAgentCallback: [() => undefined, () => say('after'), () => say('never')] });
    expect(await said(agent)).toEqual(['work', 'after']);
  });

  test('see state that the agent wrote, and can write state', async () => {
    const agent = new Worker(
      { afterAgentCallback: ({ state }) => state.set('sum', (state.get<number>('n') ?? 0) + 1) },
      async function* (context) {
        Reflect.set(context.invocation.session.state, 'n', 2);
        yield context.createEvent({ content: say('work') });
      },
    );
    expect(await said(agent)).toEqual(['work', { sum: 3 }]);
  });
});

describe('error callbacks', () => {
  test('get the error, and returned content is the answer of the agent', async () => {
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

  test('that return undefined do not handle the error', async () => {
    const agent = new Worker({ onAgentErrorCallback: () => undefined }, fail);
    await expect(run(agent)).rejects.toThrow(new TypeError('broken'));
  });

  test('keep events from before the failure', async () => {
    const agent = new Worker({ onAgentErrorCallback: () => say('recovered') }, async function* (context) {
      yield context.createEvent({ content: say('half') });
      throw new TypeError('broken');
    });
    expect(await said(agent)).toEqual(['half', 'recovered']);
  });

  test('are not called for an abort', async () => {
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

  test("are called before the agent's own callbacks", async () => {
    const own = { beforeAgentCallback: () => say('own'), onAgentErrorCallback: () => say('own') };
    expect(await said(new Worker(own), contextOf([new Guard('guard')]))).toEqual(['no worker']);
    expect(
      await said(new Worker({ onAgentErrorCallback: () => say('own') }, fail), contextOf([new Rescue('rescue')])),
    ).toEqual(['rescued']);
    expect(await said(new Worker({ afterAgentCallback: () => say('own') }), contextOf([new Rescue('rescue')]))).toEqual(
      ['work', 'plugin after'],
    );
  });

  test('that override a single hook run for an agent without callbacks', async () => {
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
  test("in a before callback yields the callback's event and skips the agent", async () => {
    const agent = new Worker({
      beforeAgentCallback: (context) => {
        context.state.set('a', 1);
        context.invocationContext.endInvocation = true;
      },
    });
    expect(await said(agent)).toEqual([{ a: 1 }]);
  });

  test('in the agent skips the after callbacks', async () => {
    const agent = new Worker({ afterAgentCallback: () => say('after') }, async function* (context) {
      context.endInvocation = true;
      yield context.createEvent({ content: say('last') });
    });
    expect(await said(agent)).toEqual(['last']);
  });
});

test.each(['beforeAgentCallback', 'onAgentErrorCallback', 'afterAgentCallback'] as const)(
  '%s fails the run when it returns a string, and the error says what to write',
  async (callback) => {
    const config = { name: 'a', [callback]: () => 'hello' as never };
    const agent = callback === 'onAgentErrorCallback' ? new Worker(config, fail) : new Worker(config);
    await expect(run(agent)).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: `agent "a": ${callback}: expected a content or nothing as the result, got a string; write return { role: 'model', parts: [{ text: 'hello' }] }`,
    });
  },
);

describe('a callback', () => {
  test.each(['beforeAgentCallback', 'afterAgentCallback', 'onAgentErrorCallback'] as const)(
    'that needs two parameters is refused as %s',
    (option) => {
      const callback = (_context: object, _request: object): undefined => undefined;
      const config: object = { [option]: [() => undefined, callback] };
      expect(() => new Worker(config)).toThrow(
        `${option}: expected a function of one parameter, got a function of 2; write ${option}: (`,
      );
    },
  );

  test('that is not a function is refused in a list', () => {
    const config: object = { beforeAgentCallback: ['stop'] };
    expect(() => new Worker(config)).toThrow('beforeAgentCallback: expected a function of one parameter, got a string');
  });
});

test('the lists of an agent cannot be changed, because agents share the empty one', () => {
  for (const agent of [new Worker(), new Worker({ beforeAgentCallback: () => undefined })]) {
    const lists: readonly object[] = [agent.subAgents, agent.beforeAgentCallback, agent.afterAgentCallback];
    expect(lists.every((list) => Object.isFrozen(list))).toBe(true);
  }
});

test('an agent whose runAsyncImpl returns no generator fails with an error that says what to write', async () => {
  class Hasty extends Worker {
    // From JavaScript.
    protected override runAsyncImpl(): never {
      return Promise.resolve('done') as never;
    }
  }
  await expect(said(new Hasty())).rejects.toThrow(
    'runAsyncImpl: expected an async generator, got a promise; write async *runAsyncImpl(context) { yield … }',
  );
});
