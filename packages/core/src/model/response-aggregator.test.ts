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

test('consecutive text of one kind is joined, and thoughts stay separate in their place', () => {
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

test('the aggregator does not merge a part with a signature', () => {
  const signed: Part = { text: ' end.', thoughtSignature: 'sig' };
  const whole = merge(chunkOf({ text: 'The' }), chunkOf(signed), chunkOf({ text: 'More' }));
  expect(whole.content?.parts).toEqual([{ text: 'The' }, signed, { text: 'More' }]);
});

test('the aggregator keeps an empty part only if it has a signature', () => {
  const whole = merge(
    chunkOf({ text: 'Hi' }),
    chunkOf({ text: '', thought: true }),
    chunkOf({ text: '!' }),
    chunkOf({ text: '', thoughtSignature: 's' }),
  );
  expect(whole.content?.parts).toEqual([{ text: 'Hi!' }, { text: '', thoughtSignature: 's' }]);
});

test('the aggregator keeps unknown parts unchanged', () => {
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

test('the aggregator takes every other field from the last chunk that has it', () => {
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

test('a reply without content gets no content', () => {
  expect(merge({ usageMetadata: { totalTokenCount: 1 } })).toEqual({ usageMetadata: { totalTokenCount: 1 } });
});

test('the aggregator merges each alternative separately', () => {
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

test('add returns a chunk without pieces of a call, and with the call once it is complete', () => {
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

test('add returns a chunk without pieces of a call unchanged', () => {
  const chunk = chunkOf({ text: 'a' }, { functionCall: { name: 'f' } });
  expect(new ResponseAggregator().add(chunk)).toBe(chunk);
});

test('the aggregator leaves out a call that was never completed', () => {
  expect(merge(chunkOf({ text: 'a' }, { functionCall: { name: 'f', willContinue: true } })).content?.parts).toEqual([
    { text: 'a' },
  ]);
});

test('the aggregator keeps all parts except the calls of a truncated reply', () => {
  const aggregator = new ResponseAggregator();
  aggregator.add(chunkOf({ text: 'a' }, { functionCall: { name: 'f' } }));
  aggregator.add({ usageMetadata: { totalTokenCount: 3 } });
  expect(aggregator.finishBroken()).toEqual({
    content: { role: 'model', parts: [{ text: 'a' }] },
    usageMetadata: { totalTokenCount: 3 },
    errorCode: 'INCOMPLETE_CALL',
    errorMessage: 'the reply ended before its call of "f" was complete; none of its calls was run',
  });
});

test('a reply that was truncated after a call and inside another has no content, and an error that names both', () => {
  const aggregator = new ResponseAggregator();
  aggregator.add(chunkOf({ functionCall: { name: 'f' } }, { functionCall: { name: 'g', willContinue: true } }));
  expect(aggregator.finishBroken()).toEqual({
    errorCode: 'INCOMPLETE_CALL',
    errorMessage: 'the reply ended before its call of "f", "g" was complete; none of its calls was run',
  });
});

test('a reply that was truncated before any call has no error', () => {
  const aggregator = new ResponseAggregator();
  aggregator.add(chunkOf({ text: 'a' }));
  expect(aggregator.finishBroken()).toEqual({ content: { role: 'model', parts: [{ text: 'a' }] } });
});

test.each<[string, Part[]]>([
  ['is not complete at the end', [{ functionCall: { name: 'pay', willContinue: true } }]],
  [
    'is not complete when the next one begins',
    [{ functionCall: { name: 'pay', willContinue: true } }, { functionCall: { name: 'look' } }],
  ],
  ['has no beginning', [{ functionCall: { id: 'pay', partialArgs: [{ jsonPath: '$.a', numberValue: 1 }] } }]],
])('a reply with a call that %s has none of its calls, and an error that names the call', (_what, parts) => {
  const aggregator = new ResponseAggregator();
  aggregator.add({ content: { role: 'model', parts: [{ text: 'Wait.' }, { functionCall: { name: 'whole' } }] } });
  aggregator.add({ content: { role: 'model', parts }, finishReason: 'STOP' });
  expect(aggregator.finish()).toEqual({
    content: { role: 'model', parts: [{ text: 'Wait.' }] },
    finishReason: 'STOP',
    errorCode: 'INCOMPLETE_CALL',
    errorMessage: 'the reply ended before its call of "pay" was complete; none of its calls was run',
  });
});

test('an empty thought signature does not separate text', () => {
  const aggregator = new ResponseAggregator();
  for (const text of ['Hel', 'lo'])
    aggregator.add({ content: { role: 'model', parts: [{ text, thoughtSignature: '' }] } });
  expect(aggregator.finish().content?.parts).toEqual([{ text: 'Hello' }]);
});
