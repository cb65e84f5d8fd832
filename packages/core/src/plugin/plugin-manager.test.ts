import { describe, expect, test } from 'vitest';
import type { Content } from '../content/content.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import { BasePlugin } from './base-plugin.ts';
import { PluginManager } from './plugin-manager.ts';

// The plugins of these tests do not read the context.
const params = { invocationContext: {} as InvocationContext, userMessage: { parts: [{ text: 'hi' }] } };

function say(text: string): Content {
  return { role: 'model', parts: [{ text }] };
}

/** A plugin that records its calls, and returns the given values. */
class Asked extends BasePlugin {
  readonly log: string[];
  readonly answer: () => Content | undefined;

  constructor(name: string, log: string[], answer: () => Content | undefined = () => undefined) {
    super(name);
    this.log = log;
    this.answer = answer;
  }

  override onUserMessageCallback(): Content | undefined {
    this.log.push(this.name);
    return this.answer();
  }

  override async afterRunCallback(): Promise<void> {
    await Promise.resolve();
    this.log.push(`${this.name} after`);
  }
}

class Silent extends BasePlugin {}

describe('first', () => {
  test('calls plugins in registration order until one returns a value', async () => {
    const log: string[] = [];
    const manager = new PluginManager([
      new Asked('a', log),
      new Asked('b', log, () => say('from b')),
      new Asked('c', log, () => say('from c')),
    ]);
    expect(await manager.first('onUserMessageCallback', params)).toEqual(say('from b'));
    expect(log).toEqual(['a', 'b']);
  });

  test('treats null as no value', async () => {
    const log: string[] = [];
    const nothing = new Asked('a', log, () => JSON.parse('null') as undefined);
    const manager = new PluginManager([nothing, new Asked('b', log, () => say('from b'))]);
    expect(await manager.first('onUserMessageCallback', params)).toEqual(say('from b'));
  });

  test('returns undefined if no plugin returns a value or overrides the hook', async () => {
    const manager = new PluginManager([new Asked('a', []), new Silent('b')]);
    expect(await manager.first('onUserMessageCallback', params)).toBeUndefined();
    expect(await manager.first('beforeRunCallback', params)).toBeUndefined();
    expect(await new PluginManager().first('beforeRunCallback', params)).toBeUndefined();
  });

  test('rejects with the error of a plugin and calls no later plugin', async () => {
    const log: string[] = [];
    const failure = new TypeError('broken');
    const broken = new Asked('a', log, () => {
      throw failure;
    });
    const manager = new PluginManager([broken, new Asked('b', log)]);
    await expect(manager.first('onUserMessageCallback', params)).rejects.toBe(failure);
    expect(log).toEqual(['a']);
  });
});

describe('all', () => {
  test('calls every plugin that overrides the hook, one after the other', async () => {
    const log: string[] = [];
    const manager = new PluginManager([new Asked('a', log), new Silent('b'), new Asked('c', log, () => say('c'))]);
    await manager.all('afterRunCallback', params);
    await manager.all('onUserMessageCallback', params);
    expect(log).toEqual(['a after', 'c after', 'a', 'c']);
    await new PluginManager([new Asked('alone', log)]).all('onUserMessageCallback', params);
    expect(log.at(-1)).toBe('alone');
    await new PluginManager().all('onUserMessageCallback', params);
  });
});

describe('has', () => {
  test('is true only for hooks that some plugin overrides', () => {
    const manager = new PluginManager([new Silent('a'), new Asked('b', [])]);
    expect(manager.has('onUserMessageCallback')).toBe(true);
    expect(manager.has('afterRunCallback')).toBe(true);
    expect(manager.has('beforeModelCallback')).toBe(false);
    expect(new PluginManager().has('onUserMessageCallback')).toBe(false);
  });

  test('is true for a hook that is set on the object', () => {
    const plugin = Object.assign(new Silent('a'), { beforeToolCallback: () => ({ result: 1 }) });
    expect(new PluginManager([plugin]).has('beforeToolCallback')).toBe(true);
  });
});

test('a plugin that overrides no hook is never called', async () => {
  const asked: PropertyKey[] = [];
  const silent = new Silent('a');
  const manager = new PluginManager([silent]);
  expect(manager.has('onEventCallback')).toBe(false);
  // From now on a read of the hook is recorded.
  Object.defineProperty(silent, 'onEventCallback', { get: () => asked.push('onEventCallback') });
  await manager.first('onEventCallback', { ...params, event: {} as never });
  expect(asked).toEqual([]);
});

test('the manager throws ConfigurationError if two plugins have the same name', () => {
  expect(() => new PluginManager([new Silent('a'), new Silent('a')])).toThrow(ConfigurationError);
});

test('the manager copies the list of plugins', () => {
  const plugins = [new Silent('a')];
  const manager = new PluginManager(plugins);
  plugins.push(new Asked('b', []));
  expect(manager.plugins).toHaveLength(1);
  expect(manager.has('onUserMessageCallback')).toBe(false);
});

test('a plugin with a method that is one character off a callback is refused', () => {
  class Misspelt extends BasePlugin {
    beforeToolCalback(): void {}
  }
  expect(() => new Misspelt('log')).toThrow(ConfigurationError);
  expect(() => new Misspelt('log')).toThrow(
    'Misspelt: no callback of plugins has the name beforeToolCalback; did you mean beforeToolCallback?',
  );
});

test('a plugin may have other methods, and one like a callback beside that callback', () => {
  class Both extends BasePlugin {
    override afterToolCallback(): void {
      this.afterToolCallbacks();
    }

    afterToolCallbacks(): void {}

    closed(): void {}
  }
  expect(new Both('log').name).toBe('log');
});
