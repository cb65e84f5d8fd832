import { BaseLlm, type LlmResponse } from '@eventloom/core';
import { expect, test } from 'vitest';
import { type BaseLlmType, LLMRegistry } from './llm-registry.ts';

/** Registers a class for these models, and returns it. */
function register(...models: (string | RegExp)[]): BaseLlmType {
  class Silent extends BaseLlm {
    static override readonly supportedModels = models;

    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {}
  }
  LLMRegistry.register(Silent);
  return Silent;
}

test('a class takes over the names and patterns that an earlier class has too', () => {
  register('small', /large-.*/);
  const later = register('small', /large-.*/);
  for (const model of ['small', 'large-1']) expect(LLMRegistry.resolve(model)).toBe(later);
});

test('the first of two different patterns that match a name selects the class', () => {
  const first = register(/fast-.*/);
  register(/fast-2.*/);
  expect(LLMRegistry.resolve('fast-2')).toBe(first);
});

test('a class of the program can replace Gemini', () => {
  const own = register(/gemini-.*/);
  expect(LLMRegistry.newLlm('gemini-2.5-flash')).toBeInstanceOf(own);
});
