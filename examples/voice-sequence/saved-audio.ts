import type { Event, Runner } from 'eventloom';

/** The WAV file that an event of a live run refers to; undefined when it refers to none. */
export async function savedAudio(runner: Runner, sessionId: string, event: Event): Promise<Buffer | undefined> {
  const [filename] = Object.keys(event.actions.artifactDelta);
  if (filename === undefined) return undefined;
  const key = { appName: runner.appName, userId: 'you', sessionId, filename };
  const artifact = await runner.artifactService?.loadArtifact(key);
  return Buffer.from(artifact?.inlineData?.data ?? '', 'base64');
}
