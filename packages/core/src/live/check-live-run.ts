import { checkKnown, checkOptions } from '../agent/options.ts';
import { ConfigurationError } from '../errors.ts';
import { LIVE_CHECKS, LIVE_OPTIONS } from './live-run-config.ts';
import type { LiveRunHost, RunLiveParams } from './run-live-params.ts';

const PARAMS: ReadonlySet<string> = new Set<keyof RunLiveParams>([
  'appName',
  'userId',
  'sessionId',
  'liveRequestQueue',
  'runConfig',
  'customMetadata',
  'abortSignal',
]);

/** @throws ConfigurationError for a parameter that live runs do not have, and for what the runner cannot do */
export function checkLiveRun(params: RunLiveParams, { appName, artifactService }: LiveRunHost): void {
  checkKnown('runLive', PARAMS, params);
  if (params.appName !== undefined && params.appName !== appName)
    throw new ConfigurationError(
      `runLive: this runner is of app "${appName}", not of ${JSON.stringify(params.appName)}`,
    );
  const { runConfig = {} } = params;
  for (const option of LIVE_OPTIONS) checkOptions('runConfig', LIVE_CHECKS, { [option]: runConfig[option] });
  if (runConfig.resumable === true)
    throw new ConfigurationError('runLive: a live run cannot be resumed; leave runConfig.resumable out');
  if (runConfig.saveLiveBlob && !artifactService)
    throw new ConfigurationError('runConfig.saveLiveBlob: the runner has no artifactService to save audio with');
}
