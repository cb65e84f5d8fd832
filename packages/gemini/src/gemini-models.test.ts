import { ConfigurationError, createLlmRequest } from '@eventloom/core';
import { errorReply, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini } from './gemini.ts';
import { geminiModels } from './gemini-models.ts';

test.each([
  'gemini-2.5-flash',
  'models/gemini-2.5-flash',
  'publishers/google/models/gemini-3-pro-preview',
  'projects/my-project/locations/us-central1/publishers/google/models/gemini-2.5-flash-lite',
  'projects/p/locations/l/models/gemini-tuned_1',
])('%s is a Gemini model', (name) => {
  const model = geminiModels({ apiKey: 'a-test-key' })(name);
  expect(model).toBeInstanceOf(Gemini);
  expect(model?.model).toBe(name);
});

test.each(['gpt-5', 'gemini', 'my-gemini-2.5', 'models/gemma-3', 'gemini-2.5-flash:generateContent?', ''])(
  '"%s" is not a Gemini model',
  (name) => {
    expect(geminiModels({ apiKey: 'a-test-key' })(name)).toBeUndefined();
  },
);

test('geminiModels throws for a missing key when a name is resolved', () => {
  const models = geminiModels({});
  expect(models('gpt-5')).toBeUndefined();
  expect(() => models('gemini-2.5-flash')).toThrow(ConfigurationError);
});

test('geminiModels explains what to write when it gets a string, without quoting the string', () => {
  expect(() => geminiModels('AIzaSyD-SECRET' as never)).toThrow(
    /^geminiModels: expected an object of options, got a string; write geminiModels\(\{ apiKey: process\.env\.GEMINI_API_KEY \}\)$/,
  );
});

test('geminiModels names the model whose key is empty', () => {
  expect(() => geminiModels({ apiKey: '' })('gemini-2.5-flash')).toThrow(
    /^model "gemini-2\.5-flash": apiKey is an empty string; set GEMINI_API_KEY before you start the program$/,
  );
});

test('geminiModels includes the reason once in the error for a client that cannot be created', async () => {
  const httpOptions = {
    get fetch(): never {
      throw new TypeError('no network');
    },
  };
  const model = geminiModels({ apiKey: 'a-test-key', httpOptions })('gemini-2.5-flash');
  const answer = model?.generateContentAsync(createLlmRequest(), false);
  await expect(answer?.next()).rejects.toThrow(/^gemini: the client cannot be made: no network$/);
});

test('models of one resolver share a client', async () => {
  const server = await DistantGemini.start();
  await server.enqueue(
    jsonReply(wireResponse('x')),
    errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED' }, { headers: { 'retry-after': '3600' } }),
  );
  const models = geminiModels({ apiKey: 'a-test-key', baseUrl: server.url });
  const ask = (name: string) =>
    models(name)
      ?.generateContentAsync({ ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] })
      .next();
  expect(await ask('gemini-2.5-flash')).toMatchObject({ value: { finishReason: 'STOP' } });
  await expect(ask('gemini-2.5-pro')).rejects.toMatchObject({ retryAfterMs: 3_600_000 });
  await server.close();
  server.assertConsumed();
});
