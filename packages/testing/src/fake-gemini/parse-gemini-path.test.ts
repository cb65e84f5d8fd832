import { expect, test } from 'vitest';
import { parseGeminiPath } from './parse-gemini-path.ts';

test('parseGeminiPath reads paths of the Gemini API', () => {
  expect(parseGeminiPath('/v1beta/models/gemini-2.5-flash:generateContent')).toEqual({
    apiVersion: 'v1beta',
    model: 'gemini-2.5-flash',
    stream: false,
  });
  expect(parseGeminiPath('/v1/models/m:streamGenerateContent?alt=sse')).toEqual({
    apiVersion: 'v1',
    model: 'm',
    stream: true,
  });
});

test('parseGeminiPath reads paths of Vertex AI', () => {
  expect(parseGeminiPath('/v1beta1/projects/P/locations/L/publishers/google/models/m:generateContent')).toEqual({
    apiVersion: 'v1beta1',
    project: 'P',
    location: 'L',
    model: 'm',
    stream: false,
  });
  expect(parseGeminiPath('/v1beta1/publishers/google/models/m:generateContent')).toMatchObject({ model: 'm' });
});

test.each(['/', '/v1/models/m:countTokens', '/v1/models/m:streamGenerateContent', '/models/m:generateContent'])(
  'parseGeminiPath refuses %s',
  (path) => {
    expect(parseGeminiPath(path)).toBeUndefined();
  },
);
