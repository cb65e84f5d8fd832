// Needs a server in this process, so it runs on Node only. Tests for all runtimes are in gemini-live-network.test.ts.
import type { LlmRequest } from '@eventloom/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LivePeer, requestWith } from './fixtures/live-peer.ts';

let peer: LivePeer;

const CONFIG: LlmRequest['config'] = {
  systemInstruction: 'Be kind.',
  responseModalities: ['AUDIO'],
  temperature: 0.2,
  topP: 0.9,
  topK: 3,
  maxOutputTokens: 100,
  seed: 7,
  mediaResolution: 'MEDIA_RESOLUTION_LOW',
  thinkingConfig: { thinkingBudget: 0 },
  speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } }, languageCode: 'de-DE' },
  enableAffectiveDialog: true,
  inputAudioTranscription: {},
  outputAudioTranscription: {},
  realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
  sessionResumption: { handle: 'h1', transparent: true },
  contextWindowCompression: { triggerTokens: '1000', slidingWindow: { targetTokens: '500' } },
  proactivity: { proactiveAudio: true },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  labels: { team: 'blue' },
  tools: [{ functionDeclarations: [{ name: 'f', behavior: 'NON_BLOCKING' }] }, { googleSearch: {} }],
  // Options that live connections do not have are not sent.
  stopSequences: ['x'],
  responseMimeType: 'application/json',
  httpOptions: { timeout: 1 },
};

const SETUP = {
  systemInstruction: { role: 'user', parts: [{ text: 'Be kind.' }] },
  generationConfig: {
    responseModalities: ['AUDIO'],
    temperature: 0.2,
    topP: 0.9,
    topK: 3,
    maxOutputTokens: 100,
    seed: 7,
    mediaResolution: 'MEDIA_RESOLUTION_LOW',
    thinkingConfig: { thinkingBudget: 0 },
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } }, languageCode: 'de-DE' },
    enableAffectiveDialog: true,
  },
  inputAudioTranscription: {},
  outputAudioTranscription: {},
  realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
  contextWindowCompression: { triggerTokens: '1000', slidingWindow: { targetTokens: '500' } },
  proactivity: { proactiveAudio: true },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  tools: [{ functionDeclarations: [{ name: 'f', behavior: 'NON_BLOCKING' }] }, { googleSearch: {} }],
};

beforeEach(async () => {
  peer = await LivePeer.start();
});

afterEach(() => peer.close());

test('the config is sent as the setup and not modified', async () => {
  const config = structuredClone(CONFIG);
  await peer.connect([], { config });
  expect((await peer.last()).setup).toEqual({
    ...SETUP,
    model: 'models/gemini-live',
    sessionResumption: { handle: 'h1' },
  });
  expect(config).toEqual(CONFIG);
});

test('a config with generationConfig is accepted and not modified', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const generationConfig = { candidateCount: 1 };
  await peer.connect([], { config: { generationConfig, temperature: 0.5 } });
  expect((await peer.last()).setup).toMatchObject({ generationConfig: { candidateCount: 1, temperature: 0.5 } });
  expect(generationConfig).toEqual({ candidateCount: 1 });
  warn.mockRestore();
});

test('on Vertex AI the setup has labels and transparent resumption', async () => {
  await peer.connect([], { config: CONFIG, vertexai: true });
  const { tools: _, ...setup } = SETUP;
  expect((await peer.last()).setup).toMatchObject({
    ...setup,
    sessionResumption: { handle: 'h1', transparent: true },
    labels: { team: 'blue' },
  });
});

test('sessionResumption without a handle requests one', async () => {
  await peer.connect([], { config: { sessionResumption: {} } });
  expect((await peer.last()).setup).toEqual({ model: 'models/gemini-live', sessionResumption: {} });
});

test('the request may name another model', async () => {
  peer.server.live.enqueue([]);
  peer.opened(await peer.gemini().connect({ ...requestWith(), model: 'models/other' }));
  expect((await peer.last()).setup).toEqual({ model: 'models/other' });
});
