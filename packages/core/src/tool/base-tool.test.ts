import { expect, test, vi } from 'vitest';
import type { FunctionDeclaration } from '../content/content.ts';
import { ConfigurationError } from '../errors.ts';
import { createLlmRequest } from '../model/llm-request.ts';
import { BaseTool, isBaseTool } from './base-tool.ts';

class Lookup extends BaseTool {
  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  runAsync(): Promise<unknown> {
    return Promise.resolve('found');
  }
}

test.each(['a', '_a', 'get_weather', 'ns.tool:v1-x', '__proto__', 'x'.repeat(128)])(
  'a tool may have the name %s',
  (name) => {
    expect(new Lookup({ name, description: 'd' }).name).toBe(name);
  },
);

test.each(['', '1a', '-a', '.a', 'a b', 'a\n', 'ä', 'a/b', 'x'.repeat(129), undefined, 5])(
  'a tool may not have the name %j',
  (name) => {
    expect(() => new Lookup({ name: name as string, description: 'd' })).toThrow(ConfigurationError);
  },
);

test('a tool is long-running only with isLongRunning', () => {
  expect(new Lookup({ name: 'a', description: 'd' }).isLongRunning).toBe(false);
  expect(new Lookup({ name: 'a', description: 'd', isLongRunning: true }).isLongRunning).toBe(true);
});

test('a tool adds itself to a model request', async () => {
  const llmRequest = createLlmRequest();
  const tool = new Lookup({ name: 'lookup', description: 'finds things' });
  await tool.processLlmRequest({ llmRequest, toolContext: undefined as never });
  expect(llmRequest.toolsDict['lookup']).toBe(tool);
  expect(llmRequest.config.tools).toEqual([
    { functionDeclarations: [{ name: 'lookup', description: 'finds things' }] },
  ]);
});

test('isBaseTool is true for tools of another loaded copy of this package, and false for other values', async () => {
  vi.resetModules();
  const copy = await import('./base-tool.ts');
  expect(copy.BaseTool).not.toBe(BaseTool);
  class Foreign extends copy.BaseTool {
    runAsync(): Promise<unknown> {
      return Promise.resolve('found');
    }
  }
  for (const tool of [new Lookup({ name: 'a', description: 'd' }), new Foreign({ name: 'a', description: 'd' })]) {
    expect(isBaseTool(tool)).toBe(true);
    expect(copy.isBaseTool(tool)).toBe(true);
  }
  for (const value of [undefined, null, 'a', Lookup, { name: 'a', description: 'd' }])
    expect(isBaseTool(value)).toBe(false);
});
