import { InMemoryArtifactService } from '@eventloom/artifacts';
import { type BaseLlm, type Content, contentText, createLlmRequest, type LlmResponse } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { describe, expect, test } from 'vitest';
import { createDemoAgent, DEMO_PROMPTS, weatherTool } from '../demo-agent.ts';
import { OfflineDemoModel } from './offline-demo-model.ts';

const model: BaseLlm = new OfflineDemoModel({ chunkDelayMs: 0 });

async function answer(text: string, stream = false, signal?: AbortSignal): Promise<LlmResponse[]> {
  const contents = [{ role: 'user', parts: [{ text }] }];
  const request = { ...createLlmRequest(), contents, toolsDict: { get_weather: weatherTool } };
  const responses: LlmResponse[] = [];
  for await (const response of model.generateContentAsync(request, stream, signal)) responses.push(response);
  return responses;
}

describe('the offline demo model', () => {
  test('introduces itself if it finds nothing to do', async () => {
    const [whole] = await answer('good morning');
    expect(whole?.content?.parts?.[0]?.text).toMatch(
      /^I am the offline demo model, because no GEMINI_API_KEY is set\./,
    );
  });

  test('streams chunks that the whole response merges', async () => {
    const responses = await answer('good morning', true);
    const chunks = responses.slice(0, -1).map(({ content }) => content?.parts?.[0]?.text);
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.join('')).toBe(responses.at(-1)?.content?.parts?.[0]?.text);
  });

  test('calls only tools of the request', async () => {
    const [whole] = await answer('weather in Rome and 1 + 1');
    expect(whole?.content?.parts).toEqual([{ functionCall: { name: 'get_weather', args: { city: 'Rome' } } }]);
  });

  test('ends when it is aborted', async () => {
    await expect(answer('hi', true, AbortSignal.abort())).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  });

  test('plays the three suggested messages in one session, in which an agent hands control over and back', async () => {
    const artifactService = new InMemoryArtifactService();
    const key = { appName: 'demo', userId: 'ann', sessionId: 'first' };
    const runner = new Runner({
      appName: 'demo',
      agent: createDemoAgent(model),
      sessionService: new InMemorySessionService(),
      artifactService,
      autoCreateSession: true,
    });
    const say = (newMessage: Content) => runner.run({ userId: 'ann', sessionId: 'first', newMessage });
    const ask = (text: string) => say({ parts: [{ text }] });
    const [tools, refund, file] = DEMO_PROMPTS;
    expect(contentText((await ask(tools)).at(-1)?.content)).toMatch(/^In Rome it is/);
    const request = (await ask(refund))
      .flatMap(({ content }) => content?.parts ?? [])
      .find(({ functionCall }) => functionCall?.name === 'adk_request_confirmation')?.functionCall;
    const { id = '', name = '' } = request ?? {};
    const refunded = await say({ parts: [{ functionResponse: { id, name, response: { confirmed: true } } }] });
    expect(contentText(refunded.at(-1)?.content)).toMatch(/^I refunded order 42/);
    const saved = await ask(file);
    expect(saved.at(-1)?.author).toBe('demo');
    expect(contentText(saved.at(-1)?.content)).toMatch(/^I saved list\.txt/);
    expect(await artifactService.listArtifactKeys(key)).toEqual(['list.txt']);
  });
});
