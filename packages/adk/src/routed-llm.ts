import {
  BaseLlm,
  type BaseLlmConnection,
  type LlmRequest,
  type LlmResponse,
  type ModelCapabilities,
} from '@eventloom/core';
import { checkOptions, isBaseLlm, type OptionRules, sharedCapabilities } from '@eventloom/core/internal';
import { checkRouter, checkRouting, type RoutingErrorContext, runWithRouting } from './routing.ts';

/** Chooses the model of a call, by its key. Called again, with what failed, if that model failed before its first response. */
export type LlmRouter = (
  models: Readonly<Record<string, BaseLlm>>,
  request: LlmRequest,
  errorContext?: RoutingErrorContext,
) => Promise<string | undefined> | string | undefined;

/** Options of a `RoutedLlm`. */
export interface RoutedLlmParams {
  /** The models to choose from, by key; a list has the models' names as keys. */
  readonly models: Readonly<Record<string, BaseLlm>> | readonly BaseLlm[];
  readonly router: LlmRouter;
  /** The name of the model that the agent sees. Default: a name that lists the models. */
  readonly modelName?: string | undefined;
}

const OPTIONS: OptionRules<RoutedLlmParams> = { models: 'object or list', router: 'function', modelName: 'text' };

/**
 * A model that passes each call on to one of several, chosen by a function.
 *
 * @example
 * const flash = new Gemini({ model: 'gemini-flash-latest', apiKey });
 * const pro = new Gemini({ model: 'gemini-pro-latest', apiKey });
 * const model = new RoutedLlm({ models: { flash, pro }, router: (_models, request) => (request.contents.length > 20 ? 'pro' : 'flash') });
 */
export class RoutedLlm extends BaseLlm {
  readonly models: Readonly<Record<string, BaseLlm>>;
  readonly router: LlmRouter;

  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(options: RoutedLlmParams) {
    checkOptions('RoutedLlm', OPTIONS, options);
    checkRouting('RoutedLlm', 'models', options.models, 'a model object', isBaseLlm);
    checkRouter('RoutedLlm', options.router);
    const { models, router, modelName } = options;
    const byKey = isList(models) ? Object.fromEntries(models.map((model) => [model.model, model])) : models;
    const listed = Object.entries(byKey).map(([key, { model }]) => `${key} (${model})`);
    super({ model: modelName ?? `RoutedLlm[${listed.join(', ')}]` });
    this.models = byKey;
    this.router = router;
  }

  /** Returns the features that all models have, because the router may choose any of them. `live` is true if one has it. */
  override capabilities(): ModelCapabilities {
    return sharedCapabilities(Object.values(this.models).map((model) => model.capabilities()));
  }

  override generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    return this.#route(request, (model) =>
      model.generateContentAsync({ ...request, model: model.model }, stream, abortSignal),
    );
  }

  /** Opens a live connection to the chosen model, which stays for the whole connection. */
  override async connect(request: LlmRequest, abortSignal?: AbortSignal): Promise<BaseLlmConnection> {
    const opened = await this.#route(request, async function* (model) {
      yield await model.connect({ ...request, model: model.model }, abortSignal);
    }).next();
    return opened.done ? super.connect(request, abortSignal) : opened.value;
  }

  #route<V>(
    request: LlmRequest,
    run: (model: BaseLlm) => AsyncGenerator<V, void, void>,
  ): AsyncGenerator<V, void, void> {
    return runWithRouting({
      owner: this.model,
      items: this.models,
      choose: (errorContext) => this.router(this.models, request, errorContext),
      run,
    });
  }
}

function isList<T>(models: Readonly<Record<string, T>> | readonly T[]): models is readonly T[] {
  return Array.isArray(models);
}
