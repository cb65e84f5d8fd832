import type { RunConfig } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { BaseLiveRequestQueue } from './base-live-request-queue.ts';

/** What one live run is given. */
export interface RunLiveParams {
  /** The runner's own, for those who hand in a whole session key; another one is refused. */
  readonly appName?: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  /** What the client says, before and while the run goes on. For this run alone; closing it ends the run. */
  readonly liveRequestQueue: BaseLiveRequestQueue;
  readonly runConfig?: RunConfig | undefined;
  /** Put under `customMetadata` of every event of the run, over `runConfig.customMetadata`; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the run, which then throws RunAbortedError. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** What of a runner decides whether it can run live as it is asked to. */
export interface LiveRunHost {
  readonly appName: string;
  readonly artifactService: BaseArtifactService | undefined;
}
