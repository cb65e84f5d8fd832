import { AgentError, BasePlugin, type InvocationContext } from '@eventloom/core';
import { modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Recording, throwing } from './fixtures/failing-agents.ts';
import { expectFree, runToError, saying, scenario } from './fixtures/scenario.ts';

test('every plugin is notified of the error after its event, and afterRunCallback is skipped', async () => {
  const plugins = [new Recording('one'), new Recording('two')];
  const { runner } = await scenario({ agent: throwing, plugins });
  const stream = runner.runAsync(saying('hi'));
  await stream.next();
  expect(plugins[0]?.log).toEqual([]);
  const thrown: unknown = await stream.next().catch((error: unknown) => error);
  expect(plugins.map((plugin) => plugin.log)).toEqual([[thrown], [thrown]]);
});

test('a plugin that throws in its notification has no effect on the run', async () => {
  class Failing extends BasePlugin {
    override onRunErrorCallback(): never {
      throw new RangeError('plugin');
    }
  }
  const last = new Recording('last');
  const { runner, platform, start } = await scenario({ agent: throwing, plugins: [new Failing('failing'), last] });
  const { events, error } = await runToError(start('hi', { runConfig: { completionEvent: true } }));
  expect(error).toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: broken' });
  expect(events.map((event) => event.object)).toEqual(['error', 'runner.completion']);
  expect(last.log).toEqual([error]);
  await expect(platform.drain()).rejects.toThrow('plugin');
  await expectFree(runner);
});

test('a plugin whose notification does not settle holds the session for five seconds, and is reported', async () => {
  const called = Promise.withResolvers<void>();
  class Hanging extends BasePlugin {
    override onRunErrorCallback(): Promise<never> {
      called.resolve();
      return new Promise(() => undefined);
    }
  }
  const last = new Recording('last');
  const { runner, platform, start } = await scenario({ agent: throwing, plugins: [new Hanging('hanging'), last] });
  const running = runToError(start('hi'));
  await called.promise;
  expect(last.log).toEqual([]);
  platform.advance(5000);
  const { error } = await running;
  expect(error).toMatchObject({ code: 'AGENT' });
  expect(last.log).toEqual([error]);
  await expect(platform.drain()).rejects.toThrow('plugin "hanging": onRunErrorCallback took longer than 5 s');
  await expectFree(runner);
});

test("an error of a plugin's callback fails the run like the agent's", async () => {
  let signal: AbortSignal | undefined;
  class Failing extends BasePlugin {
    override afterRunCallback({ invocationContext }: { invocationContext: InvocationContext }): never {
      signal = invocationContext.abortSignal;
      throw new RangeError('after');
    }
  }
  const plugin = new Failing('failing');
  const { start } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
    plugins: [plugin],
  });
  const { events, error } = await runToError(start());
  expect(error).toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: after' });
  expect(events.map((event) => event.errorMessage)).toEqual([
    undefined,
    'agent "bot" failed; the reason was reported to the program that runs it',
  ]);
  expect(signal?.aborted).toBe(true);
});

test("a plugin that refuses every event does not hide the run's error", async () => {
  class Refusing extends BasePlugin {
    override onEventCallback(): never {
      throw new RangeError('refused');
    }
  }
  const plugins = [new Refusing('refusing')];
  const { runner, start } = await scenario({ agent: throwing, plugins });
  const { events, error } = await runToError(start('hi', { runConfig: { completionEvent: true } }));
  expect(error).toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: broken' });
  expect(events.map((event) => event.object)).toEqual(['error', 'runner.completion']);
  await expectFree(runner);
});

test('a plugin that refuses an event asynchronously fails the run, and the abort of the run is not reported as another error', async () => {
  class Refusing extends BasePlugin {
    override async onEventCallback(): Promise<never> {
      throw new RangeError('refused');
    }
  }
  const { runner, platform, start } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
    plugins: [new Refusing('refusing')],
  });
  const { events, error } = await runToError(start());
  expect(error).toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: refused' });
  expect(events).toMatchObject([{ errorCode: 'AGENT' }]);
  await platform.drain();
  await expectFree(runner);
});

test('an error of a plugin in onUserMessageCallback is typed, and nothing is written', async () => {
  class Refusing extends BasePlugin {
    override onUserMessageCallback(): never {
      throw new RangeError('refused');
    }
  }
  const { runner, stored, start } = await scenario({ agent: throwing, plugins: [new Refusing('refusing')] });
  const { events, error } = await runToError(start());
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'the run failed: refused' });
  expect(events).toEqual([]);
  expect(await stored()).toEqual([]);
  await expectFree(runner);
});
