import { expect, test, vi } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { BaseLlm, isBaseLlm } from './base-llm.ts';
import type { LlmResponse } from './llm-response.ts';

class Mute extends BaseLlm {
  async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    yield {};
  }
}

test('isBaseLlm is true for models of another loaded copy of this package, and false for other values', async () => {
  vi.resetModules();
  const copy = await import('./base-llm.ts');
  expect(copy.BaseLlm).not.toBe(BaseLlm);
  class Foreign extends copy.BaseLlm {
    async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      yield {};
    }
  }
  for (const model of [new Mute({ model: 'm' }), new Foreign({ model: 'm' })]) {
    expect(isBaseLlm(model)).toBe(true);
    expect(copy.isBaseLlm(model)).toBe(true);
  }
  for (const value of [undefined, null, 'gemini', Mute, { model: 'm' }]) expect(isBaseLlm(value)).toBe(false);
});

test('a model whose constructor passes no options throws ConfigurationError, and the error says what to write', () => {
  class Bare extends Mute {
    constructor() {
      super(...([] as unknown as [{ model: string }]));
    }
  }
  expect(() => new Bare()).toThrow(ConfigurationError);
  expect(() => new Bare()).toThrow("Bare: expected an object of options, got nothing; write super({ model: '…' })");
});
