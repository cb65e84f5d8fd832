import { Gemini } from '@eventloom/gemini';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { live } from '../live.ts';
import { callServer } from './fixtures/call-server.ts';
import { liveEndpoint } from './live-endpoint.ts';

test('audio, text and a tool call pass from a WebSocket client through @google/genai and back', async () => {
  const service = await FakeGeminiServer.start();
  service.live.enqueue([
    { heard: 'realtimeInput' },
    { serverContent: { inputTranscription: { text: 'What time is it?' } } },
    { toolCall: { functionCalls: [{ id: 'c1', name: 'clock', args: {} }] } },
    { heard: 'toolResponse' },
    {
      serverContent: { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AQIDBA==' } }] } },
    },
    { serverContent: { outputTranscription: { text: 'Noon.' } } },
    { serverContent: { turnComplete: true }, usageMetadata: { totalTokenCount: 7 } },
  ]);
  const clock = new FunctionTool({ name: 'clock', description: 'The time.', execute: () => ({ time: '12:00' }) });
  const model = new Gemini({ model: 'gemini-live', apiKey: 'test', baseUrl: service.url });
  const agent = new LlmAgent({ name: 'speaker', model, tools: [clock] });
  const sessionService = new InMemorySessionService();
  const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } } };
  const runner = new Runner({
    appName: 'voice',
    agent,
    live: live(),
    sessionService,
    autoCreateSession: true,
    runConfig: { speechConfig, contextWindowCompression: { slidingWindow: {} } },
  });
  const realtimeInputConfig = { automaticActivityDetection: { disabled: true } };
  const runConfig = () => ({ realtimeInputConfig, sessionResumption: { handle: 'before' } });
  const server = await serve(createServer({ runners: [runner], live: liveEndpoint(), runConfig }), { port: 0 });
  try {
    const query = 'app_name=voice&user_id=ann&session_id=s&audio=binary&input_audio_transcription=true';
    const client = await callServer(server, query);
    client.send({ activity_start: {} });
    client.send(new Uint8Array([1, 2]));
    client.send({ activity_end: {} });
    const events = [];
    let bytes = 0;
    for (;;) {
      const frame = await client.next();
      if ('bytes' in frame) bytes += frame.bytes.length;
      else if ('json' in frame) events.push(frame.json);
      if ('json' in frame && frame.json['turnComplete'] === true) break;
    }
    expect(bytes).toBe(4);
    expect(JSON.stringify(events)).toMatch(/What time is it\?.*functionCall.*12:00.*Noon\./);
    client.send({ close: true });
    expect((await client.end()).code).toBe(1000);
    const [connection] = service.live.connections;
    expect(connection?.setup).toMatchObject({
      generationConfig: { speechConfig },
      contextWindowCompression: { slidingWindow: {} },
      realtimeInputConfig,
      sessionResumption: { handle: 'before' },
    });
    expect(connection?.received.map((message) => Object.keys(Object(Object.values(message)[0]))[0])).toEqual([
      'activityStart',
      'audio',
      'activityEnd',
      'functionResponses',
    ]);
    service.assertConsumed();
  } finally {
    await server.shutDown();
    await service.close();
  }
});
