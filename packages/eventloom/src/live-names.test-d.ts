import type { BaseLlmConnection, LiveRequest } from '@eventloom/core';
import { expectTypeOf, test } from 'vitest';
import type { LiveRequestQueue, Runner, RunConfig } from './index.ts';

test('a run config has the live options of the ADK by their names', () => {
  const config: RunConfig = {
    streamingMode: 'bidi',
    responseModalities: ['AUDIO'],
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    inputAudioTranscription: {},
    outputAudioTranscription: {},
    realtimeInputConfig: {},
    sessionResumption: { handle: 'h' },
    contextWindowCompression: { slidingWindow: {} },
    proactivity: { proactiveAudio: true },
    enableAffectiveDialog: true,
    saveLiveBlob: true,
    saveInputBlobsAsArtifacts: false,
    maxLlmCalls: 500,
    customMetadata: {},
    getSessionConfig: {},
  };
  expectTypeOf(config).toExtend<RunConfig>();
});

test("LiveRequestQueue and runLive have the ADK's signatures", () => {
  type Sends = 'sendContent' | 'sendRealtime' | 'sendActivityStart' | 'sendActivityEnd' | 'close';
  expectTypeOf<Sends>().toExtend<keyof LiveRequestQueue>();
  expectTypeOf<LiveRequestQueue>().toExtend<AsyncIterable<LiveRequest>>();
  type Params = Parameters<Runner['runLive']>[0];
  expectTypeOf<'userId' | 'sessionId' | 'liveRequestQueue' | 'runConfig'>().toExtend<keyof Params>();
  type ConnectionSends = 'sendHistory' | 'sendContent' | 'sendRealtime' | 'receive' | 'close';
  expectTypeOf<ConnectionSends>().toExtend<keyof BaseLlmConnection>();
});
