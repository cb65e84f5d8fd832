import { fixedPlatform } from '@eventloom/testing';
import { sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { modelsOf, streamed, textsOf } from './fixtures/asked-gemini.ts';
import { DistantGemini } from './fixtures/distant-gemini.ts';

const server = DistantGemini.forEachTest();

const TEXTS = ['Grüße', ' aus ', '東京', ' 🌍🏽', ' ¡olé!'];

const gemini = modelsOf(server);

test('each chunk has only new text, and the whole response comes last', async () => {
  const usage = { promptTokenCount: 3, candidatesTokenCount: 9, totalTokenCount: 12 };
  await server.enqueue(sseReply(wireChunks(['The', ' sky', ' is blue.'], { usage, responseId: 'fake-response' })));
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect((await server.requests())[0]?.path).toBe('/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
  const shared = { partial: true, responseId: 'fake-response', modelVersion: 'gemini-2.5-flash' };
  expect(chunks).toStrictEqual([
    { ...shared, content: { role: 'model', parts: [{ text: 'The' }] } },
    { ...shared, content: { role: 'model', parts: [{ text: ' sky' }] } },
    {
      ...shared,
      content: { role: 'model', parts: [{ text: ' is blue.' }] },
      finishReason: 'STOP',
      usageMetadata: usage,
    },
  ]);
  expect(whole).toStrictEqual({
    content: { role: 'model', parts: [{ text: 'The sky is blue.' }] },
    responseId: 'fake-response',
    modelVersion: 'gemini-2.5-flash',
    finishReason: 'STOP',
    usageMetadata: usage,
  });
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])('bytes may be split anywhere (seed %i)', async (seed) => {
  await server.enqueue(sseReply(wireChunks(TEXTS), { split: { seed, max: 12 } }));
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(TEXTS);
  expect(whole?.content?.parts).toEqual([{ text: TEXTS.join('') }]);
});

test('frames may arrive byte by byte or all at once', async () => {
  const frames = wireChunks(TEXTS).map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`);
  await server.enqueue(sseReply(frames, { split: [1] }), sseReply([frames.join('')]));
  expect(textsOf((await streamed(gemini({ platform: fixedPlatform() }))).chunks)).toEqual(TEXTS);
  expect(textsOf((await streamed(gemini({ platform: fixedPlatform() }))).chunks)).toEqual(TEXTS);
});

test('thoughts are separate from text, and signed parts stay unchanged', async () => {
  await server.enqueue(
    sseReply([
      wireResponse({ thought: 'Let me', finishReason: null }),
      wireResponse({ thought: ' think.', finishReason: null }),
      wireResponse({ text: 'It is', finishReason: null }),
      wireResponse({ parts: [{ text: ' 4.', thoughtSignature: 'c2ln' }], finishReason: null }),
      wireResponse({ parts: [{ text: '', thoughtSignature: 'bGFzdA==' }] }),
    ]),
  );
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(['Let me', ' think.', 'It is', ' 4.']);
  expect(chunks.map(({ content }) => content?.parts?.[0]?.thought === true)).toEqual([true, true, false, false]);
  expect(whole?.content?.parts).toEqual([
    { text: 'Let me think.', thought: true },
    { text: 'It is' },
    { text: ' 4.', thoughtSignature: 'c2ln' },
    { text: '', thoughtSignature: 'bGFzdA==' },
  ]);
});

test('a call with streamed arguments is yielded once it is complete', async () => {
  const piece = (functionCall: object) => wireResponse({ parts: [{ functionCall }], finishReason: null });
  await server.enqueue(
    sseReply([
      wireResponse({ text: 'Looking.', finishReason: null }),
      wireResponse({
        parts: [{ functionCall: { name: 'weather', willContinue: true }, thoughtSignature: 'c2ln' }],
        finishReason: null,
      }),
      piece({ partialArgs: [{ jsonPath: '$.city', stringValue: 'New ', willContinue: true }], willContinue: true }),
      piece({ partialArgs: [{ jsonPath: '$.city', stringValue: 'York' }], willContinue: true }),
      piece({}),
      wireResponse({ calls: [{ name: 'time' }] }),
    ]),
  );
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  const weather = { functionCall: { name: 'weather', args: { city: 'New York' } }, thoughtSignature: 'c2ln' };
  const time = { functionCall: { name: 'time', args: {} } };
  expect(chunks.map(({ content }) => content?.parts)).toEqual([[{ text: 'Looking.' }], [weather], [time]]);
  expect(whole?.content?.parts).toEqual([{ text: 'Looking.' }, weather, time]);
});

test('frames without content are not yielded, and their metadata is kept', async () => {
  await server.enqueue(
    sseReply([
      { usageMetadata: { promptTokenCount: 3 } },
      {},
      wireResponse({ text: '', finishReason: null }),
      { candidates: [{}] },
      ': a comment\r\n\r\n',
      wireResponse('Hi'),
      { candidates: [{ index: 0 }], usageMetadata: { totalTokenCount: 9 } },
      wireResponse({ text: '!', finishReason: null }),
    ]),
  );
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(['Hi', '!']);
  expect(whole).toMatchObject({
    content: { parts: [{ text: 'Hi!' }] },
    finishReason: 'STOP',
    usageMetadata: { totalTokenCount: 9 },
  });
  expect(whole).not.toHaveProperty('errorCode');
});

test('all chunks of a reply have one id, also if the service sends none or several', async () => {
  const withId = (text: string, responseId?: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] } }],
    ...(responseId && { responseId }),
  });
  const last = wireResponse({ parts: [], responseId: 'other' });
  await server.enqueue(
    sseReply([withId('a'), withId('b', 'late'), last]),
    sseReply([withId('a', 'first'), withId('b'), last]),
  );
  for (const id of ['00000000-0000-4000-8000-000000000001', 'first']) {
    const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
    expect([...chunks, whole].map((response) => response?.responseId)).toEqual([id, id, id]);
  }
});

test('further candidates are each merged separately', async () => {
  const candidate = (index: number, text: string, finishReason?: string) => ({
    candidates: [{ index, content: { role: 'model', parts: [{ text }] }, ...(finishReason && { finishReason }) }],
  });
  await server.enqueue(
    sseReply([candidate(0, 'A'), candidate(1, 'B'), candidate(0, 'a', 'STOP'), candidate(1, 'b', 'STOP')]),
  );
  expect((await streamed(gemini({ platform: fixedPlatform() }))).whole).toMatchObject({
    content: { parts: [{ text: 'Aa' }] },
    alternatives: [{ index: 1, content: { parts: [{ text: 'Bb' }] }, finishReason: 'STOP' }],
  });
});
