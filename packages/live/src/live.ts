import { type BaseLiveRequestQueue, ConfigurationError, type LiveSupport, type RunLiveParams } from '@eventloom/core';
import {
  ABORT_SIGNAL_RULE,
  checkOptions,
  checkLiveRunConfig,
  type LiveRunHost,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import { QueueLiveRun } from './queue-live-run.ts';

const QUEUE = 'new LiveRequestQueue()';
const PARAMS: OptionRules<RunLiveParams> = {
  appName: 'text',
  // The session service checks both ids, and throws the error that it throws everywhere: InvalidRequestError.
  userId: 'any',
  sessionId: 'any',
  liveRequestQueue: { is: 'object', wanted: 'a LiveRequestQueue', write: QUEUE },
  runConfig: { is: 'object', write: '{ outputAudioTranscription: {} }' },
  bounds: { is: 'object', write: '{ maxLlmCalls: 20 }' },
  customMetadata: { is: 'object', write: "{ plan: 'free' }" },
  abortSignal: ABORT_SIGNAL_RULE,
  traceHeaders: { is: 'object', write: '{ traceparent }' },
};

/** The queues that serve or served a run. */
const usedQueues = new WeakSet<BaseLiveRequestQueue>();

/**
 * Gives a `Runner` of `@eventloom/runner` live runs: `runner.runLive`, in which user and model speak at the same time,
 * by voice, video or text. The `Runner` and the `InMemoryRunner` of `eventloom` have them already, and need no
 * `live()`.
 *
 * @example
 * import { live, LiveRequestQueue } from '@eventloom/live';
 * import { Runner } from '@eventloom/runner';
 *
 * const runner = new Runner({ appName: 'app', agent, sessionService, live: live() });
 * const liveRequestQueue = new LiveRequestQueue();
 * for await (const event of runner.runLive({ userId, sessionId, liveRequestQueue })) console.log(event);
 */
export function live(): LiveSupport {
  return {
    claimQueue(params, host) {
      checkParams(params, host);
      const queue = params.liveRequestQueue;
      if (usedQueues.has(queue))
        throw new ConfigurationError(
          'runLive: the liveRequestQueue serves another run, or served one that ended or could not begin; create a new one',
        );
      usedQueues.add(queue);
      return new QueueLiveRun(queue);
    },
  };
}

/** Checks the parameters of a live run. @throws ConfigurationError for an unknown parameter, and for one that the runner cannot serve */
function checkParams(params: RunLiveParams, { appName, artifactService }: LiveRunHost): void {
  if (typeof params.liveRequestQueue?.peek !== 'function')
    throw wrongOption('runLive', 'liveRequestQueue', 'a LiveRequestQueue', params.liveRequestQueue, QUEUE);
  checkOptions('runLive', PARAMS, params);
  if (params.appName !== undefined && params.appName !== appName)
    throw new ConfigurationError(
      `runLive: appName is ${JSON.stringify(params.appName)}, but the runner has the appName "${appName}"; remove it, or write that name`,
    );
  const { runConfig = {} } = params;
  checkLiveRunConfig(runConfig);
  if (runConfig.resumable === true)
    throw new ConfigurationError('runLive: a live run cannot be resumed; remove runConfig.resumable');
  if (runConfig.saveLiveBlob && !artifactService)
    throw new ConfigurationError(
      'runConfig.saveLiveBlob: saving audio needs an artifactService; write artifactService: new InMemoryArtifactService() in the options of the runner',
    );
}
