import { ConfigurationError, type Content, type LiveRequestQueue, type RunConfig } from '@eventloom/core';
import type { LiveParts } from '../create-invocation.ts';
import type { RunAsyncParams } from '../run-params.ts';
import type { Runner } from '../runner.ts';
import { acceptLiveContent } from './accept-live-content.ts';

/** What one live run is given. */
export interface RunLiveParams {
  /** The runner's own, for those who hand in a whole session key; another one is refused. */
  readonly appName?: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  /** What the client says, before and while the run goes on. For this run alone; closing it ends the run. */
  readonly liveRequestQueue: LiveRequestQueue;
  readonly runConfig?: RunConfig | undefined;
  /** Put under `customMetadata` of every event of the run, over `runConfig.customMetadata`; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the run, which then throws RunAbortedError. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: ReadonlySet<string> = new Set<keyof RunLiveParams>([
  'appName',
  'userId',
  'sessionId',
  'liveRequestQueue',
  'runConfig',
  'customMetadata',
  'abortSignal',
]);

/** Queues that serve a run, or did: what a client says is for one. */
const USED = new WeakSet<LiveRequestQueue>();

/** What of the runner is used. */
type LiveRunner = Pick<Runner, 'appName' | 'artifactService' | 'platform' | 'credentialService' | 'requestTtlMs'>;

/** A live run: its parameters, and what its invocation has beside those of others. */
export interface LiveRun {
  readonly params: RunAsyncParams;
  readonly live: LiveParts;
}

/**
 * The live run; the queue is the run's from now on.
 * @param check not imported, but given: runs that are not live have it anyway, and this file is loaded apart from them
 * @throws ConfigurationError
 */
export function toLiveRun(params: RunLiveParams, runner: LiveRunner, check: (message: Content) => Content): LiveRun {
  const { appName, artifactService } = runner;
  for (const name in params) {
    if (PARAMS.has(name)) continue;
    throw new ConfigurationError(`runLive: ${name} is not supported by this version; it has ${[...PARAMS].join(', ')}`);
  }
  const { liveRequestQueue: queue, ...rest } = params;
  if (params.appName !== undefined && params.appName !== appName)
    throw new ConfigurationError(
      `runLive: this runner is of app "${appName}", not of ${JSON.stringify(params.appName)}`,
    );
  if (typeof queue?.peek !== 'function')
    throw new ConfigurationError('runLive: liveRequestQueue must be a LiveRequestQueue');
  if (params.runConfig?.resumable === true)
    throw new ConfigurationError('runLive: a live run cannot be resumed; leave runConfig.resumable out');
  if (params.runConfig?.saveLiveBlob && !artifactService)
    throw new ConfigurationError('runConfig.saveLiveBlob: the runner has no artifactService to save audio with');
  if (USED.has(queue)) throw new ConfigurationError('runLive: the liveRequestQueue serves another run; make a new one');
  USED.add(queue);
  const live: LiveParts = (session) => ({
    liveRequestQueue: queue,
    activeStreamingTools: new Map(),
    acceptLiveContent: (content, context) => acceptLiveContent(content, context, { ...runner, session }, check),
  });
  return { params: { ...rest, runConfig: { ...rest.runConfig, resumable: false } }, live };
}
