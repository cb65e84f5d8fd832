import { createGenAiClient } from '#genai-client';
import { connectLive } from './live/connect-live.ts';

/** What is loaded when a model is asked: @google/genai, and what holds live connections. */
export const deferred = {
  connectLive,
  createGenAiClient,
} as const;
