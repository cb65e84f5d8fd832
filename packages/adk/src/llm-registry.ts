import { type BaseLlm, ConfigurationError, type ModelResolver } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import { ApigeeLlm } from './apigee-llm.ts';
import { AdkGemini } from './gemini.ts';

/** A class of models that `LLMRegistry` can create. */
export interface BaseLlmType {
  new (params: { readonly model: string }): BaseLlm;
  /** Names and patterns of the models that the class serves. A pattern must match the whole name. */
  readonly supportedModels: readonly (string | RegExp)[];
}

/**
 * Classes of models by the names that they serve. Runners of this package create models with it. The registry serves
 * the whole process, as in the ADK; Gemini, also behind Apigee, is registered.
 *
 * @example
 * class Echo extends BaseLlm {
 *   static override readonly supportedModels = [/^echo-/];
 *
 *   override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
 *     yield { content: { role: 'model', parts: contents.at(-1)?.parts ?? [] } };
 *   }
 * }
 * LLMRegistry.register(Echo);
 * const agent = new LlmAgent({ name: 'helper', model: 'echo-1' });
 */
export class LLMRegistry {
  static readonly #classes = new Map<string, { readonly pattern: RegExp; readonly type: BaseLlmType }>();

  static {
    LLMRegistry.register(AdkGemini);
    LLMRegistry.register(ApigeeLlm);
  }

  /**
   * Registers a class for its `supportedModels`. A later class takes over the same name or pattern.
   * @throws ConfigurationError for a value that is not a class of models, and for a class without `supportedModels`
   */
  static register(type: BaseLlmType): void {
    if (typeof type !== 'function')
      throw new ConfigurationError(
        `LLMRegistry.register: expected a class that extends BaseLlm, got ${describeKind(type)}; write LLMRegistry.register(MyModel)`,
      );
    const names: unknown = type.supportedModels;
    const isName = (name: unknown): boolean => typeof name === 'string' || name instanceof RegExp;
    // A class without its own list has the empty one of BaseLlm.
    if (!Array.isArray(names) || names.length === 0 || !names.every(isName))
      throw new ConfigurationError(
        `LLMRegistry.register: ${type.name || 'the class'} has no list supportedModels with names or patterns; write static override readonly supportedModels = [/^my-model-/]`,
      );
    for (const name of type.supportedModels) {
      const [source, flags] = name instanceof RegExp ? [name.source, name.flags] : [name, ''];
      LLMRegistry.#classes.set(`${flags}:${source}`, { pattern: new RegExp(`^(?:${source})$`, flags), type });
    }
  }

  /** Returns the class that serves a model. @throws ConfigurationError if none does */
  static resolve(model: string): BaseLlmType {
    const type = LLMRegistry.#find(model);
    if (!type)
      throw new ConfigurationError(
        `LLMRegistry: no class serves the model "${model}"; write LLMRegistry.register(MyModel), or give the agent a model object`,
      );
    return type;
  }

  /** Creates the model with this name. @throws ConfigurationError if no class serves it */
  static newLlm(model: string): BaseLlm {
    return new (LLMRegistry.resolve(model))({ model });
  }

  static #find(model: string): BaseLlmType | undefined {
    for (const { pattern, type } of LLMRegistry.#classes.values()) if (pattern.test(model)) return type;
    return undefined;
  }

  /** Creates the resolver of a runner, which creates each model once. It throws a ConfigurationError for a name that no class serves. */
  static resolver(): ModelResolver {
    const models = new Map<string, BaseLlm>();
    return (name) => {
      const known = models.get(name);
      if (known) return known;
      const model = LLMRegistry.newLlm(name);
      models.set(name, model);
      return model;
    };
  }
}
