import { type LlmRequest, Modality } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import { prepareRequest } from '../step/prepare-request.ts';

/** What a run config says of live runs and the setup of a connection takes as it is. */
const PASSED_ON = [
  'speechConfig',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'realtimeInputConfig',
  'contextWindowCompression',
  'proactivity',
  'enableAffectiveDialog',
] as const;

/**
 * The request that a live connection is set up with, made as every request of the agent is. Without a handle its contents are the
 * history; with one the service has the history.
 */
export async function prepareLiveRequest(step: Step, handle: string | undefined): Promise<LlmRequest> {
  const request = await prepareRequest(step);
  const { config } = request;
  const { runConfig, invocation } = step.context;
  config.responseModalities = [...(runConfig.responseModalities ?? [Modality.AUDIO])];
  if (invocation.rootAgent.subAgents.length > 0) {
    config['inputAudioTranscription'] = {};
    config['outputAudioTranscription'] = {};
  }
  for (const option of PASSED_ON) if (runConfig[option] !== undefined) config[option] = runConfig[option];
  const { sessionResumption } = runConfig;
  if (sessionResumption) {
    config['sessionResumption'] = handle === undefined ? sessionResumption : { ...sessionResumption, handle };
  }
  if (handle !== undefined) request.contents = [];
  return request;
}

/** The handle of an earlier session that the run is to go on with. */
export function givenHandle(sessionResumption: object | undefined): string | undefined {
  if (!sessionResumption || !('handle' in sessionResumption)) return undefined;
  return typeof sessionResumption.handle === 'string' ? sessionResumption.handle : undefined;
}
