import type { FunctionResponsePart } from '../content/content.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseLlmConnection } from './base-llm-connection.ts';
import type { LlmRequest } from './llm-request.ts';
import type { LlmResponse } from './llm-response.ts';

/** Finds the model that a name stands for, or undefined when it knows none. */
export type ModelResolver = (model: string) => BaseLlm | undefined;

/** A language model behind one method. An object serves any number of calls at once. */
export abstract class BaseLlm {
  /** The model's name at its service. */
  readonly model: string;

  constructor({ model }: { readonly model: string }) {
    this.model = model;
  }

  get '~eventloom.llm'(): true {
    return true;
  }

  /**
   * Asks the model. Without `stream` one response is yielded. With it, chunks are yielded as they come, each `partial` and with
   * only what is new, and then one response without `partial` that holds all of it; a model that leaves the last one out has it
   * made from its chunks by the caller.
   *
   * A failed call throws ModelError; an answer that the service cut short is a response with `errorCode`. When `abortSignal`
   * fires the call ends, down to its socket.
   */
  abstract generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void>;

  /** True when a reply can both call functions and follow `responseJsonSchema`; `set_model_response` stands in otherwise. */
  supportsOutputSchemaWithTools(_model: string): boolean {
    return false;
  }

  /** True when the model takes this media inside a function response. Media that it does not take follows behind the response. */
  supportsFunctionResponsePart(_model: string, _part: FunctionResponsePart): boolean {
    return false;
  }

  /**
   * Opens a live connection. When the signal fires it stops and rejects; a connection that comes all the same is closed.
   * @throws ConfigurationError for a model that has none
   */
  connect(_request: LlmRequest, _abortSignal?: AbortSignal): Promise<BaseLlmConnection> {
    return Promise.reject(
      new ConfigurationError(
        `model "${this.model}": cannot run live; use a model that can, such as new Gemini({ model, apiKey })`,
      ),
    );
  }
}

/** True for models, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseLlm(value: unknown): value is BaseLlm {
  return typeof value === 'object' && value !== null && '~eventloom.llm' in value;
}
