import type { LiveConnectConfig } from '@google/genai';
import { draftRequest } from './draft-request.ts';
import type { KeyedApi } from './keyed-api.ts';
import { pickFields } from './pick-fields.ts';

/** Setup fields of a live connection that are also fields of a request. */
const SHARED = [
  'systemInstruction',
  'tools',
  'safetySettings',
  'labels',
  'responseModalities',
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'mediaResolution',
  'seed',
  'speechConfig',
  'thinkingConfig',
] as const;
/** Setup fields that only live connections have. */
const OF_LIVE = [
  'inputAudioTranscription',
  'outputAudioTranscription',
  'realtimeInputConfig',
  'contextWindowCompression',
  'proactivity',
  'explicitVadSignal',
  'avatarConfig',
] as const;
const GENERATION_OF_LIVE = ['enableAffectiveDialog', 'translationConfig'] as const;

/**
 * Returns the setup message of a live connection, as `Live` of `@google/genai` creates it. Fields that are not in the
 * lists above are left out.
 */
export async function toLiveSetup(api: KeyedApi, model: string, config: LiveConnectConfig): Promise<object> {
  const { generationConfig: given = {}, sessionResumption } = config;
  const vertexai = api.isVertexAI();
  const draft = await draftRequest(api, {
    model,
    contents: 'Left out below.',
    config: {
      ...(vertexai && { responseModalities: ['AUDIO'], ...given }),
      ...pickFields(config, SHARED),
    },
  });
  const { contents: _, generationConfig, ...begin } = draft.body;
  const generation = {
    ...(vertexai ? pickFields(given, [...GENERATION_OF_LIVE, 'responseFormat']) : given),
    ...(generationConfig as object | undefined),
    ...pickFields(config, GENERATION_OF_LIVE),
  };
  const project = api.getProject();
  const isBare = project !== undefined && draft.model.startsWith('publishers/');
  return {
    model: isBare ? `projects/${project}/locations/${api.getLocation()}/${draft.model}` : draft.model,
    ...begin,
    ...(Object.keys(generation).length > 0 && { generationConfig: generation }),
    ...pickFields(config, OF_LIVE),
    ...(sessionResumption && {
      sessionResumption: vertexai ? sessionResumption : pickFields(sessionResumption, ['handle']),
    }),
  };
}
