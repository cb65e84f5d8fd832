import { type CacheMetadata, type InvocationContext, isCacheMetadata, isVisibleOn } from '@eventloom/core';
import type { RequestProcessor } from './request-processor.ts';

/** What the agent's last replies say of caching, found in the first events of the session, `count` of them. */
interface CacheInfo {
  readonly count: number;
  readonly metadata: CacheMetadata | undefined;
  readonly invocationId: string;
  readonly promptTokens: number | undefined;
}

/** Adds the runner's `contextCacheConfig` and the newest `cacheMetadata` of the agent's replies. Models without a service cache ignore them. */
export const addContextCache: RequestProcessor = (request, { context }) => {
  const { contextCacheConfig } = context.invocation;
  if (!contextCacheConfig) return;
  const { metadata, promptTokens, invocationId } = cacheInfo(context);
  request.cacheConfig = contextCacheConfig;
  if (promptTokens !== undefined) request.cacheableContentsTokenCount = promptTokens;
  if (!metadata) return;
  const isUsedAgain = metadata.invocationsUsed !== undefined && invocationId !== context.invocationId;
  request.cacheMetadata = isUsedAgain ? { ...metadata, invocationsUsed: metadata.invocationsUsed + 1 } : metadata;
};

/** Looks at the events that came since the last request. What was rewound does no harm: fingerprints tell. */
function cacheInfo({ agent, branch, session: { events }, invocation: { derived } }: InvocationContext): CacheInfo {
  const key = `context cache:${agent.name}@${branch ?? ''}`;
  // The key is this file's own.
  const known = derived.get(key) as CacheInfo | undefined;
  let { metadata, invocationId = '', promptTokens }: Partial<CacheInfo> = known ?? {};
  for (const event of events.slice(known?.count ?? 0)) {
    if (event.author !== agent.name || !isVisibleOn(event.branch, branch)) continue;
    if (isCacheMetadata(event.cacheMetadata)) {
      metadata = event.cacheMetadata;
      invocationId = event.invocationId;
    }
    promptTokens = event.usageMetadata?.promptTokenCount ?? promptTokens;
  }
  const info = { count: events.length, metadata, invocationId, promptTokens };
  derived.set(key, info);
  return info;
}
