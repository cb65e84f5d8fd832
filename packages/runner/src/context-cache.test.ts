import { BasePlugin, type CacheMetadata, type ContextCacheConfig } from '@eventloom/core';
import { type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

/** A model that records the cache fields of its requests. */
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

async function setUp(contextCacheConfig: ContextCacheConfig | undefined, model: readonly ScriptedStep[]) {
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const plugin = new Watcher();
  const agent = { tools: [look] };
  return { ...(await scenario({ model, agent, plugins: [plugin], contextCacheConfig })), seen: plugin.seen };
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

test('the request has the cache metadata of the last reply with its number of invocations', async () => {
  const bare = { fingerprint: 'f', contentsCount: 1 };
  const { run, restart, seen } = await setUp({ minTokens: 5 }, [
    said(bare, 10),
    said(LIVE, 20, { calls: [{ id: 'c', name: 'look', args: {} }] }),
    said(LIVE, 30),
    'yes',
  ]);
  await run();
  await run();
  await restart().run();
  const config = { minTokens: 5 };
  expect(seen).toEqual([
    [config, undefined, undefined],
    [config, bare, 10],
    [config, LIVE, 20],
    [config, { ...LIVE, invocationsUsed: 2 }, 30],
  ]);
});

test('without contextCacheConfig requests have no cache fields', async () => {
  const { run, restart, seen } = await setUp(undefined, [said(LIVE, 10), 'yes']);
  await run();
  await restart().run();
  expect(seen).toEqual([
    [undefined, undefined, undefined],
    [undefined, undefined, undefined],
  ]);
});

test.each([{ cacheIntervals: 0 }, { cacheIntervals: 101 }, { ttlSeconds: 0 }, { minTokens: -1 }, { ttl: 5 }])(
  'an invalid cache config is refused: %j',
  async (config) => {
    await expect(setUp(config, [])).rejects.toThrow(/contextCacheConfig/);
  },
);
