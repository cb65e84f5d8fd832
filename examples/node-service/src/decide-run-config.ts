import type { RunConfigHook } from '@eventloom/server';

/** Decides the config of a user's runs. Guests get short runs; a client with a push-to-talk button marks the turns itself. */
export const decideRunConfig: RunConfigHook = (request, user) => {
  const { searchParams } = new URL(request.url);
  const isGuest = user?.userId.startsWith('guest-') ?? true;
  const takesTurns = searchParams.get('push_to_talk') === 'true';
  return {
    maxLlmCalls: isGuest ? 5 : 50,
    customMetadata: { plan: isGuest ? 'guest' : 'full' },
    // For calls over /run_live. The client sends activity_start and activity_end.
    realtimeInputConfig: takesTurns ? { automaticActivityDetection: { disabled: true } } : undefined,
    contextWindowCompression: { slidingWindow: {} },
  };
};
