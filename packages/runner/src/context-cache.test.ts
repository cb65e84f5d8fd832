import { BasePlugin, type CacheMetadata, type ContextCacheConfig } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, type ScriptedStep, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const IDS = { userId: 'u', sessionId: 's' };

/** Notes what requests say of caching. */
class Watcher extends BasePlugin {
  readonly seen: unknown[] = [];

  constructor() {
    super('watcher');
  }

  override async beforeModelCallback({ llmRequest }: Parameters<BasePlugin['beforeModelCallback']>[0]) {
    const { cacheConfig, cacheMetadata, cacheableContentsTokenCount } = llmRequest;
    this.seen.push([cacheConfig, cacheMetadata, cacheableContentsTokenCount]);
    return undefined;
  }
}

async function setUp(contextCacheConfig: ContextCacheConfig | undefined, steps: readonly ScriptedStep[]) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ appName: 'app', ...IDS });
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel(steps), tools: [look] });
  const plugin = new Watcher();
  const make = () =>
    new Runner({ appName: 'app', agent, sessionService, platform, plugins: [plugin], contextCacheConfig });
  const run = (runner: Runner) => runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  return { make, run, seen: plugin.seen };
}

const LIVE: CacheMetadata = {
  fingerprint: 'f',
  contentsCount: 2,
  cacheName: 'cachedContents/c',
  expireTime: 9,
  invocationsUsed: 1,
};
const said = (cacheMetadata: CacheMetadata, promptTokenCount: number, more: object = {}): ScriptedStep => ({
  text: 'yes',
  ...more,
  response: { cacheMetadata, usageMetadata: { promptTokenCount } },
});

test('a model is told what its last reply said of its cache, which counts the invocations that use it', async () => {
  const bare = { fingerprint: 'f', contentsCount: 1 };
  const { make, run, seen } = await setUp({ minTokens: 5 }, [
    said(bare, 10),
    said(LIVE, 20, { calls: [{ id: 'c', name: 'look', args: {} }] }),
    said(LIVE, 30),
    'yes',
  ]);
  const runner = make();
  await run(runner);
  await run(runner);
  await run(make());
  const config = { minTokens: 5 };
  expect(seen).toEqual([
    [config, undefined, undefined],
    [config, bare, 10],
    [config, LIVE, 20],
    [config, { ...LIVE, invocationsUsed: 2 }, 30],
  ]);
});

test('without a config nothing is said of caches', async () => {
  const { make, run, seen } = await setUp(undefined, [said(LIVE, 10), 'yes']);
  await run(make());
  await run(make());
  expect(seen).toEqual([
    [undefined, undefined, undefined],
    [undefined, undefined, undefined],
  ]);
});

test.each([{ cacheIntervals: 0 }, { cacheIntervals: 101 }, { ttlSeconds: 0 }, { minTokens: -1 }, { ttl: 5 }])(
  'what cannot work is refused: %j',
  async (config) => {
    const { make } = await setUp(config, []);
    expect(make).toThrow(/contextCacheConfig/);
  },
);
