// Reads recordings from files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  type BaseLlmConnection,
  type Content,
  type LiveLlmResponse,
  type LlmRequest,
  createLlmRequest,
} from '@eventloom/core';
import {
  FakeGeminiServer,
  type LiveRecording,
  type LiveWireMessage,
  recordedLive,
} from '@eventloom/testing/fake-gemini';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Gemini } from '../gemini.ts';

/** Recordings of the real service. They are not part of this repository and may lie next to the checkout. */
const FOLDER = new URL('../../../../../shared/fixtures/gemini/live/', import.meta.url);
const recorded = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith('.json')) : [];
/** Skips one test, which names the missing recordings. */
const names = recorded.length > 0 ? recorded : ['(no ../shared/fixtures/gemini beside this checkout: skipped)'];
const cases = names.flatMap((name) => [['binary', name] as const, ['text', name] as const]);

let server: FakeGeminiServer;
beforeEach(async () => {
  server = await FakeGeminiServer.start();
});
afterEach(async () => {
  await server.close();
  server.assertConsumed();
});

test.skipIf(recorded.length === 0).each(cases)(
  'in %s frames, the recording %s is parsed as expected',
  async (frames, name) => {
    const recorded = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as LiveRecording;
    const recording = { frames: recorded.frames.map(({ dir, msg }) => ({ dir, msg: toOurWay(msg) })) };
    const { setup, connection, responses } = await play(recording, frames);
    const [first, , ...rest] = recording.frames;
    expect(setup).toEqual(first?.msg['setup']);

    const said = rest.flatMap(({ dir, msg }) => (dir === 'server' ? [msg] : []));
    expect(responses).toEqual(said.flatMap(expected));

    const { received } = await server.live.connection(0);
    expect(received).toEqual(rest.flatMap(({ dir, msg }) => (dir === 'client' ? [msg] : [])));
    await connection.close();
  },
);

const USAGE = {
  promptTokenCount: 515,
  candidatesTokenCount: 38,
  totalTokenCount: 553,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 515 }],
  candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 38 }],
};
const CODE = "print(default_api.get_current_weather(location='Redmond, WA'))";
const CALL = { name: 'get_current_weather', args: { location: 'Redmond, WA' } };

test.skipIf(recorded.length === 0).each<[string, object[]]>([
  [
    'ML-Dev-should-send-text-in-async-session',
    [{ generationComplete: true }, { turnComplete: true, usageMetadata: USAGE }],
  ],
  [
    'ML-Dev-should-send-tool-response',
    [
      { content: { role: 'model', parts: [{ executableCode: { language: 'PYTHON', code: CODE } }] } },
      { content: { role: 'model', parts: [{ functionCall: { ...CALL, id: 'function-call-5831923424298605773' } }] } },
    ],
  ],
  [
    'Vertex-should-send-tool-response',
    [
      {
        content: { role: 'model', parts: [{ functionCall: { ...CALL, id: '8acdafcd-9c55-44be-84da-da3d2612f9d1' } }] },
      },
      { generationComplete: true },
    ],
  ],
  [
    'Vertex-should-receive-transcription-in-async-session-with-transcription-enabled',
    [{ outputTranscription: { text: 'We' } }],
  ],
])('the recording %s is parsed as expected', async (name, responses) => {
  const text = readFileSync(new URL(`jsgenai-live-${name}.json`, FOLDER), 'utf8');
  const played = await play(JSON.parse(text) as LiveRecording, 'binary');
  expect(played.responses).toEqual(responses);
  await played.connection.close();
});

/** Plays a recording: sends the client's messages, and reads the service's. */
async function play(recording: LiveRecording, frames: 'binary' | 'text') {
  server.live.enqueue(recordedLive(recording, { frames }));
  const [first, , ...rest] = recording.frames;
  const { model, generationConfig, ...config } = (first?.msg['setup'] ?? {}) as {
    model: string;
  } & LlmRequest['config'];
  const vertexai = model.startsWith('projects/');
  const gemini = new Gemini({ model, apiKey: 'a-test-key', baseUrl: server.url, vertexai });
  const request: LlmRequest = {
    ...createLlmRequest(),
    config: { ...(generationConfig as object | undefined), ...config },
  };
  const connection = await gemini.connect(request);
  const reader = connection.receive();
  const responses: LiveLlmResponse[] = [];
  for (const { dir, msg } of rest) {
    if (dir === 'client') await say(connection, msg);
    else if (expected(msg).length > 0) responses.push((await reader.next()).value as LiveLlmResponse);
  }
  const peer = await server.live.connection(0);
  for (const { dir, msg } of rest) if (dir === 'client') await peer.heard(Object.keys(msg)[0] ?? '');
  return { setup: peer.setup, connection, responses };
}

/** Sends a recorded client message through the contract of connections. */
async function say(connection: BaseLlmConnection, message: LiveWireMessage): Promise<void> {
  const { clientContent, realtimeInput, toolResponse } = message as {
    clientContent?: { turns: Content[] };
    realtimeInput?: Record<string, object>;
    toolResponse?: { functionResponses: object[] };
  };
  if (clientContent) return connection.sendHistory(clientContent.turns);
  // Calls of Vertex AI have no ids, which the contract permits.
  if (toolResponse) return connection.sendToolResponses?.(toolResponse.functionResponses);
  const { activityStart, activityEnd, audio } = realtimeInput ?? {};
  if (activityStart) return connection.sendActivityStart?.();
  return activityEnd ? connection.sendActivityEnd?.() : connection.sendRealtime(audio ?? {});
}

/** Returns the responses that a message must become, computed without the code under test: none or one. */
function expected(message: LiveWireMessage): object[] {
  const {
    serverContent = {},
    toolCall,
    usageMetadata,
  } = message as {
    serverContent?: { modelTurn?: Content; outputTranscription?: { text?: string } } & Record<string, unknown>;
    toolCall?: { functionCalls: object[] };
    usageMetadata?: Record<string, unknown>;
  };
  const { modelTurn, outputTranscription, ...flags } = serverContent;
  const parts = [
    ...(modelTurn?.parts ?? []),
    ...(toolCall?.functionCalls ?? []).map((functionCall) => ({ functionCall })),
  ];
  const { responseTokenCount, responseTokensDetails, ...counts } = usageMetadata ?? {};
  const response = {
    ...(parts.length > 0 && { content: { role: 'model', parts } }),
    ...(outputTranscription?.text && { outputTranscription }),
    ...flags,
    ...(usageMetadata && {
      usageMetadata: {
        ...counts,
        candidatesTokenCount: responseTokenCount,
        candidatesTokensDetails: responseTokensDetails,
      },
    }),
  };
  return Object.keys(response).length > 0 ? [response] : [];
}

/** Converts a recorded message to the form that is sent here: audio in its own field (the list is deprecated), a text as a turn. */
function toOurWay(message: LiveWireMessage): LiveWireMessage {
  const { mediaChunks, text, ...rest } = (message['realtimeInput'] ?? {}) as Record<string, unknown>;
  if (mediaChunks) return { realtimeInput: { ...rest, audio: (mediaChunks as object[])[0] } };
  if (text === undefined) return message;
  return { clientContent: { turns: [{ role: 'user', parts: [{ text }] }], turnComplete: true } };
}
