import { expect, test } from 'vitest';
import { parseLivePath } from './parse-live-path.ts';

test.each([
  [
    '//ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k1',
    { apiVersion: 'v1beta', vertexai: false, apiKey: 'k1' },
  ],
  ['/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent', { apiVersion: 'v1', vertexai: false }],
  [
    '//ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent',
    { apiVersion: 'v1beta1', vertexai: true },
  ],
  ['/v1/models/m:generateContent', undefined],
  ['/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateMusic?key=k1', undefined],
])('parseLivePath reads %s', (path, expected) => {
  expect(parseLivePath(path)).toEqual(expected);
});
