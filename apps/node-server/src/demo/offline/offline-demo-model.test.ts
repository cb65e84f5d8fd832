import { type BaseLlm, type LlmResponse, createLlmRequest } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { weatherTool } from '../demo-agent.ts';
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
});
