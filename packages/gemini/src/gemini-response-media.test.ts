import type { FunctionResponsePart } from '@eventloom/core';
import { moveResponseParts } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { Gemini } from './gemini.ts';

const inline = (mimeType: string): FunctionResponsePart => ({ inlineData: { mimeType, data: 'aGk=' } });
const byUri = (mimeType: string): FunctionResponsePart => ({ fileData: { mimeType, fileUri: 'gs://a' } });
const atKey = new Gemini({ model: 'gemini-flash-latest', apiKey: 'a-test-key' });
const atVertex = new Gemini({ model: 'gemini-flash-latest', vertexai: true, project: 'p' });

/** Returns true if the media stays in the function response. */
function takes(gemini: Gemini, model: string, part: FunctionResponsePart): boolean {
  const content = { parts: [{ functionResponse: { name: 'f', parts: [part] } }] };
  return moveResponseParts(content, gemini.capabilities(model).responseMedia).parts?.length === 1;
}

test.each([
  ['gemini-3-pro-preview', inline('image/png'), true, true],
  ['publishers/google/models/gemini-3.5-flash', inline('application/pdf'), true, true],
  ['gemini-12-flash', inline('text/plain'), true, true],
  ['gemini-3-pro-preview', byUri('image/webp'), false, true],
  ['gemini-3-pro-preview', inline('audio/wav'), false, false],
  ['gemini-3-pro-preview', byUri('video/mp4'), false, false],
  ['gemini-3-pro-preview', { fileData: { fileUri: 'gs://a' } }, false, false],
  ['gemini-2.5-pro', inline('image/png'), false, false],
  ['gemini-flash-latest', inline('image/png'), false, false],
  ['my-gemini-3', inline('image/png'), false, false],
] as const)('%s takes %j in a function response: %s, on Vertex AI: %s', (model, part, key, vertex) => {
  expect(takes(atKey, model, part)).toBe(key);
  expect(takes(atVertex, model, part)).toBe(vertex);
});
