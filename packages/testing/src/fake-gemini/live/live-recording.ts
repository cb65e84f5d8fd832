import type { FakeLiveConnectionScript, FakeLiveStep, LiveWireMessage } from './fake-live-script.ts';

/** A recorded live connection between a client and the real service. */
export interface LiveRecording {
  readonly frames: readonly { readonly dir: 'client' | 'server'; readonly msg: LiveWireMessage }[];
}

/** Creates the script of a recorded connection: each message of the service is sent after the client messages that preceded it. */
export function recordedLive(
  { frames }: LiveRecording,
  options: Pick<FakeLiveConnectionScript, 'frames'> = {},
): FakeLiveConnectionScript {
  const [, setupComplete, ...rest] = frames;
  const steps = rest.map(({ dir, msg }): FakeLiveStep => (dir === 'server' ? msg : { heard: kindOf(msg) }));
  return { ...options, steps, ...(setupComplete && { setup: setupComplete.msg }) };
}

function kindOf(message: LiveWireMessage): string {
  return Object.keys(message)[0] ?? '';
}
