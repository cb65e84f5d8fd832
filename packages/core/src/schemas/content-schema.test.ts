import { describe, expect, test } from 'vitest';
import { CONTENT, PART } from '../event/event-shape.ts';
import { contentSchema, contentShape, partSchema, partShape } from './content-schema.ts';
import { parseBody } from './parse-body.ts';

test('the schemas know the keys that the parser knows', () => {
  expect(Object.keys(partShape.shape).toSorted()).toEqual(Object.keys(PART).toSorted());
  expect(Object.keys(contentShape.shape).toSorted()).toEqual(Object.keys(CONTENT).toSorted());
});

describe('contentSchema', () => {
  test('reads either spelling, leaves nulls out and keeps what it does not know', () => {
    const content = {
      role: 'user',
      parts: [
        { text: 'hi', thought: null, someday: 1 },
        { inline_data: { mime_type: 'a/b', data: 'AAA-' } },
        { function_response: { id: 'c1', name: 'f', response: { snake_key: null } }, thought_signature: 'x' },
      ],
    };
    expect(parseBody(contentSchema, content)).toEqual({
      role: 'user',
      parts: [
        { text: 'hi', someday: 1 },
        { inlineData: { mimeType: 'a/b', data: 'AAA-' } },
        { functionResponse: { id: 'c1', name: 'f', response: { snake_key: null } }, thoughtSignature: 'x' },
      ],
    });
  });

  test('keeps __proto__ among the keys of the user', () => {
    const json = '{"parts":[{"functionCall":{"args":{"__proto__":{"admin":true}}}}]}';
    expect(JSON.stringify(parseBody(contentSchema, JSON.parse(json)))).toBe(json);
  });

  test('gives the fault as an issue of zod, with its path', () => {
    const { error } = contentSchema.safeParse({ parts: [{ text: 'a' }, { function_call: { args: 5 } }] });
    expect(error?.issues).toEqual([
      expect.objectContaining({
        path: ['parts', 1, 'functionCall', 'args'],
        message: 'must be an object, is the number 5',
      }),
    ]);
  });

  test.each([
    ['hi', 'body: must be an object, is a string'],
    [null, 'body: must be an object, is null'],
    [{ parts: 'hi' }, 'parts: must be a list, is a string'],
    [{ parts: [{ inlineData: { data: 'not base64!' } }] }, 'parts[0].inlineData.data: must be base64 text'],
    [{ parts: [{ videoMetadata: { fps: 'x' } }] }, 'parts[0].videoMetadata.fps: must be a number, is a string'],
  ])('refuses %j', (content, message) => {
    expect(() => parseBody(contentSchema, content)).toThrow(message);
  });
});

test('partSchema reads one part', () => {
  expect(parseBody(partSchema, { file_data: { file_uri: 'gs://a' } })).toEqual({ fileData: { fileUri: 'gs://a' } });
  expect(() => parseBody(partSchema, { text: [] }, 'artifact')).toThrow('text: must be a string, is a list');
  expect(() => parseBody(partSchema, [], 'artifact')).toThrow('artifact: must be an object, is a list');
});
