import type { FunctionResponsePart } from '../content/content.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseLlmConnection } from './base-llm-connection.ts';
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

/**
 * Base class of language models. `Gemini` is one; extend this class for another service: `generateContentAsync` gets a request and yields
 * responses. One model object serves any number of calls at the same time.
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

  constructor({ model }: { readonly model: string }) {
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
   * An answer that the service cut short is a response with `errorCode`. The call and its connection end when `abortSignal`
   * fires.
   * @throws ModelError for a failed call
   */
  abstract generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void>;

  /** True if a reply can both call functions and follow `responseJsonSchema`. Otherwise agents use the tool `set_model_response`. */
  supportsOutputSchemaWithTools(_model: string): boolean {
    return false;
  }

  /** True if the model accepts this media inside a function response. Other media is sent after the response. */
  supportsFunctionResponsePart(_model: string, _part: FunctionResponsePart): boolean {
    return false;
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
