import { expect, test } from 'vitest';
import type { Part } from '../content/content.ts';
import type { LlmResponse } from './llm-response.ts';
import { ResponseAggregator } from './response-aggregator.ts';

function chunkOf(...parts: Part[]): LlmResponse {
  return { content: { role: 'model', parts }, partial: true };
}

function merge(...chunks: LlmResponse[]): LlmResponse {
  const aggregator = new ResponseAggregator();
  for (const chunk of chunks) aggregator.add(chunk);
  return aggregator.finish();
}

test('text of one kind is joined, and thoughts stay apart in front of where they came', () => {
  const whole = merge(
    chunkOf({ text: 'Let me', thought: true }),
    chunkOf({ text: ' think.', thought: true }, { text: 'The' }),
    chunkOf({ text: ' answer' }),
    chunkOf({ text: 'Wait.', thought: true }),
    chunkOf({ text: ' is 4.' }),
  );
  expect(whole.content).toEqual({
    role: 'model',
    parts: [
      { text: 'Let me think.', thought: true },
      { text: 'The answer' },
      { text: 'Wait.', thought: true },
      { text: ' is 4.' },
    ],
  });
});

test('a part with a signature is merged with nothing', () => {
  const signed: Part = { text: ' end.', thoughtSignature: 'sig' };
  const whole = merge(chunkOf({ text: 'The' }), chunkOf(signed), chunkOf({ text: 'More' }));
  expect(whole.content?.parts).toEqual([{ text: 'The' }, signed, { text: 'More' }]);
});

test('an empty part with a signature is kept, an empty part with nothing is not', () => {
  const whole = merge(
    chunkOf({ text: 'Hi' }),
    chunkOf({ text: '', thought: true }),
    chunkOf({ text: '!' }),
    chunkOf({ text: '', thoughtSignature: 's' }),
  );
  expect(whole.content?.parts).toEqual([{ text: 'Hi!' }, { text: '', thoughtSignature: 's' }]);
});

test('parts it does not know are kept as they came', () => {
  const odd = { text: 'a', somethingNew: { x: 1 } } as Part;
  expect(merge(chunkOf({ text: 'b' }), chunkOf(odd)).content?.parts).toEqual([{ text: 'b' }, odd]);
});

test('calls keep their order among text', () => {
  const whole = merge(
    chunkOf({ text: 'a' }, { functionCall: { name: 'f' } }),
    chunkOf({ functionCall: { name: 'g' } }, { text: 'b' }),
  );
  expect(whole.content?.parts).toEqual([
    { text: 'a' },
    { functionCall: { name: 'f' } },
    { functionCall: { name: 'g' } },
    { text: 'b' },
  ]);
});

test('of everything else the last chunk that has it wins', () => {
  const whole = merge(
    { ...chunkOf({ text: 'a' }), usageMetadata: { totalTokenCount: 1 }, responseId: 'r' },
    { ...chunkOf({ text: 'b' }), usageMetadata: { totalTokenCount: 2 }, finishReason: 'STOP' },
    { modelVersion: 'm' },
  );
  expect(whole).toEqual({
    content: { role: 'model', parts: [{ text: 'ab' }] },
    usageMetadata: { totalTokenCount: 2 },
    responseId: 'r',
    finishReason: 'STOP',
    modelVersion: 'm',
  });
});

test('a reply without content has none', () => {
  expect(merge({ usageMetadata: { totalTokenCount: 1 } })).toEqual({ usageMetadata: { totalTokenCount: 1 } });
});

test('alternatives are merged each by itself', () => {
  const whole = merge(
    { ...chunkOf({ text: 'A' }), alternatives: [{ index: 1, content: { role: 'model', parts: [{ text: 'B' }] } }] },
    {
      ...chunkOf({ text: 'a' }),
      alternatives: [{ index: 1, content: { parts: [{ text: 'b' }] }, finishReason: 'STOP' }],
    },
  );
  expect(whole.content?.parts).toEqual([{ text: 'Aa' }]);
  expect(whole.alternatives).toEqual([
    { index: 1, content: { role: 'model', parts: [{ text: 'Bb' }] }, finishReason: 'STOP' },
  ]);
});

test('a chunk is given back as it may be shown: without pieces of a call, with the call once it is whole', () => {
  const aggregator = new ResponseAggregator();
  const first = aggregator.add(chunkOf({ text: 'Looking' }, { functionCall: { name: 'f', willContinue: true } }));
  const second = aggregator.add(
    chunkOf({ functionCall: { partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true } }),
  );
  const third = aggregator.add(chunkOf({ functionCall: {} }));
  expect(first.content?.parts).toEqual([{ text: 'Looking' }]);
  expect(second.content?.parts).toEqual([]);
  expect(third.content?.parts).toEqual([{ functionCall: { name: 'f', args: { a: 1 } } }]);
  expect(aggregator.finish().content?.parts).toEqual([
    { text: 'Looking' },
    { functionCall: { name: 'f', args: { a: 1 } } },
  ]);
});

test('a chunk in which nothing is unfinished is given back as it is', () => {
  const chunk = chunkOf({ text: 'a' }, { functionCall: { name: 'f' } });
  expect(new ResponseAggregator().add(chunk)).toBe(chunk);
});

test('a call that never became whole is not in the reply', () => {
  expect(merge(chunkOf({ text: 'a' }, { functionCall: { name: 'f', willContinue: true } })).content?.parts).toEqual([
    { text: 'a' },
  ]);
});

test('of a reply that broke off everything but calls is kept', () => {
  const aggregator = new ResponseAggregator();
  aggregator.add(chunkOf({ text: 'a' }, { functionCall: { name: 'f' } }));
  aggregator.add({ usageMetadata: { totalTokenCount: 3 } });
  expect(aggregator.chunks).toBe(2);
  expect(aggregator.finishBroken()).toEqual({
    content: { role: 'model', parts: [{ text: 'a' }] },
    usageMetadata: { totalTokenCount: 3 },
  });
});

test('a reply that broke off with nothing but a call has no content', () => {
  const aggregator = new ResponseAggregator();
  aggregator.add(chunkOf({ functionCall: { name: 'f' } }));
  expect(aggregator.finishBroken()).toEqual({});
});
