import { wrongOption } from '../agent/options.ts';
import { describeKind, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseLlmConnection } from './base-llm-connection.ts';
import type { ModelCapabilities } from './capabilities.ts';
import type { LlmRequest } from './llm-request.ts';
import type { LlmResponse } from './llm-response.ts';

/**
 * A function that returns the model object for a name, for the `models` of a runner. It returns undefined for a name that it does not know;
 * then the run fails with a ConfigurationError.
 *
 * @example
 * const gemini = geminiModels({ apiKey });
 * const models: ModelResolver = (name) => (name === 'house-model' ? model : gemini(name));
 */
export type ModelResolver = (model: string) => BaseLlm | undefined;

const DEFAULT_CAPABILITIES: ModelCapabilities = {
  tools: true,
  outputSchemaWithTools: false,
  media: ['*'],
  responseMedia: { inlineData: [], fileData: [] },
  thinking: true,
  builtInTools: true,
  live: false,
};
const LIVE_CAPABILITIES: ModelCapabilities = { ...DEFAULT_CAPABILITIES, live: true };

/**
 * Base class of language models. `Gemini` and `AiSdkLlm` are two; extend this class for another service:
 * `generateContentAsync` gets a request and yields responses. One model object serves any number of calls at the same
 * time.
 *
 * @example
 * class Echo extends BaseLlm {
 *   override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
 *     yield { content: { role: 'model', parts: request.contents.at(-1)?.parts ?? [] } };
 *   }
 * }
 */
export abstract class BaseLlm {
  /** Names and patterns of the models that the class serves, for `LLMRegistry` of `@eventloom/adk`. Default: none. */
  static readonly supportedModels: readonly (string | RegExp)[] = [];
  /** The model's name at its service. */
  readonly model: string;

  /**
   * A subclass may pass options of its own too: they are ignored.
   * @throws ConfigurationError without an object of options, and without the name of a model
   */
  constructor(options: { readonly model: string }) {
    const { name } = new.target;
    const write = `write new ${name}({ model: '…' }), or super({ model: '…' }) in its constructor`;
    if (!isRecord(options))
      throw new ConfigurationError(`${name}: expected an object of options, got ${describeKind(options)}; ${write}`);
    const { model } = options;
    if (typeof model !== 'string' || model === '') {
      const others = Object.keys(options).filter((option) => option !== 'model');
      const among = others.length > 0 ? ` beside ${others.join(', ')}` : '';
      throw new ConfigurationError(
        `${name}: model: expected the name of a model, got ${model === '' ? 'an empty string' : describeKind(model)}${among}; ${write}`,
      );
    }
    this.model = model;
  }

  get '~eventloom.llm'(): true {
    return true;
  }

  /**
   * Calls the model. Yields one response without `stream`. With `stream` it yields chunks as they come, each `partial` and with
   * only the new content, then one response without `partial` and with the whole content. If a model leaves out the last one,
   * the caller merges the chunks.
   *
   * An answer that the service ended early is a response with `errorCode`. The call and its connection end when `abortSignal`
   * fires.
   * @throws ModelError for a failed call
   */
  abstract generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void>;

  /**
   * Returns the features of the model, which agents and the runtime read before they send a request. By default a
   * feature is on if the service reports its absence clearly (tools, thinking, built-in tools, all media), and off if
   * the runtime can replace it (`outputSchemaWithTools`, `responseMedia`). `live` is true if the class overrides
   * `connect`.
   * @param _model the name of the model, for a class that calls several. Default: `this.model`
   */
  capabilities(_model: string = this.model): ModelCapabilities {
    return this.connect === BaseLlm.prototype.connect ? DEFAULT_CAPABILITIES : LIVE_CAPABILITIES;
  }

  /**
   * Opens a live connection. Rejects when the signal fires; a connection that is established later is closed.
   * @throws ConfigurationError for a model without live connections
   */
  connect(_request: LlmRequest, _abortSignal?: AbortSignal): Promise<BaseLlmConnection> {
    return Promise.reject(
      new ConfigurationError(
        `model "${this.model}": cannot run live; use a model that can, such as new Gemini({ model, apiKey })`,
      ),
    );
  }
}

/** True for models, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseLlm(value: unknown): value is BaseLlm {
  return typeof value === 'object' && value !== null && '~eventloom.llm' in value;
}

/**
 * Checks that the value of an option is a model object.
 * @param wanted the valid values, e.g. `a model object`
 * @param write code of a valid value
 * @throws ConfigurationError for another value, for a model whose class does not extend BaseLlm, and for one without `generateContentAsync`
 */
export function checkModel(
  owner: string,
  option: string,
  value: unknown,
  wanted: string,
  write: string,
): asserts value is BaseLlm {
  const isModel = isBaseLlm(value);
  const canGenerate = typeof value === 'object' && value !== null && 'generateContentAsync' in value;
  if (isModel && canGenerate) return;
  if (isModel)
    throw new ConfigurationError(
      `${owner}: ${option}: ${value.constructor.name} has no method generateContentAsync; write async *generateContentAsync(request) { yield … } in it`,
    );
  if (canGenerate)
    throw new ConfigurationError(
      `${owner}: ${option}: its class does not extend BaseLlm; write class MyModel extends BaseLlm { … }`,
    );
  const isAiSdkModel = isRecord(value) && 'doGenerate' in value;
  throw wrongOption(owner, option, wanted, value, isAiSdkModel ? 'new AiSdkLlm(model), of @eventloom/ai-sdk' : write);
}
