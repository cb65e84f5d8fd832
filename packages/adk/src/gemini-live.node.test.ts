import { FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { BaseTool, Gemini, InMemoryRunner, LiveRequestQueue, LlmAgent, type LlmRequest } from './index.ts';

/** A tool that asks for a low temperature, as programs for the ADK write it. */
class Sober extends BaseTool {
  override processLlmRequest({ llmRequest }: { llmRequest: LlmRequest }): void {
    llmRequest.liveConnectConfig = { temperature: 0.1 };
  }
  override async runAsync(): Promise<undefined> {
    return undefined;
  }
}

test('Gemini connects with what a tool and a callback write to liveConnectConfig, and with the options of the run', async () => {
  await using server = await FakeGeminiServer.start();
  server.live.enqueue([{ heard: 'clientContent' }, { serverContent: { turnComplete: true } }]);
  const agent = new LlmAgent({
    name: 'helper',
    model: new Gemini({ model: 'gemini-live', apiKey: 'key', baseUrl: server.url }),
    tools: [new Sober({ name: 'sober', description: 'Makes replies sober.' })],
    beforeModelCallback: ({ request }: { request: LlmRequest }) => {
      request.liveConnectConfig.speechConfig = { languageCode: 'fr-FR' };
    },
  });
  const runner = new InMemoryRunner({ agent, autoCreateSession: true });
  const liveRequestQueue = new LiveRequestQueue();
  liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello?' }] });
  const runConfig = { responseModalities: ['TEXT' as const], speechConfig: { languageCode: 'de-DE' } };
  for await (const { turnComplete } of runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig }))
    if (turnComplete) liveRequestQueue.close();
  const { setup } = await server.live.connection(0);
  expect(setup).toMatchObject({
    generationConfig: {
      responseModalities: ['TEXT'],
      temperature: 0.1,
      speechConfig: { languageCode: 'fr-FR' },
    },
  });
});
