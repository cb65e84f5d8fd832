import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { BaseTool } from '../tool/base-tool.ts';
import { copyRequest } from './copy-request.ts';
import { createLlmRequest, type LlmRequest } from './llm-request.ts';

class TestTool extends BaseTool {
  override runAsync = () => Promise.resolve('');
}
const tool = new TestTool({ name: 'f', description: '' });

function requestOf(): LlmRequest {
  return {
    ...createLlmRequest(),
    model: 'm',
    contents: [
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { list: [1], ['__proto__']: 2 } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { deep: { a: 1 } } } }, { text: 'hi' }] },
    ],
    config: { labels: { a: 'b' }, tools: [{ functionDeclarations: [{ name: 'f' }] }] },
    toolsDict: Object.freeze(Object.assign(Object.create(null) as LlmRequest['toolsDict'], { f: tool })),
  };
}

test('copyRequest returns a request that equals the original', () => {
  expect(copyRequest(requestOf())).toEqual(requestOf());
});

test('changing a copied request at any depth leaves the original unchanged', () => {
  const request = requestOf();
  const copied = copyRequest(request);
  const [call, response] = copied.contents;
  const list = call?.parts?.[0]?.functionCall?.args?.['list'];
  (list as number[] | undefined)?.push(2);
  Object.assign(response?.parts?.[0]?.functionResponse?.response?.['deep'] as object, { b: 2 });
  response?.parts?.pop();
  copied.contents.pop();
  (copied.config.labels ?? {})['c'] = 'd';
  (copied.config.tools as { functionDeclarations: object[] }[])[0]?.functionDeclarations.push({ name: 'g' });
  Object.assign(copied.toolsDict, { g: tool });
  expect(request).toEqual(requestOf());
});

test('copyRequest shares values that are not plain objects', () => {
  const request = requestOf();
  const { signal } = new AbortController();
  const bytes = new Uint8Array([1]);
  request.config['abortSignal'] = signal;
  request.config['bytes'] = bytes;
  const { config, toolsDict } = copyRequest(request);
  expect(config['abortSignal']).toBe(signal);
  expect(config['bytes']).toBe(bytes);
  expect(toolsDict['f']).toBe(tool);
});

test('copyRequest throws a ConfigurationError for a schema that contains itself', () => {
  const request = requestOf();
  const person: Record<string, unknown> = { type: 'object' };
  person['properties'] = { friend: person };
  request.config.tools = [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: person }] }];
  expect(() => copyRequest(request)).toThrow(ConfigurationError);
  expect(() => copyRequest(request)).toThrow("if it is a JSON Schema, write { $ref: '#' } where it repeats");
});
