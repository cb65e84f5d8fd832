import type { LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { LlmRequest } from '@eventloom/core';
import { CONTEXT_CACHE_DEFAULTS } from '@eventloom/core/internal';

/** Longest lifetime, in seconds, of Anthropic's ordinary cache entries. Each use prolongs it. */
const SHORT_TTL_SECONDS = 300;

/**
 * Returns the marker that a vendor requires at the end of a cached prefix; undefined for vendors that cache automatically or not at all.
 */
export function breakpointOf(
  provider: string,
): ((ttlSeconds: number | undefined) => SharedV4ProviderOptions) | undefined {
  if (provider.includes('anthropic')) {
    return (ttlSeconds = SHORT_TTL_SECONDS) => ({
      anthropic: {
        cacheControl: ttlSeconds > SHORT_TTL_SECONDS ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' },
      },
    });
  }
  return provider.includes('bedrock') ? () => ({ bedrock: { cachePoint: { type: 'default' } } }) : undefined;
}

/**
 * Marks the ends of the prompt prefixes that the vendor should cache, if the request has a `cacheConfig` and its last prompt was large
 * enough: the system instruction (with the tools before it), the end of the previous request, and the end of this one, which the next
 * request reads. Services accept four marks.
 */
export function withBreakpoints(
  prompt: LanguageModelV4Prompt,
  { cacheConfig, cacheableContentsTokenCount = 0 }: LlmRequest,
  breakpoint: ((ttlSeconds: number | undefined) => SharedV4ProviderOptions) | undefined,
): LanguageModelV4Prompt {
  if (!cacheConfig || !breakpoint) return prompt;
  const { minTokens = CONTEXT_CACHE_DEFAULTS.minTokens, ttlSeconds } = cacheConfig;
  if (cacheableContentsTokenCount < minTokens) return prompt;
  const last = prompt.length - 1;
  const previous = prompt.findLastIndex(
    ({ role }, index) => index < last && prompt[index + 1]?.role === 'assistant' && role !== 'assistant',
  );
  const marked = new Set([prompt[0]?.role === 'system' ? 0 : last, previous, last]);
  return prompt.map((message, index) =>
    marked.has(index)
      ? { ...message, providerOptions: { ...message.providerOptions, ...breakpoint(ttlSeconds) } }
      : message,
  );
}
