import type { Content, Part } from '@eventloom/core';
import { expect, test } from 'vitest';
import { toWireContents } from './to-wire-contents.ts';

function user(...parts: Part[]): Content {
  return { role: 'user', parts };
}

test('contents that need no change are passed on unchanged', () => {
  const contents = [
    user({ text: 'a' }),
    { role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: 's' }] },
    user({ inlineData: { data: 'YQ==' } }),
  ];
  const wire = toWireContents(contents, false);
  for (const [index, content] of contents.entries()) expect(wire[index]).toBe(content);
});

test.each([true, false])('bytes are normalised, in function responses too (Vertex AI: %s)', (vertexai) => {
  const content = user(
    { functionResponse: { name: 'f', parts: [{ inlineData: { data: '-_', displayName: 'ref' } }] } },
    { inlineData: { data: 'YQ' } },
  );
  const [wire] = toWireContents([content], vertexai);
  expect(wire?.parts).toEqual([
    { functionResponse: { name: 'f', parts: [{ inlineData: { data: '+/==', displayName: 'ref' } }] } },
    { inlineData: { data: 'YQ==' } },
  ]);
});

test('fields that the service does not know are removed', () => {
  const parts: Part[] = [
    { text: 'a', partMetadata: { local: 1 } },
    { functionCall: { name: 'f', partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true } },
    { functionResponse: { name: 'f', willContinue: true } },
    { fileData: { fileUri: 'u', displayName: 'n' } },
  ];
  expect(toWireContents([user(...parts)], false)[0]?.parts).toEqual([
    { text: 'a', partMetadata: { local: 1 } },
    { functionCall: { name: 'f' } },
    { functionResponse: { name: 'f', willContinue: true } },
    { fileData: { fileUri: 'u' } },
  ]);
  expect(toWireContents([user(...parts)], true)[0]?.parts).toEqual([
    { text: 'a' },
    parts[1],
    { functionResponse: { name: 'f' } },
    parts[3],
  ]);
});

test("data of other vendors' models is left out, and their calls have the signature that Gemini 3 accepts", () => {
  const madeBy = { provider: 'anthropic.messages', providerMetadata: { anthropic: { signature: 's' } } };
  const partMetadata = { madeBy };
  const call: Part = { functionCall: { name: 'f' } };
  const contents: Content[] = [
    { role: 'model', parts: [{ text: 'alone', thought: true, partMetadata }] },
    {
      role: 'model',
      parts: [
        { text: 'I think', thought: true, partMetadata },
        { toolCall: { id: 'w' }, partMetadata },
        { text: 'Hm', partMetadata: { madeBy, local: 1 } },
        { ...call, partMetadata },
        { ...call, thoughtSignature: 'own' },
      ],
    },
    user({ functionResponse: { name: 'f', response: {} } }),
  ];
  const wire = (signature?: string) => [
    {
      role: 'model',
      parts: [
        { text: 'Hm', partMetadata: { local: 1 } },
        { ...call, ...(signature && { thoughtSignature: signature }) },
        { ...call, thoughtSignature: 'own' },
      ],
    },
    contents[2],
  ];
  const any = 'skip_thought_signature_validator';
  expect(toWireContents(contents, false, 'gemini-2.5-flash')).toEqual(wire());
  expect(toWireContents(contents, false, 'gemini-3-pro-preview')).toEqual(wire(any));
  expect(toWireContents(contents, false, 'models/gemini-flash-latest')).toEqual(wire(any));
});

test('no content is added after a function response', () => {
  const call: Content = { role: 'model', parts: [{ functionCall: { name: 'f' } }] };
  const contents = [user({ text: 'a' }), call, user({ functionResponse: { name: 'f', response: {} } })];
  expect(toWireContents(contents, false)).toEqual(contents);
});

test("a request to continue is added only if the last content is the model's", () => {
  const model = { role: 'model', parts: [{ text: 'b' }] };
  expect(toWireContents([user({ text: 'a' })], false)).toHaveLength(1);
  expect(toWireContents([{ parts: [{ text: 'a' }] }], false)).toHaveLength(1);
  expect(toWireContents([user({ text: 'a' }), model], false).at(-1)).toMatchObject({ role: 'user' });
  expect(toWireContents([], false)).toMatchObject([{ role: 'user' }]);
});
