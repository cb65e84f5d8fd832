import { FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { LiveStage, type LiveStageOptions } from './live-stage.ts';
import type { LiveStory } from './live-story.ts';
import { playStory } from './play-story.ts';

/** The result of a played call. */
export interface PlayedLive {
  readonly stage: LiveStage;
  /** The messages that Gemini's side received in each connection. */
  readonly connections: FakeGeminiServer['live']['connections'];
}

/** Plays a call over the real client with a fake Gemini, which must have sent its whole script at the end. */
export async function playLiveOffline(
  story: LiveStory,
  { args = [], ...options }: Omit<LiveStageOptions, 'gemini'> & { readonly args?: readonly string[] } = {},
): Promise<PlayedLive> {
  await using server = await FakeGeminiServer.start();
  server.live.enqueue(...story.connections);
  const stage = new LiveStage(story, { gemini: { apiKey: 'none', baseUrl: server.url }, ...options });
  await playStory(story, stage, args);
  server.assertConsumed();
  return { stage, connections: server.live.connections };
}
