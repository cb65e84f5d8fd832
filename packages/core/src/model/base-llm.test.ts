import { expect, test, vi } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { BaseLlm, checkModel, isBaseLlm } from './base-llm.ts';
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
  expect(() => new Bare()).toThrow(
    "Bare: expected an object of options, got nothing; write new Bare({ model: '…' }), or super({ model: '…' }) in its constructor",
  );
});

test.each([
  [{ version: 'x' }, 'nothing beside version'],
  [{}, 'nothing'],
  [{ model: '' }, 'an empty string'],
  [{ model: 5 }, 'the number 5'],
])('a model with the options %j throws ConfigurationError, because its service needs a name', (options, kind) => {
  const make = (): Mute => new Mute(options as never);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(
    `Mute: model: expected the name of a model, got ${kind}; write new Mute({ model: '…' }), or super({ model: '…' }) in its constructor`,
  );
});

test.each([
  ['gemini', "owner: model: expected a model object, got a string; write model: 'm'"],
  [{ doGenerate: 1 }, 'owner: model: expected a model object, got an object; write model: new AiSdkLlm(model), of @'],
  [{ generateContentAsync: 1 }, 'owner: model: its class does not extend BaseLlm; write class MyModel extends BaseLlm'],
])('checkModel refuses %j', (value, message) => {
  expect(() => checkModel('owner', 'model', value, 'a model object', "'m'")).toThrow(message);
});

test('a model whose class passes its options on to BaseLlm names the misspelt model, and ignores options of the class', () => {
  const options = { modle: 'm' } as unknown as { model: string };
  expect(() => new Mute(options)).toThrow(
    'Mute: model: expected the name of a model, got nothing beside modle; write new Mute(',
  );
  const own = { model: 'm', models: [], temperature: 0 };
  expect(new Mute(own).model).toBe('m');
});
